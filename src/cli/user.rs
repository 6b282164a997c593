//! `portico user add|list|change|password|sign-out|disable|enable|remove`.

use clap::{Args, Subcommand};
use portico_actors::auth::records::{NewUser, RefusedSubject, User as Record};
use portico_actors::error::Error;
use portico_actors::principal::Scope;
use secrecy::SecretString;
use serde_json::json;

use super::common::{Common, Failure, describe_rights, open_store, rights};
use super::output::{print_json, print_table, say};
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
    /// Give a user another password, read from the first line of standard input; ends their sessions, and
    /// what they have allowed applications.
    Password {
        /// The user's e-mail address.
        email: String,
        /// Take the password away instead.
        #[arg(long)]
        remove: bool,
    },
    /// End every session of a user, and what they have allowed applications.
    SignOut {
        /// The user's e-mail address.
        email: String,
        /// Revoke their personal access tokens too.
        #[arg(long)]
        all: bool,
    },
    /// Refuse a user and their tokens until they are enabled again; ends their sessions, and what they have
    /// allowed applications, for good.
    Disable {
        /// The user's e-mail address, or the subject of another issuer as ISSUER#SUB.
        email: String,
    },
    /// Let a disabled user in again.
    Enable {
        /// The user's e-mail address, or the subject of another issuer as ISSUER#SUB.
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
    let (config, mut store) = open_store(common, matches!(command, User::List))?;
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
            let (users, refused) = (store.users()?, store.refused_subjects()?);
            if common.json {
                print_json(&users.iter().map(|user| json!(user)).chain(refused.iter().map(|it| json!(it))).collect());
            } else {
                let mut rows: Vec<Vec<String>> = users
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
                rows.extend(refused.into_iter().map(|refused| {
                    vec![refused.subject, "-".to_owned(), "-".to_owned(), refused.disabled_at.to_string()]
                }));
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
        User::SignOut { email, all } => {
            let ended = store.sign_out_user(&email, all)?;
            if common.json {
                print_json(&json!(ended));
            } else {
                say(format_args!(
                    "{} is signed out: {} sessions, {} applications and {} tokens have ended",
                    ended.email, ended.sessions, ended.grants, ended.tokens
                ));
            }
        }
        User::Disable { email } if is_foreign(&email) => {
            check_issuer(&config, &email)?;
            let refused = store.disable_subject(&email)?;
            tell_subject(common, &refused, "is refused from now on, with all their tokens");
        }
        User::Enable { email } if is_foreign(&email) => {
            let enabled = store.enable_subject(&email)?;
            tell_subject(common, &enabled, "is let in again");
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

/// Whether this names a subject of another issuer: no address has a colon.
fn is_foreign(name: &str) -> bool {
    name.contains("://")
}

/// Refuses the subject of an issuer that nobody trusts here: it opens nothing anyway.
fn check_issuer(config: &Config, subject: &str) -> Result<(), Error> {
    let known = |issuer: &str| subject.strip_prefix(issuer).is_some_and(|rest| rest.starts_with('#'));
    if config.issuers.iter().any(|trusted| known(&trusted.issuer)) {
        return Ok(());
    }
    let names: Vec<_> = config.issuers.iter().map(|trusted| trusted.issuer.as_str()).collect();
    let hint = if names.is_empty() {
        "no [[issuers]] are configured".to_owned()
    } else {
        format!("write ISSUER#SUB with one of {}", names.join(", "))
    };
    Err(Error::not_found("this is no subject of an issuer that is trusted here").hint(hint))
}

fn tell_subject(common: &Common, subject: &RefusedSubject, words: &str) {
    if common.json {
        print_json(&json!(subject));
    } else {
        say(format_args!("{} {words}", subject.subject));
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
