//! The walls, tried by their class: a corpus of ordinary statements that must pass, and generated
//! attacks that must not. Each runs on the system's PostgreSQL and on a newer one.
//!
//! `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it longer, `PORTICO_TEST_POSTGRES_NEWER` names
//! the folder of the newer server's programs.

pub(crate) mod attack;
mod corpus;
mod found;
mod hiding;
mod identity;
mod read_only;
mod routines;
pub(crate) mod server;
mod told;
mod unasked;
mod workspace_statements;
mod workspaces;
