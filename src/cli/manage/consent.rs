//! `portico consent list|revoke`: consents of people to applications.

use clap::Subcommand;
use serde_json::json;
use uuid::Uuid;

use crate::cli::common::{Common, Failure, StoreUse, describe_rights, open_store};
use crate::cli::output::timestamp_or;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConsentCommand {
    /// List what people have allowed applications.
    List {
        /// The e-mail address of one user.
        #[arg(long, value_name = "EMAIL")]
        user: Option<String>,
    },
    /// Take back what somebody has allowed an application.
    Revoke {
        /// Its id, as `consent list` shows it.
        #[arg(value_parser = parse_id)]
        id: Uuid,
    },
}

/// Reads the id of a consent.
fn parse_id(text: &str) -> Result<Uuid, String> {
    text.parse().map_err(|_| "this is no id of a consent; `portico consent list` shows what there is".to_owned())
}

pub(in crate::cli) fn run(command: ConsentCommand, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(
        common,
        if matches!(command, ConsentCommand::List { .. }) { StoreUse::Reads } else { StoreUse::Changes },
    )?;
    match command {
        ConsentCommand::List { user } => {
            let header = ["ID", "EMAIL", "APPLICATION", "CLIENT ID", "SCOPE", "CONNECTIONS", "USED", "EXPIRES"];
            common.list(&store.consents(user.as_deref())?, header, |consent| {
                [
                    consent.id.to_string(),
                    consent.email.clone(),
                    consent.client_name.clone(),
                    consent.client_id.clone(),
                    consent.rights.widest().as_str().to_owned(),
                    describe_rights(&config, &consent.rights),
                    timestamp_or(consent.used_at, "never"),
                    consent.expires_at.to_string(),
                ]
            });
        }
        ConsentCommand::Revoke { id } => {
            store.revoke_consent(id)?;
            let words = format_args!("{id} is taken back; what the application holds opens nothing any more");
            common.print(&json!({"id": id, "revoked": true}), words);
        }
    }
    Ok(())
}
