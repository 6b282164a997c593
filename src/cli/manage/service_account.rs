//! `portico service-account create|list|change|rotate|disable|enable|remove`.

use clap::{ArgGroup, Args, Subcommand};
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::{NewServiceAccount, ServiceAccount as Account};
use portico_actors::principal::Scope;
use secrecy::{ExposeSecret, SecretString};

use crate::cli::common::{
    Common, Failure, ReachArgs, StoreUse, describe_access, describe_rights, open_store, parse_scope,
};
use crate::cli::output::{SHOWN_ONCE, timestamp_or};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ServiceAccountCommand {
    /// Create a service account and show its secret, only this once.
    Create(RightsArgs),
    /// List the service accounts.
    List,
    /// Give a service account exactly these rights instead of the ones it has, also for its tokens.
    Change(RightsArgs),
    /// Replace the secret and show the new one, only this once.
    Rotate(NameArgs),
    /// Refuse a service account and all its tokens until it is enabled again.
    Disable(NameArgs),
    /// Let a disabled service account in again.
    Enable(NameArgs),
    /// Remove a service account: the next request with its tokens is refused.
    Remove(NameArgs),
}

#[derive(Args, Debug)]
pub(in crate::cli) struct NameArgs {
    /// The account's name or client id.
    account: String,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("within").args(["connections", "workspaces"]).required(true).multiple(true))]
pub(in crate::cli) struct RightsArgs {
    /// The account's name.
    name: String,
    /// What is within reach.
    #[command(flatten)]
    within: ReachArgs,
    /// How far it may go: read, write or admin. If absent, as far as its connections and workspaces say, else read.
    #[arg(long, value_parser = parse_scope)]
    scope: Option<Scope>,
}

impl RightsArgs {
    fn read(self, config: &Config) -> Result<NewServiceAccount, Failure> {
        let scope = self.scope.or(self.within.widest(config)?).unwrap_or(Scope::Read);
        let rights = self.within.rights(config, Some(scope))?;
        Ok(NewServiceAccount { name: self.name, rights })
    }
}

pub(in crate::cli) fn run(command: ServiceAccountCommand, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(
        common,
        match command {
            ServiceAccountCommand::List => StoreUse::Reads,
            ServiceAccountCommand::Create(_) => StoreUse::Begins,
            _ => StoreUse::Changes,
        },
    )?;
    match command {
        ServiceAccountCommand::Create(rights) => {
            let (account, secret) = store.create_service_account(rights.read(&config)?)?;
            show(&account, &secret, common);
        }
        ServiceAccountCommand::List => {
            let header = ["NAME", "CLIENT ID", "SCOPE", "CONNECTIONS", "SECRET OPENS", "DISABLED"];
            common.list(&store.service_accounts()?, header, |account| {
                [
                    account.name.clone(),
                    account.client_id.clone(),
                    account.rights.widest().as_str().to_owned(),
                    describe_rights(&config, &account.rights),
                    describe_secret(&config, account).unwrap_or_else(|| "all of it".to_owned()),
                    timestamp_or(account.disabled_at, "-"),
                ]
            });
        }
        ServiceAccountCommand::Change(rights) => {
            let account = store.change_service_account(rights.read(&config)?)?;
            let access = describe_access(&config, &account.rights);
            common.print(&account, format_args!("{} has the scope {access}", account.name));
            if let Some(secret) = describe_secret(&config, &account).filter(|_| !common.json) {
                eprintln!(
                    "Its secret opens {secret}: it gives no more access than whoever has seen it has, or it has ended. \
                     `portico service-account rotate {:?}` makes one that opens all.",
                    account.name
                );
            }
        }
        ServiceAccountCommand::Rotate(NameArgs { account }) => {
            let (account, secret) = store.rotate_service_account(&account)?;
            show(&account, &secret, common);
        }
        ServiceAccountCommand::Disable(NameArgs { account }) => {
            let account = store.disable_service_account(&account)?;
            common.print(&account, format_args!("{} is refused from now on, with all its tokens", account.name));
        }
        ServiceAccountCommand::Enable(NameArgs { account }) => {
            let account = store.enable_service_account(&account)?;
            common.print(&account, format_args!("{} is let in again", account.name));
        }
        ServiceAccountCommand::Remove(NameArgs { account }) => {
            let account = store.remove_service_account(&account)?;
            common.print(&account, format_args!("removed {}", account.name));
        }
    }
    Ok(())
}

/// Describes the rights of the secret, if they are less than the account's.
fn describe_secret(config: &Config, account: &Account) -> Option<String> {
    if account.secret_ends_at.is_some_and(|end| end <= Clock::system().now().time()) {
        return Some("nothing; it has ended".to_owned());
    }
    let opens = &account.secret_opens;
    (*opens != account.rights).then(|| describe_access(config, opens))
}

fn show(account: &Account, secret: &SecretString, common: &Common) {
    let words = format_args!("client id      {}\nclient secret  {}", account.client_id, secret.expose_secret());
    common.print_secret(account, ("clientSecret", secret), words, SHOWN_ONCE);
}
