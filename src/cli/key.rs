//! `portico key list|rotate`.

use clap::Subcommand;
use serde_json::json;

use super::audit::changed;
use super::{Common, Failure, open_store, print_json, print_table};

#[derive(Debug, Subcommand)]
pub(super) enum Key {
    /// List the keys that sign access tokens, or did.
    List,
    /// Make a new key that signs from now on; older tokens stay valid until they expire.
    Rotate,
}

pub(super) fn run(command: Key, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    match command {
        Key::List => {
            let keys = store.keys()?;
            if common.json {
                print_json(&json!(keys));
            } else {
                let rows: Vec<Vec<String>> = keys
                    .iter()
                    .map(|key| {
                        let retired = key.retired_at.map_or_else(|| "signs now".to_owned(), |at| at.to_string());
                        vec![key.kid.clone(), key.algorithm.to_owned(), key.created_at.to_string(), retired]
                    })
                    .collect();
                print_table(&["KID", "ALGORITHM", "CREATED", "RETIRED"], &rows);
            }
        }
        Key::Rotate => {
            let key = store.rotate_key()?;
            changed(&config, "key rotate", json!(key))?;
            if common.json {
                print_json(&json!(key));
            } else {
                println!("{} signs from now on", key.kid);
            }
        }
    }
    Ok(())
}
