//! `portico service-account create|list|rotate|remove`.

use clap::Subcommand;
use portico_actors::auth::records::{NewServiceAccount, ServiceAccount as Account};
use portico_actors::principal::{Reach, Scope};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::audit::changed;
use super::{Common, Failure, connections, describe_reach, open_store, parse_scope, print_json, print_table};

#[derive(Debug, Subcommand)]
pub(super) enum ServiceAccount {
    /// Create a service account and show its secret, this once.
    Create {
        /// A name for listings.
        name: String,
        /// A connection within reach; may be repeated.
        #[arg(long = "connection", value_name = "NAME", required = true)]
        connections: Vec<String>,
        /// How far it may go: read, write or admin.
        #[arg(long, value_parser = parse_scope, default_value = "read")]
        scope: Scope,
    },
    /// List the service accounts.
    List,
    /// Replace the secret and show the new one, this once.
    Rotate {
        /// The account's name or client id.
        account: String,
    },
    /// Remove a service account: the next request with its tokens is refused.
    Remove {
        /// The account's name or client id.
        account: String,
    },
}

pub(super) fn run(command: ServiceAccount, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    match command {
        ServiceAccount::Create { name, connections: names, scope } => {
            let connections = connections(&config, &names)?.to_vec();
            let (account, secret) = store.create_service_account(NewServiceAccount { name, connections, scope })?;
            let recorded = changed(&config, "service-account create", json!(account));
            show(&account, &secret, common);
            recorded?;
        }
        ServiceAccount::List => {
            let accounts = store.service_accounts()?;
            if common.json {
                print_json(&json!(accounts));
            } else {
                let rows: Vec<Vec<String>> = accounts
                    .iter()
                    .map(|account| {
                        vec![
                            account.name.clone(),
                            account.client_id.clone(),
                            account.scope.word().to_owned(),
                            describe_reach(&config, &Reach::Only(account.connections.clone().into())),
                        ]
                    })
                    .collect();
                print_table(&["NAME", "CLIENT ID", "SCOPE", "CONNECTIONS"], &rows);
            }
        }
        ServiceAccount::Rotate { account } => {
            let (account, secret) = store.rotate_service_account(&account)?;
            let recorded = changed(&config, "service-account rotate", json!(account));
            show(&account, &secret, common);
            recorded?;
        }
        ServiceAccount::Remove { account } => {
            let account = store.remove_service_account(&account)?;
            changed(&config, "service-account remove", json!(account))?;
            if common.json {
                print_json(&json!(account));
            } else {
                println!("removed {}", account.name);
            }
        }
    }
    Ok(())
}

fn show(account: &Account, secret: &SecretString, common: &Common) {
    if common.json {
        let mut value = json!(account);
        value["clientSecret"] = secret.expose_secret().into();
        print_json(&value);
    } else {
        println!("client id      {}\nclient secret  {}", account.client_id, secret.expose_secret());
        eprintln!("The secret is not shown again.");
    }
}
