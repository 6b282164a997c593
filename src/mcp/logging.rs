//! Severities of log messages (RFC 5424 §6.2.1), and the two ways of asking for them: for a session
//! (`logging/setLevel`, 2025 revisions) and for one request (`_meta`, 2026-07-28).

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::mcp::envelope::{RpcError, invalid_params};

/// How severe a message is; a greater one is more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the names are the documentation: RFC 5424
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    /// All of them, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Reads the level `raw`, the value of the member `name`; `None` where there is none.
    pub(super) fn read(raw: Option<&RawValue>, name: &str) -> Result<Option<Self>, RpcError> {
        let Some(raw) = raw else { return Ok(None) };
        let level = serde_json::from_str::<String>(raw.get()).ok().and_then(|word| Self::from_name(&word));
        level.map(Some).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.into_iter().map(Self::as_str).collect();
            invalid_params(format!("{name}: give one of {}", words.join(", ")))
        })
    }
}

/// One `notifications/message`.
pub(super) fn notification(level: Level, logger: &str, data: &Value) -> Vec<u8> {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": level.as_str(), "logger": logger, "data": data},
    })
    .to_string()
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Level>, RpcError> {
        Level::read(Some(&RawValue::from_string(text.to_owned()).unwrap()), "level")
    }

    #[test]
    fn levels_are_read_by_their_words_and_ordered_by_severity() {
        for level in Level::ALL {
            assert_eq!(read(&json!(level.as_str()).to_string()).unwrap(), Some(level));
        }
        assert!(Level::ALL.is_sorted() && Level::Error > Level::Notice);
        for wrong in [r#""loud""#, r#""Info""#, "3", "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Level::read(None, "level").unwrap(), None);
    }
}
