//! Tasks: calls that go on after they were answered, and whose result is fetched later (the
//! extension `io.modelcontextprotocol/tasks` for 2026-07-28). One bounded table, in memory.

mod deferral;
mod following;
mod methods;
mod support;
mod table;
mod task;

pub use deferral::defer;
pub(in crate::mcp) use deferral::prepare;
pub(in crate::mcp) use following::Following;
pub(in crate::mcp) use methods::{TASK_ID, cancel, follow, get, update};
pub use support::{Deferral, EXTENSION, TaskSupport};
pub use table::{Bounds, Tasks};
pub use task::Task;
