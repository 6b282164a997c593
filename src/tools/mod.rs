//! The catalogue of tools: what a caller of one connection may use, filtered, listed and resolved to operations. A
//! tool is a row in a table; no protocol is known here.

pub(crate) mod arguments;
mod catalogue;
mod definitions;
mod filter;
mod kind;
mod names;
mod offer;
mod own_tools;
mod parameters;
mod schema;
mod source_tools;
mod switches;

pub use catalogue::{ResolvedTool, executing_names, find, fixed_names, list};
pub use filter::{Filter, Structured};
pub use kind::{OPERATIONS, Operation, TYPES, Type};
pub use names::distinct;
pub use offer::{Bounds, Offer, ResolvedCall, TIMEOUT_SECONDS, timeout, widest};
pub use own_tools::OwnTool;
pub use switches::Switches;
