//! Tests of identity as a whole: the store, tokens and attacks on them, grants, and the actor. Those in `both` do
//! not depend on the kind of store, and run on each.

// Each file of `both` is a module of each kind.
#![allow(clippy::duplicate_mod)]

mod assertions;
mod attacks;
mod authority;
mod changes;
mod issuer_keys;
mod issuers;
mod on_a_file;
mod on_postgres;
#[path = "../../../../tests/it/support/postgres.rs"]
#[allow(dead_code)] // the tests of the service use all of it
mod postgres;
mod recorded;
mod replicas;
mod schema;
mod support;
