//! `portico key list|rotate`.

use clap::Subcommand;
use portico_actors::auth::Algorithm;
use portico_actors::auth::clock::{Clock, Timestamp};
use portico_actors::auth::records::Key as Record;
use serde::Serialize;
use serde_json::json;

use crate::cli::common::{Common, Failure, StoreUse, open_store};
use crate::cli::output::say;
use crate::config::Tokens;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum KeyCommand {
    /// Make the store and its signing key where there is none, or bring them to this program's format.
    Ensure,
    /// List the keys that sign access tokens, or did.
    List,
    /// Make a new key that signs from now on; older tokens stay valid until they expire.
    Rotate {
        /// What it signs with: `EdDSA`, `ES256` or `RS256`.
        #[arg(long, value_parser = parse_algorithm, default_value = "EdDSA")]
        algorithm: Algorithm,
        /// The key has leaked: nothing that it signed is taken any more. KID is one that signed before; without it,
        /// the one that signs.
        #[arg(long, value_name = "KID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
        compromised: Option<String>,
    },
}

pub(in crate::cli) fn run(command: KeyCommand, common: &Common) -> Result<(), Failure> {
    let (config, mut store) =
        open_store(common, if matches!(command, KeyCommand::List) { StoreUse::Reads } else { StoreUse::Begins })?;
    let now = Clock::system().now().time();
    let listed = |key| Listed::new(key, &config.tokens, now);
    match command {
        KeyCommand::List => {
            let keys: Vec<Listed> = store.keys()?.into_iter().map(listed).collect();
            common.list(&keys, ["KID", "ALGORITHM", "CREATED", "STATE"], |Listed { key, state, verifies_until }| {
                let state = match verifies_until.filter(|_| *state == "verifies") {
                    Some(until) => format!("verifies until {until}"),
                    None => (*state).to_owned(),
                };
                [key.kid.clone(), key.algorithm.to_owned(), key.created_at.to_string(), state]
            });
        }
        KeyCommand::Ensure => {
            let key = listed(store.ensure_key()?);
            common.print(&key, format_args!("{} signs, with {}", key.key.kid, key.key.algorithm));
        }
        KeyCommand::Rotate { algorithm, compromised } => {
            let ended = match compromised {
                None => store.rotate_key(algorithm).map(|_| None)?,
                Some(kid) => Some(store.end_key(Some(kid.as_str()).filter(|kid| !kid.is_empty()), algorithm)?),
            };
            let key = listed(store.ensure_key()?);
            let mut record = json!(key);
            record["ended"] = json!(ended.as_ref().map(|ended| &ended.kid));
            if let Some(ended) = ended.filter(|_| !common.json) {
                say(format_args!("nothing that {} signed is taken any more", ended.kid));
            }
            common.print(&record, format_args!("{} signs from now on, with {}", key.key.kid, key.key.algorithm));
            if !store.wipe()? {
                eprintln!(
                    "portico: another program is reading the store: until the service stops, its log may still have \
                     the private part of the key before"
                );
            }
        }
    }
    Ok(())
}

fn parse_algorithm(word: &str) -> Result<Algorithm, String> {
    Algorithm::parse(word).ok_or_else(|| "write EdDSA, ES256 or RS256".to_owned())
}

/// A key, and how it stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(flatten)]
    key: Record,
    state: &'static str,
    /// Until when what it signed is taken; `None` while it signs.
    verifies_until: Option<Timestamp>,
}

impl Listed {
    fn new(key: Record, tokens: &Tokens, now: Timestamp) -> Self {
        let verifies_until = key.retired_at.map(|retired| retired.after(tokens.lifetime).after(tokens.clock_skew));
        let state = match verifies_until {
            None => "signs",
            Some(until) if now < until => "verifies",
            Some(_) => "expired",
        };
        Self { key, state, verifies_until }
    }
}
