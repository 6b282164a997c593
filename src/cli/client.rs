//! `portico client add|list|remove`.

use clap::Subcommand;
use portico_actors::auth::oauth::client::NewClient;
use secrecy::ExposeSecret;
use serde_json::json;

use super::common::{Common, Failure, open_store};
use super::output::{print_json, print_table, say};

#[derive(Debug, Subcommand)]
pub(super) enum Client {
    /// Register an application that may ask people for access.
    Add {
        /// A name; people see it when they are asked.
        name: String,
        /// Where answers may be sent; may be repeated. The port of a loopback address may vary.
        #[arg(long = "redirect-uri", value_name = "URI", required = true)]
        redirect_uris: Vec<String>,
        /// Give it a secret, which only a program on a server can keep; it is shown this once.
        #[arg(long)]
        confidential: bool,
    },
    /// List the applications, also those that registered themselves, or are found at their own address and
    /// were given something.
    List,
    /// Remove an application, and everything that people gave it.
    Remove {
        /// Its name or client id; the address, where it is found at its own.
        client: String,
    },
}

pub(super) fn run(command: Client, common: &Common) -> Result<(), Failure> {
    let (_, mut store) = open_store(common, matches!(command, Client::List))?;
    match command {
        Client::Add { name, redirect_uris, confidential } => {
            let (client, secret) = store.add_client(&NewClient { name, redirect_uris, confidential })?;
            if common.json {
                let mut value = json!(client);
                if let Some(secret) = &secret {
                    value["clientSecret"] = secret.expose_secret().into();
                }
                print_json(&value);
            } else {
                say(format_args!("client id      {}", client.client_id));
                if let Some(secret) = &secret {
                    say(format_args!("client secret  {}", secret.expose_secret()));
                    eprintln!("The secret is not shown again.");
                }
            }
        }
        Client::List => {
            let clients = store.clients()?;
            if common.json {
                print_json(&json!(clients));
            } else {
                let rows: Vec<Vec<String>> = clients
                    .iter()
                    .map(|client| {
                        let used = client.used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
                        let (kind, uris) = (client.kind.word().to_owned(), client.redirect_uris.join(" "));
                        vec![client.name.clone(), client.client_id.clone(), kind, used, uris]
                    })
                    .collect();
                print_table(&["NAME", "CLIENT ID", "KIND", "USED", "REDIRECT URIS"], &rows);
            }
        }
        Client::Remove { client } => {
            let client = store.remove_client(&client)?;
            if common.json {
                print_json(&json!(client));
            } else {
                say(format_args!("removed {} and everything that people gave it", client.name));
            }
        }
    }
    Ok(())
}
