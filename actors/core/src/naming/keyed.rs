//! By what a text is known in memory: a number that nobody outside of this process can find another text for.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::LazyLock;

/// Keys of this process (`SipHash`).
static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// What was hashed, in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedHash([u64; 2]);

impl KeyedHash {
    /// Of what `feed` writes, which it is asked for twice.
    pub fn of(feed: impl Fn(&mut DefaultHasher)) -> Self {
        Self(KEYS.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            feed(&mut hasher);
            hasher.finish()
        }))
    }

    /// A number by which it can be looked for; another one may have the same.
    pub const fn number(&self) -> u64 {
        self.0[0]
    }
}
