//! `config.toml` and the environment become a [`Config`]: data and its validation, no behaviour.
//! Secrets are of types that print nothing.

mod address;
mod audit;
mod bounds;
mod connection;
mod defaults;
mod environment;
mod fingerprint;
mod identity;
mod issuer;
mod limits;
mod problem;
mod prompt;
mod section;
mod seeing;
mod server;
mod statement;
mod store;
mod switches;
mod tasks;
mod telemetry;
mod tls;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portico_actors::auth::TrustedIssuer;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::oauth::client::Admission;
use toml::de::DeTable;

pub use address::administrator;
pub use bounds::Bounds;
pub use connection::Connection;
pub use environment::{Environment, lookup};
pub use fingerprint::{Fingerprint, Keys};
pub use limits::Limits;
use problem::Lines;
pub use problem::Problem;
pub use prompt::{Completes, Prompt, PromptArgument, PromptMessage, Role};
use section::Section;
pub use seeing::{Log, LogFormat, MetricsAccess};
pub use server::{ForwardedHeader, Listen, Proxies, Server};
pub use store::{STORE_KEY, Store};
pub use telemetry::{Otlp, Telemetry};
pub use tls::Tls;

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
    pub audit: crate::audit::Settings,
    /// `[[connections]]`, in the order of the file.
    pub connections: Vec<Arc<Connection>>,
    /// Tells what has changed when the file is read again.
    pub keys: Keys,
}

/// How tokens are issued.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// How long an access token is valid.
    pub lifetime: Duration,
    /// How far the clocks of two machines may be apart.
    pub clock_skew: Duration,
}

impl Tokens {
    /// What the time is told by.
    pub fn clock(&self) -> Clock {
        Clock::system().apart(self.clock_skew)
    }
}

/// Which clients may ask people for access, besides those registered on the command line.
#[derive(Clone, Copy, Debug)]
pub struct OAuth {
    /// Whether a client whose id is the address of its own description is asked about there.
    pub client_documents: bool,
    /// Whether such an address may be of this machine or a private network, and without TLS: for
    /// development alone.
    pub private_client_documents: bool,
    /// Whether clients may register themselves.
    pub dynamic_registration: bool,
}

impl Default for OAuth {
    fn default() -> Self {
        Self { client_documents: true, private_client_documents: false, dynamic_registration: false }
    }
}

impl OAuth {
    /// Which clients people may give access to, besides those that an administrator registered.
    pub fn admission(self) -> Admission {
        Admission { documents: self.client_documents, dynamic: self.dynamic_registration }
    }
}

impl Tokens {
    /// How long an access token is valid, unless configured.
    pub const DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);
    /// How far the clocks of two machines may be apart, unless configured.
    pub const DEFAULT_CLOCK_SKEW: Duration = Duration::from_secs(30);
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

impl std::error::Error for Problems {}

impl Config {
    /// Reads the file at `path`; `${NAME}` in its strings is taken from the process environment.
    ///
    /// # Errors
    /// Every problem of the file, each with its line, key and remedy.
    pub fn load(path: &Path) -> Result<Self, Problems> {
        let text = read(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, base, &environment::lookup)
    }

    /// Reads the file at `path` again, for a service that runs with `self`.
    ///
    /// # Errors
    /// As [`Config::load`], and when a key has changed that takes a restart.
    pub fn reload(&self, path: &Path) -> Result<Self, Problems> {
        let config = Self::load(path)?;
        let refused = config.keys.refused(&self.keys);
        if refused.is_empty() { Ok(config) } else { Err(Problems(refused)) }
    }

    /// The control socket by the file at `path`, whatever else may be wrong with it: finds the service
    /// that runs there, which may have variables that we do not have.
    ///
    /// # Errors
    /// When the file cannot be read, or is no TOML.
    pub fn control_of(path: &Path) -> Result<PathBuf, Problems> {
        let base = path.parent().unwrap_or(Path::new(""));
        // Of a variable that is not set only the kind of the store would matter.
        let set = |name: &str| environment::lookup(name).or_else(|| Some("postgres://unset".to_owned()));
        Ok(Self::store_of(&read(path)?, base, &set)?.0.control)
    }

    /// `[store]` alone, and what is wrong with it.
    fn store_of(text: &str, base: &Path, environment: Environment<'_>) -> Result<(Store, Vec<Problem>), Problems> {
        let parsed = syntax(text)?;
        let mut problems = Vec::new();
        let lines = Lines::of(text);
        let mut root = Section::root(&lines, parsed.get_ref(), environment);
        let (store, _) = store::read(&mut root, base, environment, &mut problems);
        Ok((store, problems))
    }

    /// Reads a configuration for a command that works at the store and connects to nothing else:
    /// variables of other sections may be unset.
    ///
    /// # Errors
    /// As [`Config::parse`].
    pub fn parse_for_store(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        // A stand-in would be another store.
        let (_, problems) = Self::store_of(text, base, environment)?;
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        // What a variable stands for can be a whole URL: any will do.
        let with = |unset: &str| {
            // But none is the store's key: without one, keys are stored as they are.
            let stand_in = |name: &str| (name != STORE_KEY).then(|| unset.to_owned());
            Self::parse(text, base, &|name| environment(name).or_else(|| stand_in(name)))
        };
        with("").or_else(|problems| with("postgres://unset").or_else(|_| with("sqlite:unset")).map_err(|_| problems))
    }

    /// Reads a configuration from `text`. Relative paths in it start at `base`; those of what the service writes at
    /// `store.directory`, where there is one.
    ///
    /// # Errors
    /// Every problem of the text, each with its line, key and remedy.
    pub fn parse(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        let parsed = syntax(text)?;
        let lines = Lines::of(text);
        let keys = Keys::of(&lines, parsed.get_ref(), environment);
        let mut problems = Vec::new();
        let mut root = Section::root(&lines, parsed.get_ref(), environment);
        let (store, directory) = store::read(&mut root, base, environment, &mut problems);
        let server = server::read(&mut root, base, &directory, &mut problems);
        let tokens = tokens(&mut root, &mut problems);
        let oauth = oauth(&mut root, &mut problems);
        let limits = limits::read(&mut root, &mut problems);
        let audit = audit::read(&mut root, &directory, &mut problems);
        let log = seeing::log(&mut root, &mut problems);
        let telemetry = telemetry::read(&mut root, environment, &mut problems);
        let defaults = defaults::read(&mut root, &mut problems);
        let connections = connection::read_all(&mut root, (base, &directory), defaults, &mut problems);
        let issuers = issuer::read_all(&mut root, base, &server.public_url, &connections, &mut problems);
        root.finish(&mut problems);
        if problems.is_empty() {
            Ok(Self { server, store, tokens, oauth, limits, log, telemetry, issuers, audit, connections, keys })
        } else {
            problems.sort_by_key(|problem| problem.line);
            Err(Problems(problems))
        }
    }

    /// The connection named `name`, as the command line addresses it.
    pub fn connection(&self, name: &str) -> Option<&Connection> {
        self.connections.iter().map(AsRef::as_ref).find(|connection| connection.name.eq_ignore_ascii_case(name))
    }
}

fn read(path: &Path) -> Result<String, Problems> {
    std::fs::read_to_string(path).map_err(|error| {
        Problems(vec![Problem::new(
            0,
            "",
            format!("{} cannot be read: {error}", path.display()),
            "give the right path with --config, or make it readable for this user",
        )])
    })
}

fn syntax(text: &str) -> Result<toml::Spanned<DeTable<'_>>, Problems> {
    DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| Lines::of(text).at(span.start));
        Problems(vec![Problem::new(line, "", error.message().to_owned(), "mend the TOML syntax on this line")])
    })
}

fn tokens(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Tokens {
    let mut section = root.section("tokens", problems);
    let lifetime = section.integer("lifetime", 60..=86_400, problems);
    let clock_skew = section.integer("clock_skew", 0..=60, problems);
    section.finish(problems);
    Tokens {
        lifetime: lifetime.map_or(Tokens::DEFAULT_LIFETIME, Duration::from_secs),
        clock_skew: clock_skew.map_or(Tokens::DEFAULT_CLOCK_SKEW, Duration::from_secs),
    }
}

fn oauth(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> OAuth {
    let mut section = root.section("oauth", problems);
    let usual = OAuth::default();
    let mut switch = |name, usual| section.boolean(name, problems).unwrap_or(usual);
    let oauth = OAuth {
        client_documents: switch("client_documents", usual.client_documents),
        private_client_documents: switch("private_client_documents", usual.private_client_documents),
        dynamic_registration: switch("dynamic_registration", usual.dynamic_registration),
    };
    section.finish(problems);
    oauth
}
