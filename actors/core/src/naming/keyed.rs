//! `SipHash`-128 with a random key per process: a cache key for which outsiders cannot construct a collision.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use siphasher::sip128::{Hasher128, SipHasher13};

/// The hasher, with the key of this process.
static KEYED: LazyLock<SipHasher13> = LazyLock::new(|| {
    let random = || RandomState::new().hash_one(());
    SipHasher13::new_with_keys(random(), random())
});

/// A hash of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedHash([u64; 2]);

impl KeyedHash {
    /// Hashes what `feed` writes.
    pub fn new(feed: impl FnOnce(&mut SipHasher13)) -> Self {
        let mut hasher = *KEYED;
        feed(&mut hasher);
        let hash = hasher.finish128();
        Self([hash.h1, hash.h2])
    }

    /// Returns half of the hash, for use in a hash table; different hashes may share it.
    pub const fn number(&self) -> u64 {
        self.0[0]
    }
}
