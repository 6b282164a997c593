//! Tests of identity as a whole: the store, tokens and attacks on them, grants, and the actor.

mod actor;
mod attacks;
mod changes;
mod grants;
mod issuers;
mod people;
mod revival;
mod schema;
mod store;
mod support;
