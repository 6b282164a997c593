//! What a tool and a call have to do with tasks.

use std::sync::Arc;
use std::time::Duration;

use super::task::Task;

/// The extension's identifier, under `extensions` of both sides' capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How a tool stands to tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSupport {
    /// Its calls are never tasks.
    Never,
    /// A call becomes one when it takes long.
    WhenSlow,
    /// A call becomes one unless it is done at once.
    AtOnce,
    /// The same, and clients that do not know tasks cannot call it.
    Required,
}

/// What has been decided for a call.
#[derive(Clone, Debug, Default)]
pub enum TaskPromotion {
    /// It is answered when it is done.
    #[default]
    Never,
    /// It becomes a task when it has run for so long.
    After(Duration),
    /// It is a task already.
    Begun(Arc<Task>),
}
