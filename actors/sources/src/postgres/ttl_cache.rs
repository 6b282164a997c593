//! A cache with a lifetime, since the source may change what its entries depend on.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// A cache bounded in time and number. Readers share its lock: nearly all accesses only look up a key.
pub(crate) struct TtlCache<K, V> {
    kept: RwLock<HashMap<K, (Instant, V)>>,
    lifetime: Duration,
    most: usize,
}

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    /// Makes an empty cache.
    pub(crate) fn new(lifetime: Duration, most: usize) -> Self {
        Self { kept: RwLock::default(), lifetime, most }
    }

    /// Returns the entry of `key`, unless it has expired.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.read().get(key).filter(|(since, _)| since.elapsed() < self.lifetime).map(|(_, found)| found.clone())
    }

    /// Adds an entry.
    pub(crate) fn insert(&self, key: K, found: V) {
        let mut kept = self.write();
        if kept.len() >= self.most {
            kept.retain(|_, (since, _)| since.elapsed() < self.lifetime);
            if kept.len() >= self.most {
                kept.clear();
            }
        }
        kept.insert(key, (Instant::now(), found));
    }

    /// Returns true if there are no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.write().clear();
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<K, (Instant, V)>> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<K, (Instant, V)>> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_old_or_too_many_is_forgotten() {
        let recent = TtlCache::new(Duration::from_secs(3600), 2);
        for key in [1, 2, 3] {
            recent.insert(key, key);
        }
        assert_eq!([1, 2, 3].map(|key| recent.get(&key)), [None, None, Some(3)]);
        let brief = TtlCache::new(Duration::ZERO, 2);
        brief.insert(1, 1);
        assert_eq!(brief.get(&1), None);
    }
}
