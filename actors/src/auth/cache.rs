//! Bearer tokens that were verified not long ago, so that a signature is checked once and not with
//! every request. What makes an entry wrong before its time empties the whole cache.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::Timestamp;
use super::secret::Digest;
use crate::principal::Principal;

/// Two generations of at most half the capacity each: when the younger is full, the older is
/// dropped and the younger takes its place. So the memory is bounded, each step costs the same,
/// and what is in use stays.
#[derive(Debug)]
pub(crate) struct Cache {
    half: usize,
    younger: HashMap<Digest, Entry>,
    older: HashMap<Digest, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    principal: Arc<Principal>,
    until: Timestamp,
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { half: (capacity / 2).max(1), younger: HashMap::new(), older: HashMap::new() }
    }

    pub(crate) fn get(&mut self, token: &Digest, now: Timestamp) -> Option<Arc<Principal>> {
        if let Some(entry) = self.younger.get(token) {
            return (now < entry.until).then(|| Arc::clone(&entry.principal));
        }
        let entry = self.older.remove(token).filter(|entry| now < entry.until)?;
        let principal = Arc::clone(&entry.principal);
        self.keep(*token, entry);
        Some(principal)
    }

    /// Keeps `principal` for `token` until it is no longer valid.
    pub(crate) fn insert(&mut self, token: Digest, principal: Arc<Principal>, until: Timestamp) {
        self.keep(token, Entry { principal, until });
    }

    pub(crate) fn clear(&mut self) {
        self.younger.clear();
        self.older.clear();
    }

    fn keep(&mut self, token: Digest, entry: Entry) {
        if self.younger.len() >= self.half && !self.younger.contains_key(&token) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(token, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{Reach, Scope};

    const START: Timestamp = Timestamp::from_seconds(1_000);
    const END: Timestamp = Timestamp::from_seconds(2_000);

    fn principal(subject: &str) -> Arc<Principal> {
        Arc::new(Principal {
            subject: subject.to_owned(),
            scope: Scope::Read,
            reach: Reach::All,
            claims: Arc::default(),
        })
    }

    fn held(cache: &Cache) -> usize {
        cache.younger.len() + cache.older.len()
    }

    #[test]
    fn an_entry_is_found_until_its_end_and_not_after_a_clear() {
        let mut cache = Cache::new(10);
        let token = Digest::of("token");
        cache.insert(token, principal("a"), END);
        assert_eq!(cache.get(&token, START).unwrap().subject, "a");
        assert!(cache.get(&token, END).is_none());
        assert!(cache.get(&Digest::of("other"), START).is_none());
        cache.clear();
        assert!(cache.get(&token, START).is_none());
    }

    #[test]
    fn many_tokens_stay_within_bounds_and_one_in_use_stays() {
        let mut cache = Cache::new(10);
        let used = Digest::of("used");
        cache.insert(used, principal("used"), END);
        for number in 0..1_000 {
            cache.insert(Digest::of(&number.to_string()), principal("once"), END);
            assert!(held(&cache) <= 10, "{} entries", held(&cache));
            assert_eq!(cache.get(&used, START).unwrap().subject, "used", "after {number}");
        }
        assert!(cache.get(&Digest::of("0"), START).is_none());
    }
}
