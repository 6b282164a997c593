//! A statement in which each place of a value is a parameter of its own.

use tokio_postgres::types::Type;

use crate::postgres::bind::argument_types::own;
use portico_core::call::Argument;

/// A statement's text with a parameter for each place where a string or NULL stands: each then has the
/// type of its place, as literals have.
#[derive(Clone, Debug)]
pub(crate) struct SplitParameters {
    pub(crate) text: String,
    /// For each parameter the argument that is bound to it, from 0.
    places: Vec<usize>,
}

impl SplitParameters {
    /// Of `text`, a statement of these arguments or a part of it; `None` where nothing stands twice.
    pub(crate) fn of(text: &str, arguments: &[Argument]) -> Option<Self> {
        let is_open = |index: usize| arguments.get(index).is_some_and(|argument| own(argument) == Type::UNKNOWN);
        // Most statements name each value once: they are not read for that.
        if memchr::memchr_iter(b'$', text.as_bytes()).count() <= arguments.len() {
            return None;
        }
        let (text, places) = portico_sql::parameters_apart(text, arguments.len(), is_open)?;
        Some(Self { text, places })
    }

    /// The arguments, one for each parameter.
    pub(crate) fn arguments<'a>(&self, arguments: &'a [Argument]) -> Vec<&'a Argument> {
        self.places.iter().filter_map(|place| arguments.get(*place)).collect()
    }

    /// Whether one argument has places of different `types`, which are those of the parameters.
    pub(crate) fn differ(&self, types: &[Type]) -> bool {
        let mut seen: Vec<(usize, &Type)> = Vec::with_capacity(types.len());
        self.places.iter().zip(types).any(|(place, type_)| match seen.iter().find(|(known, _)| known == place) {
            Some((_, known)) => *known != type_,
            None => {
                seen.push((*place, type_));
                false
            }
        })
    }
}
