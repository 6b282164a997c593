//! `portico consent list|revoke`: what people have allowed applications.

use clap::Subcommand;
use serde_json::json;
use uuid::Uuid;

use super::common::{Common, Failure, describe_rights, open_store};
use super::output::{print_json, print_table, say};

#[derive(Debug, Subcommand)]
pub(super) enum Consent {
    /// List what people have allowed applications.
    List {
        /// The e-mail address of one user.
        #[arg(long, value_name = "EMAIL")]
        user: Option<String>,
    },
    /// Take back what somebody has allowed an application.
    Revoke {
        /// Its id, as `consent list` shows it.
        id: Uuid,
    },
}

pub(super) fn run(command: Consent, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common, matches!(command, Consent::List { .. }))?;
    match command {
        Consent::List { user } => {
            let consents = store.consents(user.as_deref())?;
            if common.json {
                print_json(&json!(consents));
            } else {
                let rows: Vec<Vec<String>> = consents
                    .into_iter()
                    .map(|consent| {
                        vec![
                            consent.id.to_string(),
                            consent.email,
                            consent.client_name,
                            consent.client_id,
                            consent.rights.widest().word().to_owned(),
                            describe_rights(&config, &consent.rights),
                            consent.used_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
                            consent.expires_at.to_string(),
                        ]
                    })
                    .collect();
                let header = ["ID", "EMAIL", "APPLICATION", "CLIENT ID", "SCOPE", "CONNECTIONS", "USED", "EXPIRES"];
                print_table(&header, &rows);
            }
        }
        Consent::Revoke { id } => {
            store.revoke_consent(id)?;
            if common.json {
                print_json(&json!({"id": id, "revoked": true}));
            } else {
                say(format_args!("{id} is taken back; what the application holds opens nothing any more"));
            }
        }
    }
    Ok(())
}
