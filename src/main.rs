//! The `portico` program: reads the command line and hands over.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Thousands of streams, each with mostly idle buffers, in a process that runs for years: `examples/idle_streams`
/// shows how the system's allocator copes with that.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    portico::cli::read().map_or_else(|code| code, portico::cli::run)
}
