//! How statements were prepared lately, for those that need more than their values' own types.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use crate::source::postgres::bind::shape::Shape;

/// How long a way is remembered: what it rests on in the catalogue may change.
const LIFETIME: Duration = Duration::from_secs(30);

/// Ways of one connection that are remembered at most, and the parameters of one.
const MOST: usize = 2_048;
const MOST_TYPES: usize = 128;

/// How a statement was prepared that its values' own types did not do for.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) types: Vec<Type>,
    pub(crate) apart: bool,
    pub(crate) since: Instant,
}

/// The ways that were found lately.
#[derive(Default)]
pub(crate) struct Ways(Mutex<HashMap<Shape, Way>>);

impl Ways {
    /// The way of the statement of this shape, if one was found lately.
    pub(crate) fn of(&self, shape: impl FnOnce() -> Shape) -> Option<Way> {
        // Most statements need none, and their texts may be long.
        if self.lock().is_empty() {
            return None;
        }
        let shape = shape();
        self.lock().get(&shape).filter(|way| way.since.elapsed() < LIFETIME).cloned()
    }

    /// Remembers a way.
    pub(crate) fn keep(&self, shape: Shape, types: Vec<Type>, apart: bool) {
        if types.len() > MOST_TYPES {
            return;
        }
        let mut ways = self.lock();
        if ways.len() >= MOST {
            ways.retain(|_, way| way.since.elapsed() < LIFETIME);
            if ways.len() >= MOST {
                ways.clear();
            }
        }
        ways.insert(shape, Way { types, apart, since: Instant::now() });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Shape, Way>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
