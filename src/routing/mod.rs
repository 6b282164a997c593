//! Which connections a request addresses, and how they are asked: for the SQL API and for MCP alike, where
//! they are over more than one connection.

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
