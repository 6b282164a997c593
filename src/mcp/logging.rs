//! Severities of log messages (RFC 5424 §6.2.1), and the two ways of asking for them: for a session
//! (`logging/setLevel`, 2025 revisions) and for one request (`_meta`, 2026-07-28).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::mcp::envelope::{self, RpcError, invalid_params};

/// How severe a message is; a greater one is more severe. Its name is that on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// The names of the levels, the least severe first.
const LEVELS: &str = "debug, info, notice, warning, error, critical, alert, emergency";

impl Level {
    /// Reads the level `raw`, the value of the member `name`; `None` if absent.
    pub(super) fn read(raw: Option<&RawValue>, name: &str) -> Result<Option<Self>, RpcError> {
        let Some(raw) = raw else { return Ok(None) };
        let level = serde_json::from_str(raw.get()).ok().filter(|_| raw.get().starts_with('"'));
        level.map(Some).ok_or_else(|| invalid_params(format!("{name}: give one of {LEVELS}")))
    }
}

/// One `notifications/message`.
pub(super) fn notification(level: Level, logger: &str, data: &Value) -> Vec<u8> {
    envelope::notification("notifications/message", json!({"level": level, "logger": logger, "data": data}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Level>, RpcError> {
        Level::read(Some(&RawValue::from_string(text.to_owned()).unwrap()), "level")
    }

    #[test]
    fn levels_are_read_by_their_words_and_ordered_by_severity() {
        let levels: Vec<Level> =
            LEVELS.split(", ").map(|word| read(&json!(word).to_string()).unwrap().unwrap()).collect();
        assert!(levels.len() == 8 && levels.is_sorted_by(|less, more| less < more), "{levels:?}");
        for wrong in [r#""loud""#, r#""Info""#, "3", "{}", r#"{"info":null}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Level::read(None, "level").unwrap(), None);
    }
}
