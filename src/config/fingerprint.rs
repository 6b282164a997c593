//! Tells which keys of the file are other than they were when it was last read, without keeping
//! any value. What follows from a change is decided by whoever asks.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use toml::de::{DeTable, DeValue};

use super::environment::{Environment, resolve};
use super::problem::{Lines, Problem};

/// Keys that take effect at a reload. Each other key outside `[[connections]]` takes a restart: one
/// that is new here is refused until it is known what becomes of it.
const RELOADED: [&str; 20] = [
    "defaults.start",
    "defaults.idle_timeout",
    "defaults.pool_per_principal",
    "defaults.reader_timeout",
    "server.allowed_hosts",
    "server.allowed_origins",
    "server.forwarded_header",
    "server.max_body",
    "server.max_streams",
    "server.metrics",
    "server.server_timing",
    "server.compression",
    "server.shutdown_timeout",
    "server.trusted_proxies",
    "server.tls.certificate",
    "server.tls.key",
    "server.tls.client_ca",
    "tokens.lifetime",
    "oauth.client_documents",
    "oauth.dynamic_registration",
];

/// Keys of a connection that its actor does not need: what changes there concerns no call that runs.
const OFFERED: [&str; 5] = ["max_rows", "max_bytes", "tools", "disabled", "prompts"];

/// A digest of each key outside `[[connections]]`, with its line.
#[derive(Clone, Debug, Default)]
pub struct Keys(BTreeMap<String, (u64, usize)>);

impl Keys {
    /// Of the whole file.
    pub(super) fn of(lines: &Lines, root: &DeTable<'_>, environment: Environment<'_>) -> Self {
        let mut keys = Self::default();
        for (name, value) in root {
            let name: &str = name.get_ref();
            if name != "connections" {
                keys.gather(name.to_owned(), value, lines, environment);
            }
        }
        keys
    }

    fn gather(
        &mut self,
        path: String,
        value: &toml::Spanned<DeValue<'_>>,
        lines: &Lines,
        environment: Environment<'_>,
    ) {
        if let DeValue::Table(table) = value.get_ref() {
            for (name, value) in table {
                let name: &str = name.get_ref();
                self.gather(format!("{path}.{name}"), value, lines, environment);
            }
        } else {
            self.0.insert(path, (digest(value.get_ref(), environment), lines.at(value.span().start)));
        }
    }

    /// The keys that cannot take effect while the service runs with `running`.
    pub(super) fn refused(&self, running: &Self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let all = self.0.keys().chain(running.0.keys().filter(|key| !self.0.contains_key(*key)));
        for key in all {
            let (now, before) = (self.0.get(key), running.0.get(key));
            let same = now.map(|now| now.0) == before.map(|before| before.0);
            // Whether there is TLS at all belongs to the listener.
            let switched = key.starts_with("server.tls.") && now.is_some() != before.is_some();
            if !same && (switched || !RELOADED.contains(&key.as_str())) {
                problems.push(Problem::new(
                    now.map_or(0, |now| now.1),
                    key,
                    "this cannot change while the service runs".to_owned(),
                    "restart the service for it, or take the change back; nothing of this file is in force yet",
                ));
            }
        }
        problems
    }
}

/// What a `[[connections]]` table says, as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fingerprint {
    /// The line where the table begins; 0 when it comes from no file.
    pub line: usize,
    /// Everything that the connection's actor and its source are started with.
    pub source: u64,
    /// The rest: what is offered to callers.
    pub offer: u64,
}

impl Fingerprint {
    /// What is the same as long as the table says the same.
    pub fn contents(&self) -> (u64, u64) {
        (self.source, self.offer)
    }

    pub(super) fn of(table: &DeTable<'_>, line: usize, environment: Environment<'_>) -> Self {
        let (mut source, mut offer) = (DefaultHasher::new(), DefaultHasher::new());
        for (name, value) in table {
            let name: &str = name.get_ref();
            let hasher = if OFFERED.contains(&name) { &mut offer } else { &mut source };
            name.hash(hasher);
            hash(value.get_ref(), environment, hasher);
        }
        Self { line, source: source.finish(), offer: offer.finish() }
    }

    /// With what the actor is started with and another table says.
    pub(super) fn and(self, more: impl Hash) -> Self {
        let mut source = DefaultHasher::new();
        (self.source, more).hash(&mut source);
        Self { source: source.finish(), ..self }
    }
}

fn digest(value: &DeValue<'_>, environment: Environment<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(value, environment, &mut hasher);
    hasher.finish()
}

/// What a text stands for counts: a secret can change while the file does not.
fn hash(value: &DeValue<'_>, environment: Environment<'_>, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        DeValue::String(text) => resolve(text, environment).0.hash(hasher),
        DeValue::Integer(number) => (number.as_str(), number.radix()).hash(hasher),
        DeValue::Float(number) => number.as_str().hash(hasher),
        DeValue::Boolean(value) => value.hash(hasher),
        DeValue::Datetime(moment) => moment.to_string().hash(hasher),
        DeValue::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash(item.get_ref(), environment, hasher);
            }
        }
        DeValue::Table(table) => {
            table.len().hash(hasher);
            for (name, value) in table {
                let name: &str = name.get_ref();
                name.hash(hasher);
                hash(value.get_ref(), environment, hasher);
            }
        }
    }
}
