//! The log of the commands, and that of a service.

use std::backtrace::{Backtrace, BacktraceStatus};

use crate::config::Log;
use crate::observe::{lines, queue};

/// Returns the logger to standard error. `RUST_LOG` takes precedence over the configured level.
pub(in crate::cli) fn logger(log: &Log) -> env_logger::Builder {
    let level = std::env::var("RUST_LOG").unwrap_or_else(|_| log.level.clone());
    lines::builder(&Log { level, ..log.clone() })
}

/// Starts the log of a service, in which no thread ever waits for the log's reader.
pub fn start_log_of_service(log: &Log) {
    let mut builder = logger(log);
    let attached = queue::attach(&mut builder);
    // A log that was started before stays as it is.
    let _ = builder.try_init();
    if let Err(error) = attached {
        log::warn!("the log has no thread of its own, and waits for whoever reads it: {error}");
    }
    // Without this a panic is written to standard error by the thread that panics.
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let backtrace = Backtrace::capture();
        let trace = match backtrace.status() {
            BacktraceStatus::Captured => format!("\n{backtrace}"),
            _ => String::new(),
        };
        log::error!("thread {}: {panic}{trace}", thread.name().unwrap_or("without a name"));
        // The process ends with it, and no other thread waits for the line.
        if thread.name() == Some("main") {
            queue::finish();
        }
    }));
}
