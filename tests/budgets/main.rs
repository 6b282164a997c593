//! What one call may cost of what no noise touches: allocations, system calls, round trips to PostgreSQL.
//!
//! Each is the mean of some hundred calls that come one after the other, once everything is known that is found at the first.
//! A binary of its own, for it counts what the whole process allocates. `docs/performance.md` says how to read it.

// Everything here is a test: what cannot be unwrapped has failed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod allocations;
mod budget;
mod caller;
mod round_trips;
mod support;
mod system_calls;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// The system's own, counted. How often something is asked for does not depend on who gives it.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One measures at a time: what another one allocates, or takes of the processor, is not the call's.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
