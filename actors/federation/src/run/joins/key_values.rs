//! The different values of a join's key, gathered while its first side is read.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use datafusion::arrow::compute::cast;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryReservation;
use portico_core::mutex::lock;

/// Keys that a source is sent at most, and their octets.
const MOST_KEYS: usize = 50_000;
const MOST_OCTETS: usize = 4 << 20;

/// What is known of a key: its values, or their bounds.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) among: Option<Vec<ScalarValue>>,
    pub(crate) least: Option<ScalarValue>,
    pub(crate) most: Option<ScalarValue>,
}

/// The values of one key.
#[derive(Debug)]
pub(crate) struct KeyValues {
    type_: ArrowType,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Also types that are stored as whole numbers, such as dates and exact numbers.
    numbers: Distinct<i128>,
    texts: Distinct<String>,
    /// The statement's memory reserved for the values.
    memory: Option<MemoryReservation>,
    /// Whether all of them are there.
    ended: bool,
}

/// Different values, as long as they are few enough.
#[derive(Debug)]
struct Distinct<T> {
    values: Option<HashSet<T>>,
    octets: usize,
    bounds: Option<(T, T)>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { values: Some(HashSet::new()), octets: 0, bounds: None }
    }
}

impl<T: Hash + Ord> Distinct<T> {
    fn add<V: Hash + Ord + ToOwned<Owned = T> + ?Sized>(&mut self, value: &V)
    where
        T: Borrow<V>,
    {
        match &mut self.bounds {
            None => self.bounds = Some((value.to_owned(), value.to_owned())),
            Some((least, _)) if value < Borrow::<V>::borrow(least) => *least = value.to_owned(),
            Some((_, most)) if value > Borrow::<V>::borrow(most) => *most = value.to_owned(),
            Some(_) => {}
        }
        let Some(values) = &mut self.values else { return };
        if !values.contains(value) {
            self.octets += size_of::<T>() + size_of_val(value);
            if values.len() == MOST_KEYS || self.octets > MOST_OCTETS {
                self.forget();
            } else {
                values.insert(value.to_owned());
            }
        }
    }

    /// Keeps the bounds alone.
    fn forget(&mut self) {
        (self.values, self.octets) = (None, 0);
    }

    fn known(&self, scalar: impl Fn(&T) -> Option<ScalarValue>) -> Known {
        let among = self.values.as_ref().and_then(|values| values.iter().map(&scalar).collect());
        let bound = |of: fn(&(T, T)) -> &T| self.bounds.as_ref().and_then(|bounds| scalar(of(bounds)));
        Known { among, least: bound(|(least, _)| least), most: bound(|(_, most)| most) }
    }
}

impl KeyValues {
    /// Makes an empty collection for a key of this type.
    pub(crate) fn new(type_: ArrowType) -> Self {
        Self { type_, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Begins, within this part of the statement's memory.
    pub(in crate::run) fn begin(&self, memory: MemoryReservation) {
        *self.state() = State { memory: Some(memory), ..State::default() };
    }

    /// Adds the values of some rows.
    pub(in crate::run) fn add(&self, array: &ArrayRef) -> Result<()> {
        let mut state = self.state();
        let State { numbers, texts, memory, .. } = &mut *state;
        if self.type_.is_string() {
            let array = cast(array, &ArrowType::Utf8)?;
            array.as_string::<i32>().iter().flatten().for_each(|text| texts.add(text));
        } else {
            whole(array).for_each(|number| numbers.add(&number));
        }
        // If there is no memory for them, the other side is read without keys.
        if memory.as_ref().is_some_and(|memory| memory.try_resize(numbers.octets + texts.octets).is_err()) {
            numbers.forget();
            texts.forget();
        }
        Ok(())
    }

    /// All rows were added.
    pub(in crate::run) fn end(&self) {
        self.state().ended = true;
    }

    /// Returns what is known by now.
    pub(in crate::run) fn known(&self) -> Known {
        let state = self.state();
        match () {
            () if !state.ended => Known::default(),
            () if self.type_.is_string() => state.texts.known(|text| Some(ScalarValue::from(text.as_str()))),
            () => state.numbers.known(|number| scalar(&self.type_, *number)),
        }
    }
}

/// The values of an array that have a whole number behind them, each that is not NULL.
fn whole(array: &ArrayRef) -> Box<dyn Iterator<Item = i128> + '_> {
    match array.data_type() {
        ArrowType::Boolean => Box::new(array.as_boolean().iter().flatten().map(i128::from)),
        ArrowType::Int16 => Box::new(array.as_primitive::<Int16Type>().iter().flatten().map(i128::from)),
        ArrowType::Int32 => Box::new(array.as_primitive::<Int32Type>().iter().flatten().map(i128::from)),
        ArrowType::Int64 => Box::new(array.as_primitive::<Int64Type>().iter().flatten().map(i128::from)),
        ArrowType::Date32 => Box::new(array.as_primitive::<Date32Type>().iter().flatten().map(i128::from)),
        ArrowType::Decimal128(..) => Box::new(array.as_primitive::<Decimal128Type>().iter().flatten()),
        ArrowType::Timestamp(..) => {
            Box::new(array.as_primitive::<TimestampMicrosecondType>().iter().flatten().map(i128::from))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// The value of this type that has `number` behind it.
fn scalar(type_: &ArrowType, number: i128) -> Option<ScalarValue> {
    Some(match type_ {
        ArrowType::Boolean => ScalarValue::Boolean(Some(number != 0)),
        ArrowType::Int16 => ScalarValue::Int16(Some(number.try_into().ok()?)),
        ArrowType::Int32 => ScalarValue::Int32(Some(number.try_into().ok()?)),
        ArrowType::Int64 => ScalarValue::Int64(Some(number.try_into().ok()?)),
        ArrowType::Date32 => ScalarValue::Date32(Some(number.try_into().ok()?)),
        ArrowType::Decimal128(precision, scale) => ScalarValue::Decimal128(Some(number), *precision, *scale),
        ArrowType::Timestamp(_, zone) => ScalarValue::TimestampMicrosecond(Some(number.try_into().ok()?), zone.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;

    fn begun(type_: ArrowType, room: usize) -> KeyValues {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(room));
        let values = KeyValues::new(type_);
        values.begin(MemoryConsumer::new("keys").register(&pool));
        values
    }

    fn numbers(numbers: impl IntoIterator<Item = Option<i32>>) -> ArrayRef {
        Arc::new(numbers.into_iter().collect::<Int32Array>())
    }

    #[test]
    fn each_value_is_there_once_when_all_rows_were_read() {
        let values = begun(ArrowType::Int32, 1 << 20);
        values.add(&numbers([Some(3), None, Some(-1), Some(3)])).unwrap();
        assert!(values.known().among.is_none());
        values.end();
        let mut among = values.known().among.unwrap();
        among.sort_by(|one, other| one.partial_cmp(other).unwrap());
        assert_eq!(among, [ScalarValue::Int32(Some(-1)), ScalarValue::Int32(Some(3))]);
    }

    #[test]
    fn of_too_many_values_the_bounds_are_known() {
        let texts: StringArray = (0..=MOST_KEYS).map(|number| Some(format!("{number:05}"))).collect();
        let values = begun(ArrowType::Utf8, 64 << 20);
        values.add(&(Arc::new(texts) as ArrayRef)).unwrap();
        values.end();
        let Known { among, least, most } = values.known();
        let text = |text: &str| Some(ScalarValue::from(text));
        assert!(among.is_none());
        assert_eq!((least, most), (text("00000"), text("50000")));
    }

    #[test]
    fn where_there_is_no_memory_for_them_the_bounds_are_known() {
        let values = begun(ArrowType::Int32, 1000);
        values.add(&numbers((0..100).map(Some))).unwrap();
        values.add(&numbers([Some(7)])).unwrap();
        values.end();
        let Known { among, least, most } = values.known();
        assert!(among.is_none());
        assert_eq!((least, most), (Some(ScalarValue::Int32(Some(0))), Some(ScalarValue::Int32(Some(99)))));
    }
}
