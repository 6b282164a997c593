//! `portico user add|list|password|disable|enable|remove`.

use clap::Subcommand;
use portico_actors::auth::records::{NewUser, User as Record};
use portico_actors::principal::Scope;
use secrecy::SecretString;
use serde_json::json;

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
        /// Reads a password for the sign-in page from the first line of standard input.
        #[arg(long)]
        password: bool,
    },
    /// List the users.
    List,
    /// Give a user another password, read from the first line of standard input; ends their sessions.
    Password {
        /// The user's e-mail address.
        email: String,
        /// Take the password away instead.
        #[arg(long)]
        remove: bool,
    },
    /// Refuse a user until they are enabled again: every token, and every session.
    Disable {
        /// The user's e-mail address.
        email: String,
    },
    /// Take a user back who was disabled.
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

pub(super) fn run(command: User, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(common)?;
    match command {
        User::Add { email, admin, connections, read_only, password } => {
            let scope = match (admin, read_only) {
                (true, _) => Scope::Admin,
                (false, true) => Scope::Read,
                (false, false) => Scope::Write,
            };
            let reach = reach(&config, &connections)?;
            let password = if password { Some(read_password()?) } else { None };
            let mut user = store.add_user(NewUser { email, admin, reach, scope })?;
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
                        let state = if user.disabled_at.is_some() { "disabled" } else { "enabled" };
                        let reach = describe_reach(&config, &user.reach);
                        vec![user.email.clone(), user.scope.word().to_owned(), reach, state.to_owned()]
                    })
                    .collect();
                print_table(&["EMAIL", "SCOPE", "CONNECTIONS", "STATE"], &rows);
            }
        }
        User::Password { email, remove } => {
            let password = if remove { None } else { Some(read_password()?) };
            let user = store.change_password(&email, password.as_ref())?;
            say(&user, if remove { "has no password any more" } else { "has a new password" }, common);
        }
        User::Disable { email } => say(&store.disable_user(&email)?, "is disabled", common),
        User::Enable { email } => say(&store.enable_user(&email)?, "is enabled", common),
        User::Remove { email } => {
            let user = store.remove_user(&email)?;
            if common.json {
                print_json(&json!(user));
            } else {
                println!("removed {} and all their tokens", user.email);
            }
        }
    }
    Ok(())
}

fn say(user: &Record, what: &str, common: &Common) {
    if common.json {
        print_json(&json!(user));
    } else {
        println!("{} {what}", user.email);
    }
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
