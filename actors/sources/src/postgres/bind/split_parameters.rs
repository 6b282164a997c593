//! A statement in which places of a value are parameters of their own.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::own;
use portico_core::call::Argument;
use portico_sql::{ParameterPlace, ParametersApart};

/// For each place of a value in a statement the first place that shares its parameter.
pub(crate) type Sharing = Arc<[usize]>;

/// A statement's text with several parameters for one value: each then has the type of its place, as literals have.
#[derive(Clone, Debug)]
pub(crate) struct SplitParameters {
    apart: ParametersApart,
    pub(crate) sharing: Sharing,
}

impl SplitParameters {
    /// Splits: each occurrence of a string or NULL gets a parameter of its own, except in one expression that the
    /// statement groups or orders by and repeats. Returns `None` if nothing is split.
    pub(crate) fn of_strings(text: &str, arguments: &[Argument]) -> Option<Self> {
        let together = together(text, arguments)?;
        let is_string = |argument: &Argument| own(argument) == Type::UNKNOWN;
        Self::with(text, arguments, each(&together, arguments, |_, place| place.repeats, is_string))
    }

    /// Adds to `split` a parameter for each occurrence of a number. Returns `None` if that splits nothing more.
    pub(crate) fn of_numbers(split: Option<&Self>, text: &str, arguments: &[Argument]) -> Option<Self> {
        let mut places = together(text, arguments)?;
        if let Some(split) = split {
            let shared = places.iter_mut().zip(split.sharing.iter());
            shared.for_each(|(place, shared)| place.first = *shared);
        }
        let sharing = each(&places, arguments, |at, _| at, |argument| own(argument) != Type::UNKNOWN);
        let is_same = places.iter().zip(sharing.iter()).all(|(place, first)| place.first == *first);
        if is_same { None } else { Self::with(text, arguments, sharing) }
    }

    /// Splits with the given shared parameters. Returns `None` if nothing is split.
    pub(crate) fn with(text: &str, arguments: &[Argument], sharing: Sharing) -> Option<Self> {
        let first = |place: usize| sharing.get(place).copied();
        Some(Self { apart: portico_sql::parameters_apart(text, arguments.len(), first)?, sharing })
    }

    /// The statement's text with these parameters.
    pub(crate) fn text(&self) -> &str {
        &self.apart.text
    }

    /// Maps a position to the original statement; both in characters counted from 1.
    pub(crate) fn original_position(&self, position: usize) -> usize {
        self.apart.original_position(position)
    }

    /// Splits a part of the statement that no value precedes.
    pub(crate) fn text_of(&self, part: &str, arguments: &[Argument]) -> String {
        Self::with(part, arguments, Arc::clone(&self.sharing)).map_or_else(|| part.to_owned(), |split| split.apart.text)
    }

    /// The arguments, one for each parameter.
    pub(crate) fn arguments<'a>(&self, arguments: &'a [Argument]) -> Vec<&'a Argument> {
        self.apart.parameters.iter().filter_map(|index| arguments.get(*index)).collect()
    }

    /// Returns true if one argument has occurrences of different `types`, which are those of the parameters.
    pub(crate) fn differ(&self, types: &[Type]) -> bool {
        let mut seen = HashMap::with_capacity(types.len());
        self.apart.parameters.iter().zip(types).any(|(index, type_)| *seen.entry(index).or_insert(type_) != type_)
    }
}

/// A place of a value.
pub(crate) struct ArgumentSlot {
    /// The argument's index.
    pub(crate) index: usize,
    /// The first place that shares its parameter.
    pub(crate) first: usize,
    /// The first place of the same value in the same expression, which is listed and repeated, or itself.
    repeats: usize,
}

/// Returns the occurrences of the values, where those of each value share one parameter; `None` if no value has
/// two.
pub(crate) fn together(text: &str, arguments: &[Argument]) -> Option<Vec<ArgumentSlot>> {
    // Most statements name each value once: they are not read for that.
    if memchr::memchr_iter(b'$', text.as_bytes()).count() <= arguments.len() {
        return None;
    }
    let mut first = vec![None; arguments.len()];
    let places = portico_sql::parameter_places(text)?.into_iter().enumerate();
    let place = |(at, place): (usize, ParameterPlace)| {
        let ParameterPlace { index, repeats } = place;
        Some(ArgumentSlot { index, first: *first.get_mut(index)?.get_or_insert(at), repeats })
    };
    places.map(place).collect()
}

/// Separates the occurrences of the arguments for which `is_apart` holds; each shares the parameter of the one that
/// `first` names.
fn each(
    places: &[ArgumentSlot],
    arguments: &[Argument],
    first: impl Fn(usize, &ArgumentSlot) -> usize,
    is_apart: impl Fn(&Argument) -> bool,
) -> Sharing {
    let is_apart = |index: usize| arguments.get(index).is_some_and(&is_apart);
    let shared =
        |(at, place): (usize, &ArgumentSlot)| if is_apart(place.index) { first(at, place) } else { place.first };
    places.iter().enumerate().map(shared).collect()
}
