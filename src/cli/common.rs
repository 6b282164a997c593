//! Shared by the commands: the configuration, the store, connections and rights by name, failures.

use std::fmt::Display;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use portico_actors::auth::store::Store;
use portico_actors::error::{Error, Kind};
use portico_actors::near;
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use portico_actors::source::Access;
use uuid::Uuid;

use crate::cli::manage::recording;
use crate::config::{self, Config, Problems};
use crate::net::listener;

/// The default configuration file.
const CONFIG_FILE: &str = "config.toml";

#[derive(Args, Clone, Debug)]
pub(super) struct Common {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE", default_value = CONFIG_FILE)]
    pub(super) config: PathBuf,
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// Where this program is, for clients that launch it.
pub(super) fn program() -> Result<PathBuf, Failure> {
    config::program().map_err(|error| Failure::io("this program's own path", error))
}

/// Returns another command of this program, as the user would type it.
pub(super) fn command(words: &str, config: &Path) -> String {
    let program = std::env::args().next().unwrap_or_else(|| "portico".to_owned());
    if config == Path::new(CONFIG_FILE) {
        format!("{program} {words}")
    } else {
        format!("{program} {words} --config {}", config.display())
    }
}

/// Why a command failed, for people.
#[derive(Debug)]
pub(super) enum Failure {
    /// The configuration has problems.
    Config(Problems),
    /// What was given as options would be no configuration.
    Options(Problems),
    /// What was to be written would not be valid, and was not written.
    Refused(Problems),
    /// What was written the running service does not take over.
    NotTakenOver(Problems),
    /// Something else went wrong.
    Error(Error),
    /// All has been said already.
    AlreadyReported,
}

impl Failure {
    /// Something went wrong with a file or a socket.
    pub(super) fn io(what: impl Display, error: impl Display) -> Self {
        Self::Error(Error::new(Kind::Unavailable, format!("{what}: {error}")))
    }

    /// A place cannot be listened on.
    pub(super) fn not_listening(place: impl Display, error: &io::Error) -> Self {
        let message = format!("{place} cannot be listened on: {error}");
        Self::Error(Error::new(Kind::Unavailable, message).hint(listener::remedy(error)))
    }

    /// A folder or a file cannot be written.
    pub(super) fn unwritable(what: impl Display, error: &io::Error, elsewhere: &str) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on its disk".to_owned(),
            io::ErrorKind::ReadOnlyFilesystem => format!("its disk is mounted read-only: {elsewhere}"),
            io::ErrorKind::PermissionDenied => format!("this user may not write there: {elsewhere}"),
            _ => elsewhere.to_owned(),
        };
        Self::Error(Error::new(Kind::Unavailable, format!("{what}: {error}")).hint(remedy))
    }

    /// A file cannot be read.
    pub(super) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::io(format_args!("{} cannot be read", path.display()), error)
    }
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

/// The store's file, where it is one and is not there.
fn missing_file(config: &Config) -> Option<&Path> {
    config.store.place.file().filter(|path| !path.exists())
}

fn no_store(path: &Path) -> Error {
    Error::not_found(format!("there is no store yet: {} is not there", path.display()))
        .hint("the first start or portico user add makes it")
}

/// The store that there is.
pub(super) fn existing_store(config: &Config) -> Result<Store, Error> {
    match missing_file(config) {
        Some(path) => Err(no_store(path)),
        None => Store::open_existing(&config.store.place, config.store.key.clone(), config.tokens.clock()),
    }
}

/// What a command does with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreUse {
    /// It reads it.
    Reads,
    /// It changes what is there.
    Changes,
    /// It begins one where none is yet.
    Begins,
}

/// Reads the configuration and opens its store, for commands about rights: each change is recorded. Passwords of
/// connections are not needed for that, so their variables may be unset.
pub(super) fn open_store(common: &Common, usage: StoreUse) -> Result<(Config, Store), Failure> {
    let config = read_config(common)?;
    if usage == StoreUse::Reads {
        let store = existing_store(&config)?;
        return Ok((config, store));
    }
    if let Some(path) = missing_file(&config) {
        if usage == StoreUse::Changes {
            return Err(no_store(path).into());
        }
        if UnixStream::connect(&config.store.control).is_ok() {
            let away = format!("the store is away: {} is not there, and a running service has used it", path.display());
            return Err(Error::not_found(away)
                .hint("bring it back, or end the service first: an empty one lets nobody in")
                .into());
        }
    }
    recording::ensure(&config)?;
    let store = Store::open_with(&config.store.place, config.tokens.clock())?.sealed_with(config.store.key.clone());
    let store = recording::recorded(store, &config);
    Ok((config, store))
}

/// The configuration, for commands that need no password of a connection.
pub(super) fn read_config(common: &Common) -> Result<Config, Failure> {
    let text = Config::text_of(&common.config)?;
    let base = common.config.parent().map(PathBuf::from).unwrap_or_default();
    Ok(Config::parse_for_store(&text, &base, &config::lookup).map_err(|problems| problems.in_file(&common.config))?)
}

/// What a credential opens, by the names of the configuration.
#[derive(Args, Debug)]
pub(super) struct ReachArgs {
    /// A connection within reach, or NAME:read for one that may only be read; may be repeated.
    #[arg(long = "connection", value_name = "NAME[:SCOPE]")]
    connections: Vec<String>,
    /// A workspace within reach, also where the connections underneath are not, or NAME:read; may be repeated.
    #[arg(long = "workspace", value_name = "NAME[:SCOPE]")]
    workspaces: Vec<String>,
}

/// The named objects, each with its own scope if given.
pub(super) type Found<T> = Vec<(T, Option<Scope>)>;

/// The connections named on the command line.
pub(super) fn connections(config: &Config, named: &[String]) -> Result<Found<Uuid>, Error> {
    let known = config.connections.iter().map(|connection| (connection.name.as_ref(), connection.id));
    find("connection", named, &known.collect::<Vec<_>>())
}

impl ReachArgs {
    fn workspaces(&self, config: &Config) -> Result<Found<Arc<str>>, Error> {
        let known = config.workspaces.iter().map(|workspace| (workspace.name.as_ref(), Arc::clone(&workspace.name)));
        find("workspace", &self.workspaces, &known.collect::<Vec<_>>())
    }

    /// Returns true if nothing is named.
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.workspaces.is_empty()
    }

    /// Returns the widest scope that one of them is given explicitly.
    pub(super) fn widest(&self, config: &Config) -> Result<Option<Scope>, Error> {
        let connections = connections(config, &self.connections)?.into_iter().filter_map(|(_, scope)| scope);
        let workspaces = self.workspaces(config)?.into_iter().filter_map(|(_, scope)| scope);
        Ok(connections.chain(workspaces).max())
    }

    /// Returns the rights: everything with the scope `most`, or only what is named, each with its own scope at
    /// most, and none beyond `most`.
    pub(super) fn rights(&self, config: &Config, most: Option<Scope>) -> Result<Rights, Error> {
        let whole = most.unwrap_or(Scope::Admin);
        if self.is_empty() {
            return Ok(Rights::all(whole));
        }
        if let Some(widest) = self.widest(config)?.filter(|widest| *widest > whole) {
            return Err(Error::invalid(format!(
                "--connection, --workspace: one has the scope {}, and the whole has no more than {}",
                widest.as_str(),
                whole.as_str()
            ))
            .hint("widen the whole, or narrow that one"));
        }
        let connections =
            connections(config, &self.connections)?.into_iter().map(|(id, scope)| (id, scope.unwrap_or(whole)));
        let workspaces = self.workspaces(config)?.into_iter();
        let given = workspaces.map(|(name, scope)| (name, WorkspaceGrant::Given(scope.unwrap_or(whole))));
        Ok(Rights::each(connections).with_workspaces(given))
    }
}

/// Finds the objects named on the command line among `known`: `sales`, or `sales:read` for one with a narrower
/// scope.
fn find<T: Clone>(what: &str, named: &[String], known: &[(&str, T)]) -> Result<Found<T>, Error> {
    named
        .iter()
        .map(|named| {
            let (name, scope) = match named.split_once(':') {
                None => (named.as_str(), None),
                Some((name, word)) => {
                    let wrong = |remedy| Error::invalid(format!("{word:?} in {named:?} is not a scope")).hint(remedy);
                    (name, Some(parse_scope(word).map_err(wrong)?))
                }
            };
            let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, found)| (found.clone(), scope)).ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
                let hint = near::suggestion_or_list(name, &format!("{what}s: "), &names);
                Error::not_found(format!("there is no {what} {name:?}")).hint(hint)
            })
        })
        .collect()
}

/// The connections and workspaces within `rights`, for people.
pub(super) fn describe_rights(config: &Config, rights: &Rights) -> String {
    rights.describe(|id| {
        let found = config.connections.iter().find(|connection| connection.id == id);
        found.map_or_else(|| id.to_string(), |connection| connection.name.to_string())
    })
}

/// The widest scope of `rights`, and where it is, for people.
pub(super) fn describe_access(config: &Config, rights: &Rights) -> String {
    format!("{} on {}", rights.widest().as_str(), describe_rights(config, rights))
}

/// Returns the access that `--read-write` decides on.
pub(super) fn access(read_write: bool) -> Access {
    if read_write { Access::ReadWrite } else { Access::ReadOnly }
}

/// Reads a scope word of the command line.
pub(super) fn parse_scope(word: &str) -> Result<Scope, String> {
    Scope::parse(word).ok_or_else(|| "write read, write or admin".to_owned())
}

/// Reads `90s`, `30m`, `12h`, `90d` or `8w`.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Describes an error, its cause and its remedy: users of the command line may see the cause.
pub(super) fn error_words(error: &Error) -> String {
    let mut words = error.message.clone();
    for (mark, more) in [(": ", error.cause()), ("; ", error.get_hint())] {
        if let Some(more) = more {
            words.push_str(mark);
            words.push_str(more);
        }
    }
    words
}
