//! `portico user add|list|change|password|sign-out|disable|enable|remove`.

use clap::{ArgGroup, Args, Subcommand};
use portico_actors::auth::records::{NewUser, RefusedSubject, User as Record};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::principal::Scope;
use secrecy::SecretString;
use serde::Serialize;

use crate::cli::common::{Common, Failure, ReachArgs, StoreUse, describe_access, describe_rights, open_store};
use crate::cli::output::timestamp_or;
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum UserCommand {
    /// Add a user. Without --connection and --workspace, everything is within reach.
    Add {
        /// Who, and how far they go.
        #[command(flatten)]
        rights: RightsArgs,
        /// Reads a password for the sign-in page from the first line of standard input.
        #[arg(long)]
        password: bool,
    },
    /// List the users.
    List,
    /// Give a user exactly these rights instead of the ones they have, also for their tokens.
    Change(ChangeArgs),
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
    Disable(CallerArgs),
    /// Let a disabled user in again.
    Enable(CallerArgs),
    /// Remove a user with all tokens.
    Remove {
        /// The user's e-mail address.
        email: String,
    },
}

#[derive(Args, Debug)]
pub(in crate::cli) struct CallerArgs {
    /// The user's e-mail address, or the subject of another issuer as ISSUER#SUB.
    email: String,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct RightsArgs {
    /// The user's e-mail address.
    email: String,
    /// May administer the service.
    #[arg(long, conflicts_with = "read_only")]
    admin: bool,
    /// What is within reach.
    #[command(flatten)]
    within: ReachArgs,
    /// May only read.
    #[arg(long)]
    read_only: bool,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("reach").args(["connections", "workspaces", "all"]).required(true).multiple(true))]
pub(in crate::cli) struct ChangeArgs {
    /// Who, and how far they go from now on.
    #[command(flatten)]
    rights: RightsArgs,
    /// Every connection and workspace, also what is added later, in the place of some.
    #[arg(long, conflicts_with_all = ["connections", "workspaces"])]
    all: bool,
}

impl RightsArgs {
    fn read(self, config: &Config) -> Result<NewUser, Failure> {
        let scope = match (self.admin, self.read_only) {
            (true, _) => Scope::Admin,
            (false, true) => Scope::Read,
            (false, false) => Scope::Write,
        };
        let rights = self.within.rights(config, Some(scope))?;
        if self.admin && !rights.administer() {
            return Err(Error::invalid(
                "--admin: an administrator needs at least one connection or workspace without a narrower scope",
            )
            .hint("leave out the scope of one of them, or leave out --admin")
            .into());
        }
        Ok(NewUser { email: self.email, rights })
    }
}

/// Runs the command, and prints the outcome.
pub(in crate::cli) fn run(command: UserCommand, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(
        common,
        match command {
            UserCommand::List => StoreUse::Reads,
            UserCommand::Add { .. } => StoreUse::Begins,
            _ => StoreUse::Changes,
        },
    )?;
    match command {
        UserCommand::Add { rights, password } => {
            let password = if password { Some(read_password()?) } else { None };
            let user = add(&mut store, rights.read(&config)?, password.as_ref())?;
            common.print(&user, format_args!("added {}; now: portico pat create {}", user.email, user.email));
        }
        UserCommand::List => list(&store, &config, common)?,
        UserCommand::Change(ChangeArgs { rights, all: _ }) => {
            let user = store.change_user(rights.read(&config)?)?;
            let access = describe_access(&config, &user.rights);
            common.print(&user, format_args!("{} has the scope {access}", user.email));
        }
        UserCommand::Password { email, remove } => {
            let password = if remove { None } else { Some(read_password()?) };
            let user = store.change_password(&email, password.as_ref())?;
            let what = if remove { "has no password any more" } else { "has a new password" };
            common.print(&user, format_args!("{} {what}", user.email));
        }
        UserCommand::SignOut { email, all } => {
            let ended = store.sign_out_user(&email, all)?;
            common.print(
                &ended,
                format_args!(
                    "{} is signed out: {} sessions, {} applications and {} tokens have ended",
                    ended.email, ended.sessions, ended.grants, ended.tokens
                ),
            );
        }
        UserCommand::Disable(CallerArgs { email }) if is_foreign(&email) => {
            check_issuer(&config, &email)?;
            let refused = store.disable_subject(&email)?;
            common.print(&refused, format_args!("{} {REFUSED}", refused.subject));
        }
        UserCommand::Disable(CallerArgs { email }) => {
            let user = store.disable_user(&email)?;
            common.print(&user, format_args!("{} {REFUSED}", user.email));
        }
        UserCommand::Enable(CallerArgs { email }) if is_foreign(&email) => {
            let enabled = store.enable_subject(&email)?;
            common.print(&enabled, format_args!("{} {LET_IN}", enabled.subject));
        }
        UserCommand::Enable(CallerArgs { email }) => {
            let user = store.enable_user(&email)?;
            common.print(&user, format_args!("{} {LET_IN}", user.email));
        }
        UserCommand::Remove { email } => {
            let user = store.remove_user(&email)?;
            common.print(&user, format_args!("removed {} and all their tokens", user.email));
        }
    }
    Ok(())
}

/// Adds a user, with a password if one is given: both or neither.
fn add(store: &mut Store, new: NewUser, password: Option<&SecretString>) -> Result<Record, Error> {
    let user = store.add_user(new)?;
    if password.is_none() {
        return Ok(user);
    }
    let changed = store.change_password(&user.email, password);
    if changed.is_err() {
        store.remove_user(&user.email)?;
    }
    changed
}

/// Lists the users, and the refused subjects of other issuers.
fn list(store: &Store, config: &Config, common: &Common) -> Result<(), Error> {
    let users = store.users()?.into_iter().map(Listed::User);
    let refused = store.refused_subjects()?.into_iter().map(Listed::Subject);
    let listed: Vec<Listed> = users.chain(refused).collect();
    common.list(&listed, ["EMAIL", "SCOPE", "CONNECTIONS", "DISABLED"], |listed| match listed {
        Listed::User(user) => {
            let scope = user.rights.widest().as_str().to_owned();
            let disabled = timestamp_or(user.disabled_at, "-");
            [user.email.clone(), scope, describe_rights(config, &user.rights), disabled]
        }
        Listed::Subject(refused) => {
            [refused.subject.clone(), "-".to_owned(), "-".to_owned(), refused.disabled_at.to_string()]
        }
    });
    Ok(())
}

/// The outcome for a user, or for the subject of another issuer.
const REFUSED: &str = "is refused from now on, with all their tokens";
const LET_IN: &str = "is let in again";

/// Who is listed: a user, or the subject of another issuer who is refused.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    User(Record),
    Subject(RefusedSubject),
}

/// Whether this names a subject of another issuer: no address has a colon.
fn is_foreign(name: &str) -> bool {
    name.contains("://")
}

/// Refuses the subject of an issuer that is not trusted here: it has no access anyway.
fn check_issuer(config: &Config, subject: &str) -> Result<(), Error> {
    let known = |issuer: &str| subject.strip_prefix(issuer).is_some_and(|rest| rest.starts_with('#'));
    if config.issuers.iter().any(|trusted| known(&trusted.issuer)) {
        return Ok(());
    }
    let names: Vec<_> = config.issuers.iter().map(|trusted| trusted.issuer.as_str()).collect();
    let hint = if names.is_empty() {
        "add the issuer to [[issuers]]: none is configured".to_owned()
    } else {
        format!("write ISSUER#SUB with one of {}", names.join(", "))
    };
    Err(Error::not_found("this is not a subject of an issuer that is trusted here").hint(hint))
}

/// Reads the first line of standard input, without its end: a password on the command line would be visible in the
/// process list.
fn read_password() -> Result<SecretString, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Failure::io("the password cannot be read from standard input", error))?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(SecretString::from(line))
}
