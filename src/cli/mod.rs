//! The command line: one file a command. Only here is anything printed.
#![allow(clippy::print_stderr)]
#![expect(clippy::doc_markdown, reason = "what describes an option is also its help, where there is no markup")]

mod audit;
mod checks;
mod common;
mod connect;
mod demo;
mod folders;
mod generate;
mod init;
mod manage;
mod output;
mod running;
mod stdio;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use serde_json::json;

use self::common::{Common, Failure, error_words};
use self::output::print_json;
use self::running::logging::logger;
pub use self::running::logging::start_log_of_service;
use crate::config::{Config, Log, Problems};
use crate::observe::queue;

/// Self-hosted data connectivity: MCP and SQL over HTTP in front of your databases.
#[derive(Debug, Parser)]
#[command(name = "portico", version)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try Portico: a shop with sample data, a user and a service account, ready to call.
    Demo(demo::Demo),
    /// Serve the configured connections, or one database without a configuration.
    Serve(running::serve_database::Serve),
    /// Write a configuration that serves one database, and make the first administrator.
    Init(init::Init),
    /// Databases in the configuration.
    #[command(subcommand)]
    Connection(manage::connection::ConnectionCommand),
    /// Virtual schemas in the configuration.
    #[command(subcommand)]
    Workspace(manage::workspace::WorkspaceCommand),
    /// Speak MCP on standard input and output, for clients that launch programs.
    Stdio(stdio::Stdio),
    /// Have the running service read its configuration again.
    Reload,
    /// Print what to paste so that a client uses this service, or merge it into the client's own file.
    Connect(connect::Connect),
    /// Ask the running service whether all of it answers; for container runtimes.
    Health,
    /// Look at everything that keeps a service from running well, and say what to do.
    Doctor,
    /// Validate the configuration and try each connection.
    Check,
    /// Print, or run, the SQL for a database role that may do exactly what a connection exposes.
    Grants(manage::grants::Grants),
    /// People who call with personal access tokens.
    #[command(subcommand)]
    User(manage::user::UserCommand),
    /// Personal access tokens.
    #[command(subcommand)]
    Pat(manage::pat::PatCommand),
    /// Programs that exchange an id and a secret for access tokens.
    #[command(subcommand)]
    ServiceAccount(manage::service_account::ServiceAccountCommand),
    /// Applications that may ask people for access.
    #[command(subcommand)]
    Client(manage::client::ClientCommand),
    /// What people have allowed applications.
    #[command(subcommand)]
    Consent(manage::consent::ConsentCommand),
    /// Keys that sign access tokens.
    #[command(subcommand)]
    Key(manage::key::KeyCommand),
    /// The audit trail.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Write man pages or shell completions, for packages.
    #[command(hide = true)]
    Generate(generate::Generate),
}

/// The message for invalid options of a configuration.
const OPTIONS: &str = "the options are not valid";
/// The message for a change that would not be valid.
const REFUSED: &str = "nothing was written, because the configuration would not be valid any more";
/// The message for a change that the running service does not take over.
const NOT_TAKEN_OVER: &str = "the file was written, but the running service goes on as it was";
/// The exit code for an invalid command line.
const USAGE: u8 = 2;

/// Reads the command line. Errors are printed as JSON if `--json` is among the arguments.
///
/// # Errors
/// The exit code if no command is to be run.
pub fn read() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        let json = std::env::args_os().any(|word| word == "--json");
        if json && error.use_stderr() {
            print_json(&json!({"ok": false, "message": error.to_string().trim_end()}));
            return ExitCode::from(USAGE);
        }
        error.exit()
    })
}

/// Runs one command.
pub fn run(cli: Cli) -> ExitCode {
    let mut common = cli.common;
    // Its standard output is the protocol's alone.
    common.json &= !matches!(cli.command, Command::Stdio(_));
    match cli.command {
        // The service's own log is as its configuration wants it.
        Command::Serve(_) => {}
        Command::Demo(_) => start_log_of_service(&Log::default()),
        // Clients show standard error to people.
        Command::Stdio(_) => drop(logger(&Log { level: "warn".to_owned(), ..Log::default() }).try_init()),
        _ => drop(logger(&Log::default()).try_init()),
    }
    let result = match cli.command {
        Command::Demo(demo) => demo::run(demo, &common),
        Command::Serve(command) => running::serve_database::run(&command, &common),
        Command::Init(command) => init::run(command, &common),
        Command::Connection(command) => manage::connection::run(command, &common),
        Command::Workspace(command) => manage::workspace::run(command, &common),
        Command::Stdio(command) => stdio::run(&command),
        Command::Reload => running::reload::run(&common),
        Command::Connect(command) => changing(&common, connect::run(&command, &common)),
        Command::Health => checks::health::run(&common),
        Command::Doctor => checks::doctor::run(&common),
        Command::Check => checks::check::run(&common),
        Command::Grants(grants) => manage::grants::run(grants, &common),
        Command::User(command) => changing(&common, manage::user::run(command, &common)),
        Command::Pat(command) => changing(&common, manage::pat::run(command, &common)),
        Command::ServiceAccount(command) => changing(&common, manage::service_account::run(command, &common)),
        Command::Client(command) => changing(&common, manage::client::run(command, &common)),
        Command::Consent(command) => changing(&common, manage::consent::run(command, &common)),
        Command::Key(command) => changing(&common, manage::key::run(command, &common)),
        Command::Audit(command) => audit::run(command, &common),
        Command::Generate(generate) => generate::run(&generate, Cli::command()),
    };
    let code = match result {
        Ok(()) if manage::recording::lacks_a_record() => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print_failure(&failure, &common);
            ExitCode::FAILURE
        }
    };
    queue::finish();
    code
}

/// Says why a command failed: with `--json` to programs, on standard output.
fn print_failure(failure: &Failure, common: &Common) {
    let invalid = || format!("{} is not valid", common.config.display());
    match failure {
        Failure::AlreadyReported => {}
        Failure::Config(problems) if common.json => {
            print_json(&json!({"ok": false, "message": invalid(), "problems": problems.0}));
        }
        // A file that cannot be read says so itself.
        Failure::Config(problems) if problems.0.iter().all(|problem| problem.file.is_none()) => {
            queue::say(&format!("portico: {problems}"));
        }
        Failure::Config(problems) => queue::say(&format!("{}:\n{problems}", invalid())),
        Failure::Options(problems) => tell_problems(OPTIONS, problems, common),
        Failure::Refused(problems) => tell_problems(REFUSED, problems, common),
        Failure::NotTakenOver(problems) => tell_problems(NOT_TAKEN_OVER, problems, common),
        // Users of the command line may see the cause.
        Failure::Error(error) if common.json => {
            let mut told = json!({"ok": false, "message": error.message});
            for (name, more) in [("hint", error.get_hint()), ("cause", error.cause())] {
                if let Some(more) = more {
                    told[name] = more.into();
                }
            }
            print_json(&told);
        }
        Failure::Error(error) => {
            queue::say(&format!("portico: {}\n", error_words(error)));
        }
    }
}

fn tell_problems(message: &str, problems: &Problems, common: &Common) {
    if common.json {
        print_json(&json!({"ok": false, "message": message, "problems": problems.0}));
    } else {
        queue::say(&format!("portico: {message}:\n{problems}"));
    }
}

/// Notifies the running service, if there is one, that the store has changed, if it has. Returns the command's
/// outcome: a revocation is in force when the command ends.
fn changing(common: &Common, came: Result<(), Failure>) -> Result<(), Failure> {
    if manage::recording::has_changed()
        && let Ok(control) = Config::control_of(&common.config)
    {
        actix::System::new().block_on(running::control::notify_service(&control));
    }
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
