//! The id of a request: the client's, if it is safe for headers and logs, otherwise one of our own.

use std::fmt;

use uuid::Uuid;

/// The maximal length of an id in characters.
const LONGEST: usize = 128;

/// Identifies a request in answers, logs and audit records. It is `Copy`, because it is in every answer, above all
/// in failures.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    octets: [u8; LONGEST],
    length: u8,
}

impl RequestId {
    /// Makes a unique id; ids sort by time.
    pub fn fresh() -> Self {
        Self::kept(Uuid::now_v7().to_string().as_bytes())
    }

    /// Takes the client's own id: 1 to 128 letters, digits and `. _ : @ / + = -`, which neither end a line of the
    /// log nor need quotes in it. Returns `None` for anything else.
    pub fn from_client(id: &str) -> Option<Self> {
        let safe = |octet: u8| octet.is_ascii_alphanumeric() || b"._:@/+=-".contains(&octet);
        ((1..=LONGEST).contains(&id.len()) && id.bytes().all(safe)).then(|| Self::kept(id.as_bytes()))
    }

    fn kept(id: &[u8]) -> Self {
        let mut octets = [0; LONGEST];
        let mut length = 0;
        for (place, octet) in octets.iter_mut().zip(id) {
            *place = *octet;
            length += 1;
        }
        Self { octets, length }
    }

    /// Returns its characters.
    pub fn as_str(&self) -> &str {
        let kept = self.octets.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(kept).unwrap_or_default()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_everywhere_is_kept() {
        let long = "x".repeat(LONGEST);
        for id in ["a", "0af7651916cd43dd8448eb211c80319c", "web:7/Kq+w==", "ann@host-1_2.3", long.as_str()] {
            assert_eq!(RequestId::from_client(id).unwrap().as_str(), id);
        }
        let longer = "x".repeat(LONGEST + 1);
        for id in ["", " ", "a b", "a\nb", "é", "a\"b", "a\u{0}", "{}", longer.as_str()] {
            assert_eq!(RequestId::from_client(id), None, "{id:?}");
        }
        assert!(Uuid::try_parse(RequestId::fresh().as_str()).is_ok());
        assert_ne!(RequestId::fresh(), RequestId::fresh());
    }
}
