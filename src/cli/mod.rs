//! The command line: one file a command. Only here is anything printed.
#![allow(clippy::print_stderr)]

mod audit;
mod check;
mod client;
mod consent;
mod control;
mod demo;
mod doctor;
mod exposure;
mod generate;
mod grants;
mod health;
mod key;
mod notify;
mod pat;
mod reach;
mod reload;
mod serve;
mod service_account;
mod user;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::{ExitCode, exit};

use clap::{Args, Parser, Subcommand};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::near;
use portico_actors::principal::{Rights, Scope};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::config::{self, Config, Log, Problems};
use crate::observe::{lines, queue};

/// Self-hosted data connectivity: MCP and SQL over HTTP in front of your databases.
#[derive(Debug, Parser)]
#[command(name = "portico", version)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args, Clone, Debug)]
struct Common {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE", default_value = "config.toml")]
    config: PathBuf,
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try Portico: a shop with sample data, a user and a service account, ready to call.
    Demo(demo::Demo),
    /// Serve the configured connections.
    Serve,
    /// Have the running service read its configuration again.
    Reload,
    /// Ask the running service whether all of it answers; for container runtimes.
    Health,
    /// Look at everything that keeps a service from running well, and say what to do.
    Doctor,
    /// Validate the configuration and try each connection.
    Check,
    /// Print, or run, the SQL for a database role that may do exactly what a connection exposes.
    Grants(grants::Grants),
    /// People who call with personal access tokens.
    #[command(subcommand)]
    User(user::User),
    /// Personal access tokens.
    #[command(subcommand)]
    Pat(pat::Pat),
    /// Programs that exchange an id and a secret for access tokens.
    #[command(subcommand)]
    ServiceAccount(service_account::ServiceAccount),
    /// Applications that may ask people for access.
    #[command(subcommand)]
    Client(client::Client),
    /// What people have allowed applications.
    #[command(subcommand)]
    Consent(consent::Consent),
    /// Keys that sign access tokens.
    #[command(subcommand)]
    Key(key::Key),
    /// The audit trail.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Write man pages or shell completions, for packages.
    #[command(hide = true)]
    Generate(generate::Generate),
}

/// How a process ends whose command line is wrong.
const USAGE: u8 = 2;

/// Why a command failed, for people.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The configuration has problems.
    Config(Problems),
    /// Something else went wrong.
    Error(Error),
    /// A file or a socket.
    Io(String, std::io::Error),
    /// All has been said already.
    Said,
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Config(problems)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Reads the command line. What is wrong with it is told to programs as JSON where `--json` is among its words.
///
/// # Errors
/// How the process ends where no command is to be run.
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
    let common = cli.common;
    match cli.command {
        // The service's own log is as its configuration wants it.
        Command::Serve => {}
        Command::Demo(_) => start_log_of_service(&Log::default()),
        _ => drop(logger(&Log::default()).try_init()),
    }
    let result = match cli.command {
        Command::Demo(demo) => demo::run(demo, &common),
        Command::Serve => serve::run(&common),
        Command::Reload => reload::run(&common),
        Command::Health => health::run(&common),
        Command::Doctor => doctor::run(&common),
        Command::Check => check::run(&common),
        Command::Grants(grants) => grants::run(grants, &common),
        Command::User(command) => changing(&common, user::run(command, &common)),
        Command::Pat(command) => changing(&common, pat::run(command, &common)),
        Command::ServiceAccount(command) => changing(&common, service_account::run(command, &common)),
        Command::Client(command) => changing(&common, client::run(command, &common)),
        Command::Consent(command) => changing(&common, consent::run(command, &common)),
        Command::Key(command) => changing(&common, key::run(command, &common)),
        Command::Audit(command) => audit::run(command, &common),
        Command::Generate(generate) => generate::run(&generate),
    };
    let code = match result {
        Ok(()) if audit::lacks_a_record() => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure, &common);
            ExitCode::FAILURE
        }
    };
    queue::finish();
    code
}

/// What writes the log to standard error. `RUST_LOG` goes before the configured level.
fn logger(log: &Log) -> env_logger::Builder {
    let level = std::env::var("RUST_LOG").unwrap_or_else(|_| log.level.clone());
    lines::builder(&Log { level, ..log.clone() })
}

/// Begins the log of a service: nobody in it ever waits for whoever reads that.
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
    }));
}

/// Says why a command failed: with `--json` to programs, on standard output.
fn tell(failure: &Failure, common: &Common) {
    if common.json && !matches!(failure, Failure::Said) {
        print_json(&describe(failure, common));
    } else {
        queue::say(&words(failure, common));
    }
}

fn describe(failure: &Failure, common: &Common) -> Value {
    let text = |message: String| json!({"ok": false, "message": message});
    match failure {
        Failure::Said => Value::Null,
        Failure::Config(problems) => {
            let problems: Vec<Value> = problems.0.iter().map(check::describe).collect();
            json!({"ok": false, "message": format!("{} is not valid", common.config.display()), "problems": problems})
        }
        Failure::Io(what, error) => text(format!("{what}: {error}")),
        Failure::Error(error) => {
            let mut told = text(error.message.clone());
            for (name, more) in [("hint", error.get_hint()), ("cause", error.cause())] {
                if let Some(more) = more {
                    told[name] = more.into();
                }
            }
            told
        }
    }
}

fn words(failure: &Failure, common: &Common) -> String {
    match failure {
        Failure::Said => String::new(),
        Failure::Config(problems) => format!("{} is not valid:\n{problems}", common.config.display()),
        Failure::Io(what, error) => format!("portico: {what}: {error}\n"),
        Failure::Error(error) => {
            // Whoever runs the command line may see the cause.
            let more = [error.get_hint(), error.cause()].into_iter().flatten();
            let pieces: Vec<&str> = std::iter::once(error.message.as_str()).chain(more).collect();
            format!("portico: {}\n", pieces.join("; "))
        }
    }
}

/// The store that there is.
fn existing_store(config: &Config) -> Result<Store, Error> {
    let place = &config.store.place;
    if let Some(path) = place.file().filter(|path| !path.exists()) {
        let missing = Error::not_found(format!("there is no store yet: {} is not there", path.display()));
        return Err(missing.hint("the first start or portico user add makes it"));
    }
    Store::open_existing(place, config.store.key.clone())
}

/// The configuration and its store, for commands about who may call: each change is recorded. One that `only_looks` makes
/// nothing. Passwords of connections are not needed for that, so their variables may be unset.
fn open_store(common: &Common, only_looks: bool) -> Result<(Config, Store), Failure> {
    let config = read_config(common)?;
    if only_looks {
        let store = existing_store(&config)?;
        return Ok((config, store));
    }
    audit::ensure(&config)?;
    let store = Store::open(&config.store.place)?.sealed_with(config.store.key.clone());
    let recorder = audit::recorder(&config);
    Ok((config, store.recording(recorder)))
}

/// Tells the running service, where there is one, that the store may have changed, and gives on what came of the
/// command: what it took away is refused when the command ends.
fn changing(common: &Common, came: Result<(), Failure>) -> Result<(), Failure> {
    if let Ok(control) = Config::control_of(&common.config) {
        actix::System::new().block_on(control::tell(&control));
    }
    came
}

/// The configuration, for commands that need no password of a connection.
fn read_config(common: &Common) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(&common.config)
        .map_err(|error| Failure::Io(format!("{} cannot be read", common.config.display()), error))?;
    let base = common.config.parent().map(PathBuf::from).unwrap_or_default();
    Ok(Config::parse_for_store(&text, &base, &config::lookup)?)
}

/// The connections named on the command line: `sales`, or `sales:read` for one that is reached with
/// less than the rest.
fn connections(config: &Config, named: &[String]) -> Result<Vec<(Uuid, Option<Scope>)>, Error> {
    let known = || config.connections.iter().map(|connection| connection.name.as_ref());
    named
        .iter()
        .map(|named| {
            let (name, scope) = match named.split_once(':') {
                None => (named.as_str(), None),
                Some((name, word)) => {
                    let wrong = |remedy| Error::invalid(format!("{word:?} in {named:?} is no scope")).hint(remedy);
                    (name, Some(parse_scope(word).map_err(wrong)?))
                }
            };
            let found = config.connection(name).map(|connection| (connection.id, scope));
            found.ok_or_else(|| {
                let error = Error::not_found(format!("there is no connection {name:?}"));
                let offered = near::did_you_mean(&near::nearest(name, known()));
                error
                    .hint(offered.unwrap_or_else(|| format!("connections: {}", known().collect::<Vec<_>>().join(", "))))
            })
        })
        .collect()
}

/// All connections with the scope `most`, unless some are named; each no further than its own scope, and
/// none further than `most`.
fn rights(config: &Config, named: &[String], most: Option<Scope>) -> Result<Rights, Error> {
    let whole = most.unwrap_or(Scope::Admin);
    if named.is_empty() {
        return Ok(Rights::all(whole));
    }
    let connections = connections(config, named)?;
    if let Some(widest) = connections.iter().filter_map(|(_, scope)| *scope).max().filter(|widest| *widest > whole) {
        return Err(Error::invalid(format!(
            "--connection: one is given the scope {}, and the whole has no more than {}",
            widest.word(),
            whole.word()
        ))
        .hint("widen the whole, or narrow that connection"));
    }
    Ok(Rights::each(connections.into_iter().map(|(id, scope)| (id, scope.unwrap_or(whole)))))
}

/// The connections within `rights`, for people.
fn describe_rights(config: &Config, rights: &Rights) -> String {
    rights.describe(|id| {
        let found = config.connections.iter().find(|connection| connection.id == id);
        found.map_or_else(|| id.to_string(), |connection| connection.name.to_string())
    })
}

/// Reads a scope word of the command line.
fn parse_scope(word: &str) -> Result<Scope, String> {
    Scope::from_word(word).ok_or_else(|| "write read, write or admin".to_owned())
}

/// Prints a line. Where nobody reads it any more, as behind `head`, nothing is said: what the command
/// does and how it ends is the same.
fn say(line: impl Display) {
    let _ = is_read(line);
}

/// Prints a line, and tells whether anybody reads on.
fn is_read(line: impl Display) -> bool {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => false,
        Err(error) => {
            eprintln!("portico: standard output cannot be written: {error}");
            exit(1);
        }
    }
}

/// Prints a value for programs.
fn print_json(value: &Value) {
    say(value);
}

/// Prints rows in aligned columns, or says that there are none.
fn print_table(header: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        say("none");
        return;
    }
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, title)| {
            let longest = rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
            longest.unwrap_or(0).max(title.len())
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        say(padded.join("  ").trim_end());
    };
    line(header.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
