//! The `portico` program: reads the command line and hands over.

use std::process::ExitCode;

use clap::Parser;
use portico::cli::Cli;

fn main() -> ExitCode {
    portico::cli::run(Cli::parse())
}
