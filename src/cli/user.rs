//! `portico user add|list|change|password|disable|enable|remove`.

use clap::{Args, Subcommand};
use portico_actors::auth::records::{NewUser, User as Record};
use portico_actors::error::Error;
use portico_actors::principal::Scope;
use secrecy::SecretString;
use serde_json::json;

use super::{Common, Failure, describe_rights, open_store, print_json, print_table, rights, say};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum User {
    /// Add a user. Without --connection, every connection is within reach.
    Add {
        /// Who, and how far they go.
        #[command(flatten)]
        rights: Rights,
        /// Reads a password for the sign-in page from the first line of standard input.
        #[arg(long)]
        password: bool,
    },
    /// List the users.
    List,
    /// Give a user exactly these rights instead of the ones they have, also for their tokens.
    Change(Rights),
    /// Give a user another password, read from the first line of standard input; ends their sessions.
    Password {
        /// The user's e-mail address.
        email: String,
        /// Take the password away instead.
        #[arg(long)]
        remove: bool,
    },
    /// Refuse a user, every token and every session of theirs, until they are enabled again.
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
        let rights = rights(config, &self.connections, Some(scope))?;
        if self.admin && !rights.administer() {
            return Err(Error::invalid(
                "--admin: an administrator needs one connection at least without a narrower scope",
            )
            .hint("leave out the scope of one --connection, or leave out --admin")
            .into());
        }
        Ok(NewUser { email: self.email, rights })
    }
}

pub(super) fn run(command: User, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    let tell = |user: &Record, words: &str| {
        if common.json {
            print_json(&json!(user));
        } else {
            say(words);
        }
    };
    match command {
        User::Add { rights, password } => {
            let password = if password { Some(read_password()?) } else { None };
            let mut user = store.add_user(rights.read(&config)?)?;
            if let Some(password) = &password {
                match store.change_password(&user.email, Some(password)) {
                    Ok(changed) => user = changed,
                    Err(error) => {
                        // All of the command or nothing.
                        store.remove_user(&user.email)?;
                        return Err(error.into());
                    }
                }
            }
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
                            user.rights.widest().word().to_owned(),
                            describe_rights(&config, &user.rights),
                            user.disabled_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
                        ]
                    })
                    .collect();
                print_table(&["EMAIL", "SCOPE", "CONNECTIONS", "DISABLED"], &rows);
            }
        }
        User::Change(rights) => {
            let user = store.change_user(rights.read(&config)?)?;
            let (scope, reach) = (user.rights.widest().word(), describe_rights(&config, &user.rights));
            tell(&user, &format!("{} has the scope {scope} on {reach}", user.email));
        }
        User::Password { email, remove } => {
            let password = if remove { None } else { Some(read_password()?) };
            let user = store.change_password(&email, password.as_ref())?;
            let what = if remove { "has no password any more" } else { "has a new password" };
            tell(&user, &format!("{} {what}", user.email));
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

/// The first line of standard input, without its end: a password on the command line would be in
/// everybody's process list.
fn read_password() -> Result<SecretString, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Failure::Io("the password cannot be read from standard input".to_owned(), error))?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(SecretString::from(line))
}
