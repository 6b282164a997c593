//! One binary: each test starts the service in-process and talks HTTP as a client would.

// Everything here is a test: what cannot be unwrapped has failed.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// What holds for both kinds of store is a module of each.
#![allow(clippy::duplicate_mod)]

// What the conformance suite is answered with.
#[path = "../../examples/conformance/fixture/mod.rs"]
mod conformance_fixture;

mod access;
mod api;
mod connect;
mod documents;
#[cfg(feature = "federation")]
mod federation;
mod house;
mod launched;
mod mcp;
mod oauth;
mod operations;
mod sql;
mod support;
mod walls;
