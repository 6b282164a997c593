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
mod prompt;
mod section;
mod seeing;
mod server;
mod statement;
mod switches;
mod tasks;
mod telemetry;
mod tls;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portico_actors::auth::{StoreKey, TrustedIssuer};
use toml::de::DeTable;

pub use bounds::Bounds;
pub use connection::Connection;
pub use environment::lookup;
pub use fingerprint::{Fingerprint, Keys};
pub use limits::Limits;
pub use prompt::{Completes, Prompt, PromptArgument, PromptMessage, Role};
pub use section::{Environment, Problem};
use section::{Lines, Section};
pub use seeing::{Log, LogFormat, MetricsAccess};
pub use server::{Listen, Proxies, Server};
pub use telemetry::{Otlp, Telemetry};
pub use tls::Tls;

/// The variable of the environment with the key that encrypts signing keys.
pub const STORE_KEY: &str = "PORTICO_STORE_KEY";

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

/// Where users, tokens, service accounts and keys are kept.
#[derive(Clone, Debug)]
pub struct Store {
    /// The SQLite file.
    pub path: PathBuf,
    /// What signing keys are encrypted with; without one they are stored as they are.
    pub key: Option<StoreKey>,
}

/// How tokens are issued.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// How long an access token is valid.
    pub lifetime: Duration,
    /// How far the clocks of two machines may be apart.
    pub clock_skew: Duration,
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

    /// Where the store is by the file at `path`, whatever else may be wrong with it: finds the
    /// service that runs on that store, which may have variables that we do not have.
    ///
    /// # Errors
    /// When the file cannot be read, or is no TOML.
    pub fn store_of(path: &Path) -> Result<PathBuf, Problems> {
        let text = read(path)?;
        let parsed = syntax(&text)?;
        let mut problems = Vec::new();
        let lines = Lines::of(&text);
        let mut root = Section::root(&lines, parsed.get_ref(), &environment::lookup);
        let base = path.parent().unwrap_or(Path::new(""));
        Ok(store(&mut root, base, &environment::lookup, &mut problems).path)
    }

    /// Reads a configuration from `text`. Relative paths in it start at `base`.
    ///
    /// # Errors
    /// Every problem of the text, each with its line, key and remedy.
    pub fn parse(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        let parsed = syntax(text)?;
        let lines = Lines::of(text);
        let keys = Keys::of(&lines, parsed.get_ref(), environment);
        let mut problems = Vec::new();
        let mut root = Section::root(&lines, parsed.get_ref(), environment);
        let server = server::read(&mut root, base, &mut problems);
        let store = store(&mut root, base, environment, &mut problems);
        let tokens = tokens(&mut root, &mut problems);
        let oauth = oauth(&mut root, &mut problems);
        let limits = limits::read(&mut root, &mut problems);
        let audit = audit::read(&mut root, base, &mut problems);
        let log = seeing::log(&mut root, &mut problems);
        let telemetry = telemetry::read(&mut root, environment, &mut problems);
        let defaults = defaults::read(&mut root, &mut problems);
        let connections = connection::read_all(&mut root, base, defaults, &mut problems);
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

fn store(root: &mut Section<'_>, base: &Path, environment: Environment<'_>, problems: &mut Vec<Problem>) -> Store {
    let mut section = root.section("store", problems);
    let url = section.string("url", problems).unwrap_or_else(|| "sqlite:portico.db".to_owned());
    let path = url.strip_prefix("sqlite:").filter(|path| !path.is_empty()).unwrap_or_else(|| {
        section.problem(
            "url",
            "the store is kept in a SQLite file".to_owned(),
            "write it as \"sqlite:portico.db\"",
            problems,
        );
        "portico.db"
    });
    let key = store_key(&mut section, base, environment, problems);
    section.finish(problems);
    Store { path: base.join(path), key }
}

/// The key that encrypts signing keys, from the environment or from a file, but not from both.
fn store_key(
    section: &mut Section<'_>,
    base: &Path,
    environment: Environment<'_>,
    problems: &mut Vec<Problem>,
) -> Option<StoreKey> {
    let file = section.string("key_file", problems);
    let variable = environment(STORE_KEY).filter(|text| !text.is_empty());
    let text = match (file, variable) {
        (None, variable) => variable?,
        (Some(_), Some(_)) => {
            let message = format!("the environment has {STORE_KEY} too");
            section.problem("key_file", message, "give the key in one place", problems);
            return None;
        }
        (Some(file), None) => match std::fs::read_to_string(base.join(&file)) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("{file} cannot be read: {error}");
                section.problem(
                    "key_file",
                    message,
                    "make it with `openssl rand -base64 32`, for this user alone",
                    problems,
                );
                return None;
            }
        },
    };
    match StoreKey::parse(&text) {
        Ok(key) => Some(key),
        Err(error) => {
            section.problem("key_file", error.message.clone(), error.get_hint().unwrap_or_default(), problems);
            None
        }
    }
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
