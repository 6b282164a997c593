//! `[log]`: which lines are written, and how.

use crate::config::declared::setting::Literal::Text;
use crate::config::declared::setting::{TEXT, word, words};
use crate::config::declared::table::settings;

settings! {
    /// What the service tells of itself on standard error.
    #[derive(PartialEq)]
    pub struct Log {
        /// "text" for people, or "json": one object a line.
        format: LogFormat = word::<LogFormat>().or(Text("text")),
        /// error, warn, info, debug, trace or off; target=level for a part of the service. `RUST_LOG` goes before it.
        level: String = TEXT.or(Text("info,tokio_postgres=warn,actix_server=warn,actix_http=off")).checked(
            is_level,
            "{} names no level",
            "write error, warn, info, debug, trace or off; target=level for a single part, and commas between",
        ),
    }
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: the time, the level, the message and its members as `name=value`.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

words! {
    LogFormat { "text" => Self::Text, "json" => Self::Json }
}

/// Whether every directive has a level that there is.
fn is_level(text: &str) -> bool {
    text.split(',').all(|directive| {
        let level = directive.rsplit('=').next().unwrap_or_default().trim();
        level.parse::<log::LevelFilter>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_words_of_the_log() {
        for level in [Log::default().level.as_str(), "warn", "off", "portico::call=trace,info"] {
            assert!(is_level(level), "{level}");
        }
        for wrong in ["", "loud", "info,,warn", "portico=loud", "portico::call"] {
            assert!(!is_level(wrong), "{wrong}");
        }
    }
}
