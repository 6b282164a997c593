//! Which slot of a routine an argument fills, and the values of a list.

use serde_json::value::RawValue;

use crate::postgres::catalog::routines::{Routine, Slot, SlotType};
use crate::statements::bindings;
use crate::{Direction, Invocation};
use portico_core::call::Argument;

/// How many arguments go in.
pub(super) fn inputs(routine: &Routine) -> usize {
    routine.slots.iter().filter(|slot| slot.direction != Direction::Out).count()
}

/// Returns true if the numbers of a list's values have a gap, whose value would be undefined.
pub(super) fn leaves_out(routine: &Routine, arguments: &[Argument]) -> bool {
    let last = inputs(routine);
    let mut numbers: Vec<usize> = arguments.iter().filter_map(number).filter(|number| *number >= last).collect();
    numbers.sort_unstable();
    let is_list = numbers.last().is_some_and(|number| *number > last);
    let begins = if numbers.first() == Some(&last) { last } else { last + 1 };
    is_list && numbers.iter().zip(begins..).any(|(number, expected)| *number != expected)
}

/// The slot that an argument of this name, or of this number, fills.
pub(super) fn slot_of(slots: &[Slot], name: &str) -> Option<usize> {
    let given = |slot: &Slot| slot.direction != Direction::Out;
    slots
        .iter()
        .position(|slot| given(slot) && slot.name == name)
        .or_else(|| slots.iter().position(|slot| given(slot) && slot.name.eq_ignore_ascii_case(name)))
        .or_else(|| {
            let number: usize = name.parse().ok()?;
            let mut inputs = slots.iter().enumerate().filter(|(_, slot)| given(slot));
            let numbered = inputs.clone().nth(number.checked_sub(1)?);
            // Everything after the last input belongs to a list of any length.
            numbered.or_else(|| inputs.next_back().filter(|(_, last)| last.variadic)).map(|(index, _)| index)
        })
}

/// The values of a VARIADIC parameter, in the order of their numbers, where they have one: an object's members come in any
/// order.
pub(super) fn elements<'a>(routine: &Routine, invocation: &'a Invocation) -> Vec<&'a Argument> {
    let belongs = |argument: &&Argument| {
        let slot = slot_of(&routine.slots, bindings::name_without_at(&argument.name));
        slot.and_then(|slot| routine.slots.get(slot)).is_some_and(|slot| slot.variadic)
    };
    let mut elements: Vec<&Argument> = invocation.arguments.iter().filter(belongs).collect();
    elements.sort_by_key(|element| number(element).unwrap_or(0));
    elements
}

/// The place of an argument that is given by its place.
pub(super) fn number(argument: &Argument) -> Option<usize> {
    bindings::name_without_at(&argument.name).parse().ok()
}

/// Returns true if a VARIADIC parameter is given a whole array: a single one, or NULL by the parameter's name.
pub(super) fn is_whole(elements: &[&Argument]) -> bool {
    let [only] = elements else { return false };
    bindings::is_array(only) || (only.value.get() == "null" && number(only).is_none())
}

/// Returns true if each JSON array goes to a parameter that accepts one: an array, or JSON.
pub(super) fn takes_arrays(routine: &Routine, places: &[Option<usize>], invocation: &Invocation) -> bool {
    let takes = |type_: &SlotType| match type_ {
        // The server calls the type of an array by that of its elements, behind an underscore.
        SlotType::Named(name) => {
            let name = name.rsplit('.').next().unwrap_or_default().trim_start_matches('"');
            name.starts_with('_') || ["json", "jsonb"].contains(&name)
        }
        SlotType::AnyArray | SlotType::Any => true,
    };
    routine.slots.iter().zip(places).all(|(slot, place)| {
        let argument = place.and_then(|index| invocation.arguments.get(index));
        takes(&slot.type_) || !argument.is_some_and(bindings::is_array)
    })
}

/// The array of a VARIADIC parameter.
pub(super) fn gathered(elements: &[&Argument]) -> Option<Argument> {
    let first = *elements.first()?;
    if is_whole(elements) {
        return Some(first.clone());
    }
    let values: Vec<&str> = elements.iter().map(|element| element.value.get()).collect();
    // A list of JSON values is JSON.
    let list = RawValue::from_string(format!("[{}]", values.join(",")));
    Some(list.map_or_else(|_| first.clone(), |value| Argument { value, ..first.clone() }))
}

/// Returns true if the call, as the server reads it, leaves the VARIADIC parameter without a value, or gives it by
/// name a value that is not an array: another overload is meant then, if there is one.
pub(super) fn is_forced(routine: &Routine, invocation: &Invocation) -> bool {
    let elements = elements(routine, invocation);
    let is_variadic = routine.slots.iter().any(|slot| slot.variadic);
    is_variadic && !is_whole(&elements) && elements.iter().all(|element| number(element).is_none())
}
