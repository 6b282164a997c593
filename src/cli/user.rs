//! `portico user add|list|remove`.

use clap::Subcommand;
use portico_actors::auth::records::NewUser;
use portico_actors::principal::Scope;
use serde_json::json;

use super::audit::changed;
use super::{Common, Failure, describe_reach, open_store, print_json, print_table, reach};

#[derive(Debug, Subcommand)]
pub(super) enum User {
    /// Add a user. Without --connection, every connection is within reach.
    Add {
        /// The user's e-mail address.
        email: String,
        /// May administer the service.
        #[arg(long, conflicts_with = "read_only")]
        admin: bool,
        /// A connection within reach; may be repeated.
        #[arg(long = "connection", value_name = "NAME")]
        connections: Vec<String>,
        /// May only read.
        #[arg(long)]
        read_only: bool,
    },
    /// List the users.
    List,
    /// Remove a user with all tokens.
    Remove {
        /// The user's e-mail address.
        email: String,
    },
}

pub(super) fn run(command: User, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    match command {
        User::Add { email, admin, connections, read_only } => {
            let scope = match (admin, read_only) {
                (true, _) => Scope::Admin,
                (false, true) => Scope::Read,
                (false, false) => Scope::Write,
            };
            let reach = reach(&config, &connections)?;
            let user = store.add_user(NewUser { email, admin, reach, scope })?;
            changed(&config, "user add", json!(user))?;
            if common.json {
                print_json(&json!(user));
            } else {
                println!("added {}; now: portico pat create {}", user.email, user.email);
            }
        }
        User::List => {
            let users = store.users()?;
            if common.json {
                print_json(&json!(users));
            } else {
                let rows: Vec<Vec<String>> = users
                    .iter()
                    .map(|user| {
                        vec![user.email.clone(), user.scope.word().to_owned(), describe_reach(&config, &user.reach)]
                    })
                    .collect();
                print_table(&["EMAIL", "SCOPE", "CONNECTIONS"], &rows);
            }
        }
        User::Remove { email } => {
            let user = store.remove_user(&email)?;
            changed(&config, "user remove", json!(user))?;
            if common.json {
                print_json(&json!(user));
            } else {
                println!("removed {} and all their tokens", user.email);
            }
        }
    }
    Ok(())
}
