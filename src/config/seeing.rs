//! What can be seen of the service from outside: `[log]`, and who may read `/metrics`.

use super::problem::Problem;
use super::section::Section;

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Anybody who reaches the listener. The names of the connections are among what is told.
    Open,
    /// Callers with the scope `admin`.
    #[default]
    Admin,
    /// Nobody: there is nothing at this path.
    Off,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What a line looks like.
    pub format: LogFormat,
    /// Which lines are written, in the words of `RUST_LOG`, which goes before it.
    pub level: String,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: the time, the level, the message and its members as `name=value`.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

impl Log {
    /// Our own lines from `info` on; of the libraries only what is wrong.
    pub const DEFAULT_LEVEL: &str = "info,tokio_postgres=warn,actix_server=warn";
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::default(), level: Self::DEFAULT_LEVEL.to_owned() }
    }
}

/// Reads `metrics` of `[server]`.
pub(super) fn metrics(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> MetricsAccess {
    let words = [("open", MetricsAccess::Open), ("admin", MetricsAccess::Admin), ("off", MetricsAccess::Off)];
    section.word("metrics", &words, problems).unwrap_or_default()
}

/// Reads `[log]`.
pub(super) fn log(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Log {
    let mut section = root.section("log", problems);
    let words = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let format = section.word("format", &words, problems).unwrap_or_default();
    let level = section.string("level", problems);
    if let Some(level) = &level
        && !is_level(level)
    {
        section.problem(
            "level",
            format!("{level:?} names no level"),
            "write error, warn, info, debug, trace or off; target=level for a single part, and commas between",
            problems,
        );
    }
    section.finish(problems);
    Log { format, level: level.unwrap_or_else(|| Log::DEFAULT_LEVEL.to_owned()) }
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
        for level in [Log::DEFAULT_LEVEL, "warn", "off", "portico::call=trace,info"] {
            assert!(is_level(level), "{level}");
        }
        for wrong in ["", "loud", "info,,warn", "portico=loud", "portico::call"] {
            assert!(!is_level(wrong), "{wrong}");
        }
    }
}
