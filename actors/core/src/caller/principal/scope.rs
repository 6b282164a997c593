//! The scope of a caller.

/// What a caller may do; each word includes the ones before it (`read` ⊂ `write` ⊂ `admin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Discovery and statements that only read.
    Read,
    /// Everything that may change data.
    Write,
    /// Administration of the service itself.
    Admin,
}

impl Scope {
    /// All scopes, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// Returns the word used in tokens, challenges and the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Reads one scope word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }

    /// Returns the widest scope in a space-separated list (RFC 6749 §3.3); unknown words are ignored.
    pub fn widest(list: &str) -> Option<Self> {
        list.split(' ').filter_map(Self::parse).max()
    }

    /// This scope and the ones it includes, as a space-separated list.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "read write",
            Self::Admin => "read write admin",
        }
    }
}
