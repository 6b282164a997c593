//! Tasks: calls that continue after they were answered, and whose result is fetched later (the extension
//! `io.modelcontextprotocol/tasks` for 2026-07-28). One bounded table, in memory.

mod methods;
mod promotion;
mod table;
mod task;

pub(in crate::mcp) use methods::{TASK_ID, cancel, get, listen, update};
pub(in crate::mcp) use promotion::prepare;
pub use promotion::promote;
pub use table::{EXTENSION, Tasks};
pub(in crate::mcp) use task::TaskSubscription;
pub use task::{Task, TaskPromotion};
