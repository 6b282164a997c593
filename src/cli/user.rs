//! `portico user add|list|change|disable|enable|remove`.

use clap::{Args, Subcommand};
use portico_actors::auth::records::{NewUser, User as Record};
use portico_actors::principal::Scope;
use serde_json::json;

use super::{Common, Failure, describe_reach, open_store, print_json, print_table, reach};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum User {
    /// Add a user. Without --connection, every connection is within reach.
    Add(Rights),
    /// List the users.
    List,
    /// Give a user exactly these rights instead of the ones they have, also for their tokens.
    Change(Rights),
    /// Refuse a user and all their tokens until they are enabled again.
    Disable {
        /// The user's e-mail address.
        email: String,
    },
    /// Let a disabled user in again.
    Enable {
        /// The user's e-mail address.
        email: String,
    },
    /// Remove a user with all tokens.
    Remove {
        /// The user's e-mail address.
        email: String,
    },
}

#[derive(Args, Debug)]
pub(super) struct Rights {
    /// The user's e-mail address.
    email: String,
    /// May administer the service.
    #[arg(long, conflicts_with = "read_only")]
    admin: bool,
    /// A connection within reach, or NAME:read for one that may only be read; may be repeated.
    #[arg(long = "connection", value_name = "NAME[:SCOPE]")]
    connections: Vec<String>,
    /// May only read.
    #[arg(long)]
    read_only: bool,
}

impl Rights {
    fn read(self, config: &Config) -> Result<NewUser, Failure> {
        let scope = match (self.admin, self.read_only) {
            (true, _) => Scope::Admin,
            (false, true) => Scope::Read,
            (false, false) => Scope::Write,
        };
        let reach = reach(config, &self.connections, Some(scope))?;
        Ok(NewUser { email: self.email, admin: self.admin, reach, scope })
    }
}

pub(super) fn run(command: User, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    let tell = |user: &Record, words: &str| {
        if common.json {
            print_json(&json!(user));
        } else {
            println!("{words}");
        }
    };
    match command {
        User::Add(rights) => {
            let user = store.add_user(rights.read(&config)?)?;
            tell(&user, &format!("added {}; now: portico pat create {}", user.email, user.email));
        }
        User::List => {
            let users = store.users()?;
            if common.json {
                print_json(&json!(users));
            } else {
                let rows: Vec<Vec<String>> = users
                    .iter()
                    .map(|user| {
                        vec![
                            user.email.clone(),
                            user.scope.word().to_owned(),
                            describe_reach(&config, &user.reach),
                            user.disabled_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
                        ]
                    })
                    .collect();
                print_table(&["EMAIL", "SCOPE", "CONNECTIONS", "DISABLED"], &rows);
            }
        }
        User::Change(rights) => {
            let user = store.change_user(rights.read(&config)?)?;
            let (scope, reach) = (user.scope.word(), describe_reach(&config, &user.reach));
            tell(&user, &format!("{} has the scope {scope} on {reach}", user.email));
        }
        User::Disable { email } => {
            let user = store.disable_user(&email)?;
            tell(&user, &format!("{} is refused from now on, with all their tokens", user.email));
        }
        User::Enable { email } => {
            let user = store.enable_user(&email)?;
            tell(&user, &format!("{} is let in again", user.email));
        }
        User::Remove { email } => {
            let user = store.remove_user(&email)?;
            tell(&user, &format!("removed {} and all their tokens", user.email));
        }
    }
    Ok(())
}
