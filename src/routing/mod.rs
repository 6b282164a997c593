//! Selects the connections that a request addresses, and calls them: shared by the SQL API and MCP for requests to
//! several connections.

mod address;
mod ask;
mod found;
mod listing;
mod merged;
mod statement;
mod workspace;

pub(crate) use address::{Addressing, matching};
pub(crate) use ask::{AskOptions, ask, ask_several};
pub(crate) use listing::list_workspace;
pub(crate) use merged::{catalogs, list};
pub(crate) use workspace::ask_workspace;
