//! Bearer tokens that were verified not long ago, so that a signature is checked once and not with
//! every request. What makes an entry wrong before its time empties the whole cache.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::Timestamp;
use super::secret::Digest;
use crate::principal::{Endpoint, Principal};

/// A token, and the endpoint that it was shown to: it may open one and not another.
type Known = (Digest, Endpoint);

/// Two generations of at most half the capacity each: when the younger is full, the older is
/// dropped and the younger takes its place. So the memory is bounded, each step costs the same,
/// and what is in use stays.
#[derive(Debug)]
pub(crate) struct Cache {
    half: usize,
    younger: HashMap<Known, Entry>,
    older: HashMap<Known, Entry>,
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

    pub(crate) fn get(&mut self, token: &Known, now: Timestamp) -> Option<Arc<Principal>> {
        if let Some(entry) = self.younger.get(token) {
            return (now < entry.until).then(|| Arc::clone(&entry.principal));
        }
        let entry = self.older.remove(token).filter(|entry| now < entry.until)?;
        let principal = Arc::clone(&entry.principal);
        self.keep(*token, entry);
        Some(principal)
    }

    /// Keeps `principal` for `token` until it is no longer valid.
    pub(crate) fn insert(&mut self, token: Known, principal: Arc<Principal>, until: Timestamp) {
        self.keep(token, Entry { principal, until });
    }

    pub(crate) fn clear(&mut self) {
        self.younger.clear();
        self.older.clear();
    }

    fn keep(&mut self, token: Known, entry: Entry) {
        if self.younger.len() >= self.half && !self.younger.contains_key(&token) {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(token, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{Claims, Rights, Scope, Validity};

    const START: Timestamp = Timestamp::from_seconds(1_000);
    const END: Timestamp = Timestamp::from_seconds(2_000);

    fn principal(subject: &str) -> Arc<Principal> {
        Arc::new(Principal {
            subject: subject.to_owned(),
            rights: Rights::all(Scope::Read),
            claims: Claims::default(),
            credential: None,
            validity: Validity::default(),
        })
    }

    fn known(token: &str) -> Known {
        (Digest::of(token), Endpoint::Api)
    }

    fn held(cache: &Cache) -> usize {
        cache.younger.len() + cache.older.len()
    }

    #[test]
    fn an_entry_is_found_until_its_end_and_not_after_a_clear() {
        let mut cache = Cache::new(10);
        let token = known("token");
        cache.insert(token, principal("a"), END);
        assert_eq!(cache.get(&token, START).unwrap().subject, "a");
        assert!(cache.get(&token, END).is_none());
        assert!(cache.get(&known("other"), START).is_none());
        cache.clear();
        assert!(cache.get(&token, START).is_none());
    }

    #[test]
    fn many_tokens_stay_within_bounds_and_one_in_use_stays() {
        let mut cache = Cache::new(10);
        let used = known("used");
        cache.insert(used, principal("used"), END);
        for number in 0..1_000 {
            cache.insert(known(&number.to_string()), principal("once"), END);
            assert!(held(&cache) <= 10, "{} entries", held(&cache));
            assert_eq!(cache.get(&used, START).unwrap().subject, "used", "after {number}");
        }
        assert!(cache.get(&known("0"), START).is_none());
    }
}
