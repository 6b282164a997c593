//! `portico key list|rotate`.

use clap::Subcommand;
use portico_actors::auth::Algorithm;
use portico_actors::auth::clock::{Clock, Timestamp};
use portico_actors::auth::records::Key as Record;
use serde_json::{Value, json};

use super::common::{Common, Failure, open_store};
use super::output::{print_json, print_table, say};
use crate::config::Tokens;

#[derive(Debug, Subcommand)]
pub(super) enum Key {
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

pub(super) fn run(command: Key, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common, matches!(command, Key::List))?;
    let now = Clock::system().now().time();
    match command {
        Key::List => {
            let keys = store.keys()?;
            if common.json {
                print_json(&keys.iter().map(|key| described(key, &config.tokens, now)).collect());
            } else {
                let rows: Vec<Vec<String>> = keys
                    .iter()
                    .map(|key| {
                        let state = match (state(key, &config.tokens, now), verifies_until(key, &config.tokens)) {
                            ("verifies", Some(until)) => format!("verifies until {until}"),
                            (state, _) => state.to_owned(),
                        };
                        vec![key.kid.clone(), key.algorithm.to_owned(), key.created_at.to_string(), state]
                    })
                    .collect();
                print_table(&["KID", "ALGORITHM", "CREATED", "STATE"], &rows);
            }
        }
        Key::Ensure => {
            let key = store.ensure_key()?;
            if common.json {
                print_json(&described(&key, &config.tokens, now));
            } else {
                say(format_args!("{} signs, with {}", key.kid, key.algorithm));
            }
        }
        Key::Rotate { algorithm, compromised } => {
            let ended = match compromised {
                None => store.rotate_key(algorithm).map(|_| None)?,
                Some(kid) => Some(store.end_key(Some(kid.as_str()).filter(|kid| !kid.is_empty()), algorithm)?),
            };
            let key = store.ensure_key()?;
            if common.json {
                let mut described = described(&key, &config.tokens, now);
                described["ended"] = json!(ended.map(|ended| ended.kid));
                print_json(&described);
            } else {
                if let Some(ended) = ended {
                    say(format_args!("nothing that {} signed is taken any more", ended.kid));
                }
                say(format_args!("{} signs from now on, with {}", key.kid, key.algorithm));
            }
            if !store.wipe()? {
                eprintln!(
                    "portico: somebody is reading the store: until the service stops, its log may still have the \
                     private part of the key before"
                );
            }
        }
    }
    Ok(())
}

fn parse_algorithm(word: &str) -> Result<Algorithm, String> {
    Algorithm::from_word(word).ok_or_else(|| "write EdDSA, ES256 or RS256".to_owned())
}

/// Until when what the key signed is taken; `None` while it signs.
fn verifies_until(key: &Record, tokens: &Tokens) -> Option<Timestamp> {
    key.retired_at.map(|retired| retired.after(tokens.lifetime).after(tokens.clock_skew))
}

fn state(key: &Record, tokens: &Tokens, now: Timestamp) -> &'static str {
    match verifies_until(key, tokens) {
        None => "signs",
        Some(until) if now < until => "verifies",
        Some(_) => "expired",
    }
}

fn described(key: &Record, tokens: &Tokens, now: Timestamp) -> Value {
    let mut value = json!(key);
    value["state"] = state(key, tokens, now).into();
    value["verifiesUntil"] = json!(verifies_until(key, tokens));
    value
}
