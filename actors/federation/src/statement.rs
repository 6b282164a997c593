//! The engine's input.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_core::call::{Argument, Limits};
use portico_core::error::{Error, Kind, Result};
use portico_core::workspace::{MAIN, Workspace};

/// A statement over several connections.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The subject of its caller, who has a share of the engine's memory.
    pub principal: String,
    /// The text as the caller wrote it, with `@name` placeholders.
    pub text: String,
    /// Values of the placeholders.
    pub parameters: Vec<Argument>,
    /// The workspace that all its names are of; else they are of connections.
    pub workspace: Option<Arc<Workspace>>,
    /// The connection of names without one.
    pub default_catalog: Option<String>,
    /// The schema of names without one.
    pub default_schema: Option<String>,
    /// How much may be spent on it.
    pub limits: Limits,
    /// Whether only its columns are asked for.
    pub describes: bool,
}

impl Statement {
    /// The catalogue and the schema of names that say neither.
    pub(crate) fn defaults(&self) -> (String, String) {
        match &self.workspace {
            Some(workspace) => {
                (workspace.name.to_string(), self.default_schema.clone().unwrap_or_else(|| MAIN.to_owned()))
            }
            None => (self.default_catalog.clone().unwrap_or_default(), self.default_schema.clone().unwrap_or_default()),
        }
    }
}

/// When a statement has to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(Instant::now() + timeout)
    }

    /// Returns the remaining limits, for a part of the statement.
    ///
    /// # Errors
    /// [`Kind::TimedOut`] if no time is left.
    pub(crate) fn limits(self) -> Result<Limits> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(timed_out()) } else { Ok(Limits { timeout: left, rows: None }) }
    }

    pub(crate) fn instant(self) -> Instant {
        self.0
    }
}

/// The statement took too long.
pub(crate) fn timed_out() -> Error {
    Error::new(Kind::TimedOut, "the statement exceeded its timeout and was cancelled at its sources")
        .sqlstate("57014")
        .hint("narrow it, or give it more time: timeout takes up to 300 seconds")
}
