//! What these tests share with those of `tests/it`.
#![allow(dead_code, reason = "the others need more of it")]

#[path = "../it/support/app.rs"]
pub(crate) mod app;
#[path = "../it/support/configuration.rs"]
pub(crate) mod configuration;
#[path = "../it/support/failures.rs"]
pub(crate) mod failures;
#[path = "../it/support/fixture.rs"]
#[allow(unused_macros, unused_imports, reason = "the others need more of it")]
pub(crate) mod fixture;
#[path = "../it/support/mcp.rs"]
#[allow(unused_macros, unused_imports, reason = "the others need more of it")]
pub(crate) mod mcp;
#[path = "../it/support/postgres.rs"]
pub(crate) mod postgres;
#[path = "../it/support/process.rs"]
pub(crate) mod process;
#[path = "../it/support/raw.rs"]
pub(crate) mod raw;
#[path = "../it/support/service.rs"]
pub(crate) mod service;
#[path = "../it/support/stream.rs"]
pub(crate) mod stream;
#[path = "../it/support/wire.rs"]
pub(crate) mod wire;
