//! `config.toml` and the environment become a [`Config`]: data and its validation, no behaviour. Secrets have types
//! that print nothing.

#![expect(
    clippy::doc_markdown,
    reason = "what describes a setting also stands in config.toml, where there is no markup"
)]

mod connections;
mod database;
mod declared;
mod service;
mod workspace;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portico_actors::auth::TrustedIssuer;
use portico_actors::workspace::Workspace;
use toml::de::DeTable;

pub use connections::address::administrator;
pub use connections::connection::{Connection, ConnectionSettings};
use connections::defaults::Defaults;
pub use connections::prompt::{Completes, Prompt, PromptArgument, PromptMessage, Role};
pub use database::Database;
pub(crate) use declared::environment::program;
pub use declared::environment::{Environment, lookup};
pub use declared::fingerprint::{Fingerprint, Keys};
use declared::problem::Lines;
use declared::problem::Position;
pub use declared::problem::Problem;
use declared::section::{File, Section};
pub(crate) use declared::setting::NamedValues;
pub use declared::setting::{Kind, Literal, Reload, Setting};
use declared::setting::{optional_table, table, tables};
use declared::table::{Table, settings};
pub use service::audit::{AuditSettings, OnFailure};
pub use service::clients::{Limits, OAuth, Tokens};
pub use service::federation::Federation;
use service::issuer::IssuerSettings;
pub use service::log::{Log, LogFormat};
pub use service::server::{Bounds, ForwardedHeader, Listen, MetricsAccess, Proxies, Server, TaskLimits};
use service::store::StoreSettings;
pub use service::store::{STORE_KEY, Store};
use service::telemetry::TelemetrySettings;
pub use service::telemetry::{Otlp, Telemetry};
pub use service::tls::Tls;
use workspace::WorkspaceSettings;

settings! {
    /// Portico's configuration: a working example with every key and its default.
    ///
    ///   portico check     validates this file and tries each connection
    ///   portico serve     serves it
    ///   portico reload    has the running service take it over; what is marked (*) takes a restart
    ///
    /// ${NAME} in a text is taken from the environment, ${credential:NAME} from the file NAME in
    /// $CREDENTIALS_DIRECTORY, as LoadCredential= of systemd fills it ($${ stands for the characters ${).
    /// Relative paths start at the folder of this file, those of what is written at store.directory. An empty list or
    /// table means none, one that is left out its default.
    struct Root {}
    tables {
        server = table::<Server>(),
        log = table::<Log>(),
        telemetry = optional_table::<TelemetrySettings>(),
        store = table::<StoreSettings>(),
        tokens = table::<Tokens>(),
        oauth = table::<OAuth>(),
        limits = table::<Limits>(),
        issuers = tables::<IssuerSettings>(),
        audit = table::<AuditSettings>(),
        defaults = table::<Defaults>(),
        federation = table::<Federation>(),
        connections = tables::<ConnectionSettings>().live().shown(""),
        workspaces = tables::<WorkspaceSettings>().live(),
    }
}

/// The whole file as it is declared: every table, with its settings.
pub const FILE: Setting = table::<Root>();

/// Everything the service is configured with.
#[derive(Clone, Debug)]
pub struct Config {
    /// `[server]`.
    pub server: Server,
    /// `[store]`.
    pub store: Store,
    /// `[tokens]`.
    pub tokens: Tokens,
    /// `[oauth]`.
    pub oauth: OAuth,
    /// `[limits]`.
    pub limits: Limits,
    /// `[log]`.
    pub log: Log,
    /// `[telemetry]`.
    pub telemetry: Telemetry,
    /// `[[issuers]]`, in the order of the file.
    pub issuers: Vec<TrustedIssuer>,
    /// `[audit]`.
    pub audit: AuditSettings,
    /// `[federation]`.
    pub federation: Federation,
    /// `[[connections]]`, in the order of the file.
    pub connections: Vec<Arc<Connection>>,
    /// `[[workspaces]]`, in the order of the file.
    pub workspaces: Vec<Arc<Workspace>>,
    /// Tells what has changed when the file is read again.
    pub keys: Keys,
}

/// Why there is no [`Config`]: every problem of the file at once.
#[derive(Debug)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            writeln!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl Problems {
    /// The same problems, found in the file at `path`.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        Self(self.0.into_iter().map(|problem| problem.in_file(path)).collect())
    }
}

impl std::error::Error for Problems {}

impl Config {
    /// Reads the file at `path`; `${NAME}` in its strings is taken from the process environment.
    ///
    /// # Errors
    /// Every problem of the file, each with its place, key and remedy.
    pub fn load(path: &Path) -> Result<Self, Problems> {
        let text = Self::text_of(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, base, &declared::environment::lookup).map_err(|problems| problems.in_file(path))
    }

    /// Reads the file at `path` again, for a service that runs with `self`.
    ///
    /// # Errors
    /// As [`Config::load`], and when a key has changed that takes a restart.
    pub fn reload(&self, path: &Path) -> Result<Self, Problems> {
        let config = Self::load(path)?;
        let refused = config.keys.refused(&self.keys);
        if refused.is_empty() { Ok(config) } else { Err(Problems(refused).in_file(path)) }
    }

    /// Returns the settings whose values differ from `before`; for a list of tables other than connections, its
    /// name.
    pub fn changed_settings(&self, before: &Self) -> Vec<String> {
        let mut changed = self.keys.changed_names(&before.keys);
        changed.retain(|name| name != "connections" && name != "workspaces");
        for now in &self.connections {
            let was = before.connections.iter().find(|was| was.id == now.id);
            let settings = was.into_iter().flat_map(|was| now.fingerprint.changed_settings(&was.fingerprint));
            changed.extend(settings.map(|setting| format!("connections.{}.{setting}", now.name)));
        }
        changed
    }

    /// Returns the control socket according to the file at `path`, whatever else is wrong with it: the running
    /// service may have variables that this process does not have.
    ///
    /// # Errors
    /// If the file cannot be read, or is not TOML.
    pub fn control_of(path: &Path) -> Result<PathBuf, Problems> {
        let base = path.parent().unwrap_or(Path::new(""));
        // Of a variable that is not set only the kind of the store would matter.
        let set = |name: &str| declared::environment::lookup(name).or_else(|| Some("postgres://unset".to_owned()));
        let store = Self::store_of(&Self::text_of(path)?, base, &set).map_err(|problems| problems.in_file(path))?;
        Ok(store.0.control)
    }

    /// The text of the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text_of(path: &Path) -> Result<String, Problems> {
        std::fs::read_to_string(path).map_err(|error| {
            let remedy = if error.kind() == std::io::ErrorKind::NotFound {
                "name the file with --config, or make one with portico init --url URL --name NAME"
            } else {
                "make it readable for this user, or name another file with --config"
            };
            let message = format!("{} cannot be read: {error}", path.display());
            Problems(vec![Problem::new(Position::default(), "", message, remedy)])
        })
    }

    /// Reads `[store]` alone. Returns its problems too.
    fn store_of(text: &str, base: &Path, environment: Environment<'_>) -> Result<(Store, Vec<Problem>), Problems> {
        let parsed = syntax(text)?;
        let file = File::new(text, base, environment);
        let (store, _) = service::store::read(&Section::root(&file, FILE.settings(), Some(parsed.get_ref())));
        Ok((store, file.problems()))
    }

    /// Reads a configuration for a command that uses only the store: variables of other sections may be unset.
    ///
    /// # Errors
    /// As [`Config::parse`].
    pub fn parse_for_store(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        // A stand-in would be another store.
        let (_, problems) = Self::store_of(text, base, environment)?;
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        // A variable may stand for a whole URL: any will do.
        let with = |unset: &str| {
            // The store's key must not be replaced: without one, keys are stored as they are.
            let is_named = |name: &str| name != STORE_KEY && text.contains(&format!("${{{name}}}"));
            let stand_in = |name: &str| is_named(name).then(|| unset.to_owned());
            Self::parse(text, base, &|name| environment(name).or_else(|| stand_in(name)))
        };
        with("").or_else(|problems| with("postgres://unset").or_else(|_| with("sqlite:unset")).map_err(|_| problems))
    }

    /// Reads a configuration from `text`. Relative paths in it start at `base`; those of files that the service
    /// writes at `store.directory`, if there is one.
    ///
    /// # Errors
    /// Every problem of the text, each with its line, key and remedy.
    pub fn parse(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        let parsed = syntax(text)?;
        let file = File::new(text, base, environment);
        let root = Section::root(&file, FILE.settings(), Some(parsed.get_ref()));
        root.refuse_unknown();
        let (store, directory) = service::store::read(&root);
        let server = service::server::read(&root, &directory);
        let mut audit = AuditSettings::read(&root.table("audit"));
        audit.file = audit.file.map(|file| directory.join(file));
        let defaults = Defaults::read(&root.table("defaults"));
        let connections = connections::connection::read_all(&root, &directory, defaults);
        let workspaces = workspace::read_all(&root, &connections);
        let config = Self {
            issuers: service::issuer::read_all(&root, &server.public_url, &connections, &workspaces),
            oauth: OAuth::read(&root.table("oauth")).usual_for(&server),
            server,
            store,
            tokens: Tokens::read(&root.table("tokens")),
            limits: Limits::read(&root.table("limits")),
            log: Log::read(&root.table("log")),
            telemetry: service::telemetry::read(&root),
            audit,
            federation: service::federation::read(&root, &directory),
            connections,
            workspaces,
            keys: Keys::new(&root),
        };
        let problems = file.problems();
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// Returns the configuration of one database. Relative paths in its address start at `base`; the service writes
    /// its files to `folder`.
    ///
    /// # Errors
    /// Every problem with the address or the name, each as an option of the command line.
    pub fn of_database(
        database: &Database<'_>,
        base: &Path,
        folder: &Path,
        environment: Environment<'_>,
    ) -> Result<Self, Problems> {
        let mut config = Self::parse(&database.text(), base, environment)
            .map_err(|Problems(problems)| Problems(problems.into_iter().map(Database::option).collect()))?;
        let Store { place, control, .. } = Store::of_file(folder.join("portico.db"));
        (config.store.place, config.store.control) = (place, control);
        config.federation.spill_dir = folder.join("portico.spill");
        Ok(config)
    }

    /// The connection named `name`, as the command line addresses it.
    pub fn connection(&self, name: &str) -> Option<&Arc<Connection>> {
        self.connections.iter().find(|connection| connection.name.eq_ignore_ascii_case(name))
    }
}

fn syntax(text: &str) -> Result<toml::Spanned<DeTable<'_>>, Problems> {
    DeTable::parse(text).map_err(|error| {
        let position = error.span().map(|span| Lines::new(text).at(span.start)).unwrap_or_default();
        Problems(vec![Problem::new(
            position,
            "",
            error.message().to_owned(),
            "write it as TOML has it: texts in quotes, key = value, [table] and [[list]]",
        )])
    })
}
