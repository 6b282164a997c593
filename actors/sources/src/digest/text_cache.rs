//! Texts that were written lately.

use portico_core::mutex::lock;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Texts that are kept at most.
const MOST: usize = 64;
/// Bytes that they have together.
const MOST_BYTES: usize = 1024 * 1024;

/// The texts that were written last, each for all that it depends on. A key that holds no more, since the source was
/// read again, is found no more, and makes room with the oldest.
pub struct TextCache<K>(Mutex<Vec<(K, Arc<str>)>>);

impl<K> Default for TextCache<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K> fmt::Debug for TextCache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextCache")
    }
}

impl<K> TextCache<K> {
    /// Returns the text whose key matches `is_it`.
    pub fn get(&self, is_it: impl Fn(&K) -> bool) -> Option<Arc<str>> {
        let mut kept = lock(&self.0);
        let at = kept.iter().position(|(key, _)| is_it(key))?;
        // The most recently used text is dropped last.
        kept.get_mut(at..)?.rotate_left(1);
        kept.last().map(|(_, text)| Arc::clone(text))
    }

    /// Stores a text, and removes those that `replaces` matches.
    pub fn put(&self, key: K, text: Arc<str>, replaces: impl Fn(&K) -> bool) {
        let mut kept = lock(&self.0);
        kept.retain(|(key, _)| !replaces(key));
        kept.push((key, text));
        let mut bytes: usize = kept.iter().map(|(_, text)| text.len()).sum();
        let mut let_go = 0;
        for (_, text) in kept.iter() {
            if kept.len() - let_go <= MOST && bytes <= MOST_BYTES {
                break;
            }
            (bytes, let_go) = (bytes - text.len(), let_go + 1);
        }
        kept.drain(..let_go);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let kept = TextCache::default();
        for number in 0..MOST {
            kept.put(number, "x".into(), |key| *key == number);
        }
        assert!(kept.get(|key| *key == 0).is_some());
        kept.put(MOST, "x".into(), |_| false);
        assert!(kept.get(|key| *key == 0).is_some() && kept.get(|key| *key == 1).is_none());
        kept.put(MOST + 1, "y".repeat(MOST_BYTES).into(), |_| false);
        assert!(kept.get(|key| *key == MOST + 1).is_some() && kept.get(|key| *key == 0).is_none());
        kept.put(MOST + 2, "y".repeat(MOST_BYTES + 1).into(), |_| false);
        assert!(kept.get(|_| true).is_none(), "what is larger than all the room is not kept");
    }
}
