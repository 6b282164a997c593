//! What tokens and secrets open, until when, and what is said of wrong ones.

mod doors;
mod endings;
mod endpoints;
mod resources;
mod revocation;
mod secrets;
mod throttling;

// What is included by `store_on_postgres` too has another one there.
use crate::support::fixture;
