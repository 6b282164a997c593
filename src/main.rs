//! The `portico` program: reads the command line and hands over.

use std::process::ExitCode;

use clap::Parser;
use portico::cli::Cli;

fn main() -> ExitCode {
    env_logger::Builder::from_env(
        env_logger::Env::default().default_filter_or("info,tokio_postgres=warn,actix_server=warn"),
    )
    .init();
    portico::cli::run(Cli::parse())
}
