//! The shapes of the statements that were admitted lately.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::source::postgres::bind::shape::Shape;

/// How long a verdict holds. What another session changes in the catalogue meanwhile, such as which
/// table a name without a schema means, is seen after that time.
const LIFETIME: Duration = Duration::from_secs(30);

/// Verdicts of one connection that are kept at most, 16 octets each and their time.
const MOST: usize = 16_384;

/// The shapes that were admitted lately. Nearly all who come only look.
#[derive(Default)]
pub(crate) struct Memory(RwLock<Admitted>);

#[derive(Default)]
struct Admitted {
    shapes: HashMap<Shape, Instant>,
    /// Goes up whenever everything is forgotten.
    generation: u64,
}

impl Memory {
    /// Whether this shape was admitted lately.
    pub(crate) fn knows(&self, shape: &Shape) -> bool {
        self.read().shapes.get(shape).is_some_and(|since| since.elapsed() < LIFETIME)
    }

    /// To be handed to [`Memory::keep`]: what is found from now on holds for this moment.
    pub(crate) fn generation(&self) -> u64 {
        self.read().generation
    }

    /// Remembers what was admitted, unless everything was forgotten since `generation`.
    pub(crate) fn keep(&self, shape: Shape, generation: u64) {
        let mut admitted = self.write();
        if admitted.generation != generation {
            return;
        }
        if admitted.shapes.len() >= MOST {
            admitted.shapes.retain(|_, since| since.elapsed() < LIFETIME);
            if admitted.shapes.len() >= MOST {
                admitted.shapes.clear();
            }
        }
        admitted.shapes.insert(shape, Instant::now());
    }

    /// Forgets everything: the catalogue may have changed.
    pub(crate) fn forget(&self) {
        let mut admitted = self.write();
        admitted.generation += 1;
        admitted.shapes.clear();
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Admitted> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Admitted> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_before_everything_was_forgotten_is_not_kept() {
        let memory = Memory::default();
        let shape = Shape::of("SELECT 1", &[]);
        let before = memory.generation();
        memory.forget();
        memory.keep(shape, before);
        assert!(!memory.knows(&shape));
        memory.keep(shape, memory.generation());
        assert!(memory.knows(&shape));
    }
}
