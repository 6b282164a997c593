//! `config.toml` and the environment become a [`Config`]: data and its validation, no behaviour.
//! Secrets are of types that print nothing.

mod connection;
mod environment;
mod fingerprint;
mod prompt;
mod section;
mod server;
mod statement;
mod switches;
mod tls;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeTable;

pub use connection::Connection;
pub use environment::lookup;
pub use fingerprint::{Fingerprint, Keys};
pub use prompt::{Completes, Prompt, PromptArgument, PromptMessage, Role};
use section::Section;
pub use section::{Environment, Problem};
pub use server::{Listen, Proxies, Server};
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
    /// `[[connections]]`, in the order of the file.
    pub connections: Vec<Connection>,
    /// Tells what has changed when the file is read again.
    pub keys: Keys,
}

/// Where users, tokens, service accounts and keys are kept.
#[derive(Clone, Debug)]
pub struct Store {
    /// The SQLite file.
    pub path: PathBuf,
}

/// How tokens are issued.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// How long an access token is valid.
    pub lifetime: Duration,
}

impl Tokens {
    /// How long an access token is valid, unless configured.
    pub const DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);
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
        let mut root = Section::root(&text, parsed.get_ref(), &environment::lookup);
        Ok(store(&mut root, path.parent().unwrap_or(Path::new("")), &mut problems).path)
    }

    /// Reads a configuration from `text`. Relative paths in it start at `base`.
    ///
    /// # Errors
    /// Every problem of the text, each with its line, key and remedy.
    pub fn parse(text: &str, base: &Path, environment: Environment<'_>) -> Result<Self, Problems> {
        let parsed = syntax(text)?;
        let keys = Keys::of(text, parsed.get_ref(), environment);
        let mut problems = Vec::new();
        let mut root = Section::root(text, parsed.get_ref(), environment);
        let server = server::read(&mut root, base, &mut problems);
        let store = store(&mut root, base, &mut problems);
        let tokens = tokens(&mut root, &mut problems);
        let connections = connection::read_all(&mut root, base, &mut problems);
        root.finish(&mut problems);
        if problems.is_empty() {
            Ok(Self { server, store, tokens, connections, keys })
        } else {
            problems.sort_by_key(|problem| problem.line);
            Err(Problems(problems))
        }
    }

    /// The connection named `name`, as the command line addresses it.
    pub fn connection(&self, name: &str) -> Option<&Connection> {
        self.connections.iter().find(|connection| connection.name.eq_ignore_ascii_case(name))
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
        let line = error.span().map_or(0, |span| section::line_of(text, span.start));
        Problems(vec![Problem::new(line, "", error.message().to_owned(), "mend the TOML syntax on this line")])
    })
}

fn store(root: &mut Section<'_>, base: &Path, problems: &mut Vec<Problem>) -> Store {
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
    section.finish(problems);
    Store { path: base.join(path) }
}

fn tokens(root: &mut Section<'_>, problems: &mut Vec<Problem>) -> Tokens {
    let mut section = root.section("tokens", problems);
    let lifetime = section.integer("lifetime", 60..=86_400, problems);
    section.finish(problems);
    Tokens { lifetime: lifetime.map_or(Tokens::DEFAULT_LIFETIME, Duration::from_secs) }
}
