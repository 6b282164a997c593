//! `portico client add|list|remove`.

use clap::Subcommand;
use portico_actors::auth::oauth::client::NewClient;
use secrecy::ExposeSecret;

use crate::cli::common::{Common, Failure, StoreUse, open_store};
use crate::cli::output::{SHOWN_ONCE, timestamp_or};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ClientCommand {
    /// Register an application that may ask people for access.
    Add {
        /// A name; people see it when they are asked.
        name: String,
        /// Where answers may be sent; may be repeated. The port of a loopback address may vary.
        #[arg(long = "redirect-uri", value_name = "URI", required = true)]
        redirect_uris: Vec<String>,
        /// Give it a secret, which only a program on a server can keep; it is shown only this once.
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

pub(in crate::cli) fn run(command: ClientCommand, common: &Common) -> Result<(), Failure> {
    let (_, mut store) = open_store(
        common,
        match command {
            ClientCommand::List => StoreUse::Reads,
            ClientCommand::Add { .. } => StoreUse::Begins,
            ClientCommand::Remove { .. } => StoreUse::Changes,
        },
    )?;
    match command {
        ClientCommand::Add { name, redirect_uris, confidential } => {
            let (client, secret) = store.add_client(&NewClient { name, redirect_uris, confidential })?;
            let id = format!("client id      {}", client.client_id);
            match &secret {
                None => common.print(&client, id),
                Some(secret) => {
                    let words = format_args!("{id}\nclient secret  {}", secret.expose_secret());
                    common.print_secret(&client, ("clientSecret", secret), words, SHOWN_ONCE);
                }
            }
        }
        ClientCommand::List => {
            common.list(&store.clients()?, ["NAME", "CLIENT ID", "KIND", "USED", "REDIRECT URIS"], |client| {
                let (kind, uris) = (client.kind.as_str().to_owned(), client.redirect_uris.join(" "));
                [client.name.clone(), client.client_id.clone(), kind, timestamp_or(client.used_at, "never"), uris]
            });
        }
        ClientCommand::Remove { client } => {
            let client = store.remove_client(&client)?;
            common.print(&client, format_args!("removed {} and everything that people gave it", client.name));
        }
    }
    Ok(())
}
