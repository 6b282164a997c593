//! By what a text is known in memory: a number that nobody outside of this process can find another text for.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use siphasher::sip128::{Hasher128, SipHasher13};

/// With the key of this process.
static KEYED: LazyLock<SipHasher13> = LazyLock::new(|| {
    let random = || RandomState::new().hash_one(());
    SipHasher13::new_with_keys(random(), random())
});

/// What was hashed, in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedHash([u64; 2]);

impl KeyedHash {
    /// Of what `feed` writes.
    pub fn new(feed: impl FnOnce(&mut SipHasher13)) -> Self {
        let mut hasher = *KEYED;
        feed(&mut hasher);
        let hash = hasher.finish128();
        Self([hash.h1, hash.h2])
    }

    /// A number by which it can be looked for; another one may have the same.
    pub const fn number(&self) -> u64 {
        self.0[0]
    }
}
