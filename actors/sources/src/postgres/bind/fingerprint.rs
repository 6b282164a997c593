//! The shape of a statement, by which what was found about it is remembered for a while: its text with
//! plain literals taken out. Only a text whose words nobody can read in two ways has a shape of its
//! own; any other is remembered by all of itself.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::LazyLock;

use tokio_postgres::types::Oid;

/// Keys of this process. Nobody who does not know them can find two texts of one shape (`SipHash`).
static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// What a statement was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueryFingerprint([u64; 2]);

impl QueryFingerprint {
    /// The shape of `text`, where `terms` say all else that decides about it.
    pub(crate) fn of(text: &str, terms: &[&str]) -> Self {
        let masked = masked(text.as_bytes());
        Self::hashed(terms, |hasher| {
            hasher.write_u8(masked.is_some().into());
            hasher.write(masked.as_deref().unwrap_or(text.as_bytes()));
        })
    }

    /// The shape of a statement of which every letter counts: `terms` and the types of its values.
    pub(crate) fn exact(terms: &[&str], types: impl Iterator<Item = Oid> + Clone) -> Self {
        Self::hashed(terms, |hasher| types.clone().for_each(|type_| hasher.write_u32(type_)))
    }

    /// A number by which it can be looked for; another one may have the same.
    pub(crate) const fn number(&self) -> u64 {
        self.0[0]
    }

    fn hashed(terms: &[&str], rest: impl Fn(&mut DefaultHasher)) -> Self {
        Self(KEYS.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            for term in terms {
                hasher.write_usize(term.len());
                hasher.write(term.as_bytes());
            }
            rest(&mut hasher);
            hasher.finish()
        }))
    }
}

/// The text with a mark for each plain literal; `None` where comments, escapes or other quotes leave
/// room for two readings of where one ends.
fn masked(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let next = text.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
        let continues = before.is_some_and(|before| is_name(before) || before == b'$');
        match byte {
            b'\\' | b'\0' => return None,
            b'-' if next == Some(b'-') => return None,
            b'/' if next == Some(b'*') => return None,
            // `$1` is a parameter; anything else a quote.
            b'$' if !next.is_some_and(|next| next.is_ascii_digit()) || continues => return None,
            b'"' => {
                let end = closing(text, at, b'"')?;
                out.extend_from_slice(text.get(at..end)?);
                at = end;
                continue;
            }
            b'\'' => {
                let end = closing(text, at, b'\'')?;
                // With a letter in front it is of a kind of its own: E'', B'', U&''.
                if continues || before == Some(b'&') {
                    return None;
                }
                out.extend_from_slice(b"'?'");
                at = end;
                continue;
            }
            b'0'..=b'9' if !continues && before != Some(b'.') => {
                let end = text.iter().skip(at).position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |n| at + n);
                let after = text.get(end).copied();
                let digits = text.get(at..end)?;
                if after.is_some_and(|after| is_name(after) || after == b'.') {
                    out.extend_from_slice(digits);
                } else {
                    // The width decides the type, and so which functions are meant.
                    let value = std::str::from_utf8(digits).ok()?;
                    out.extend_from_slice(match () {
                        () if value.parse::<i32>().is_ok() => b"?4",
                        () if value.parse::<i64>().is_ok() => b"?8",
                        () => b"?n",
                    });
                }
                at = end;
                continue;
            }
            _ => {}
        }
        out.push(byte);
        at += 1;
    }
    Some(out)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Behind the quote that closes the one at `start`; a doubled one is content.
fn closing(text: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'\\' | b'\0' => return None,
            byte if *byte == quote => {
                if text.get(at + 1) == Some(&quote) {
                    at += 2;
                } else {
                    return Some(at + 1);
                }
            }
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_literals_are_taken_out() {
        let masked = |text: &str| masked(text.as_bytes()).map(|masked| String::from_utf8(masked).unwrap());
        for (text, expected) in [
            ("SELECT 1, 'a''b' FROM t WHERE x = $1", Some("SELECT ?4, '?' FROM t WHERE x = $1")),
            ("SELECT 3000000000, 99999999999999999999", Some("SELECT ?8, ?n")),
            ("SELECT 1.5, 1e3, 0x1F, 1_000, a1, \"x 1\"", Some("SELECT 1.5, 1e3, 0x1F, 1_000, a1, \"x 1\"")),
            ("SELECT \"a'b\", 'x'", Some("SELECT \"a'b\", '?'")),
            ("SELECT 'a' -- b", None),
            ("SELECT 1 /* 2 */", None),
            ("SELECT E'a'", None),
            ("SELECT U&'a'", None),
            ("SELECT $$a$$", None),
            ("SELECT $a$a$a$", None),
            ("SELECT '\\'", None),
            ("SELECT 'open", None),
            ("SELECT \"open", None),
        ] {
            assert_eq!(masked(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn terms_and_texts_do_not_run_into_each_other() {
        assert_ne!(QueryFingerprint::of("c", &["a", "b"]), QueryFingerprint::of("c", &["ab", ""]));
        assert_eq!(QueryFingerprint::of("SELECT 1", &["a"]), QueryFingerprint::of("SELECT 2", &["a"]));
        assert_ne!(QueryFingerprint::of("SELECT 1", &["a"]), QueryFingerprint::of("SELECT 1", &["b"]));
    }
}
