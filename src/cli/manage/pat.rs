//! `portico pat create|list|revoke`.

use std::time::Duration;

use clap::Subcommand;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::{NewPat, PersonalAccessToken};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::name;
use portico_actors::principal::Scope;
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::cli::common::{
    Common, Failure, ReachArgs, StoreUse, describe_rights, open_store, parse_duration, parse_scope,
};
use crate::cli::output::timestamp_or;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PatCommand {
    /// Create a token for a user and show it, only this once. Without --connection and --workspace, it opens all that
    /// the user reaches.
    Create {
        /// The user's e-mail address.
        email: String,
        /// A name for listings.
        #[arg(long)]
        name: Option<String>,
        /// How long it is valid: 90d, 12h, 8w, or never for a token without an end.
        #[arg(long, value_name = "TIME", value_parser = parse_lifetime, default_value = "90d")]
        expires: Lifetime,
        /// What is within reach; all that the user reaches if absent.
        #[command(flatten)]
        within: ReachArgs,
        /// How far it may go: read, write or admin. As far as the user if absent.
        #[arg(long, value_parser = parse_scope)]
        scope: Option<Scope>,
    },
    /// List the tokens, of one user or of all.
    List {
        /// The user's e-mail address.
        email: Option<String>,
    },
    /// Revoke a token, and everything that came of it: the next request with it is refused, and what runs is
    /// cancelled.
    Revoke {
        /// The token's id, or its name where only one has it.
        token: String,
    },
}

/// Refuses a scope beyond the user's own: the token would silently have less.
fn check_scope(store: &Store, email: &str, scope: Option<Scope>) -> Result<(), Error> {
    let user = store.users()?.into_iter().find(|user| name::key(&user.email) == name::key(email));
    let has = user.map(|user| user.rights.widest());
    match (scope, has) {
        (Some(scope), Some(has)) if scope > has => {
            let message = format!("--scope: {email} has the scope {}, and a token has no more", has.as_str());
            Err(Error::invalid(message).hint("give --scope no more than that, or portico user change"))
        }
        _ => Ok(()),
    }
}

pub(in crate::cli) fn run(command: PatCommand, common: &Common) -> Result<(), Failure> {
    let (config, mut store) = open_store(
        common,
        if matches!(command, PatCommand::List { .. }) { StoreUse::Reads } else { StoreUse::Changes },
    )?;
    match command {
        PatCommand::Create { email, name, expires, within, scope } => {
            let expires_at = match expires {
                Lifetime::For(lifetime) => Some(Clock::system().now().time().after(lifetime)),
                Lifetime::Endless => None,
            };
            let rights = within.rights(&config, scope)?;
            check_scope(&store, &email, scope)?;
            let (token, secret) = store.create_pat(&email, NewPat { name, expires_at, rights })?;
            let end = token.expires_at.map_or_else(|| "has no end".to_owned(), |end| format!("is valid until {end}"));
            let (email, name) = (&token.email, &token.name);
            let note = format_args!("This is {email}'s token {name:?}. It {end}. It is not shown again.");
            common.print_secret(&token, ("pat", &secret), secret.expose_secret(), note);
        }
        PatCommand::List { email } => {
            let header = ["ID", "EMAIL", "NAME", "STATE", "SCOPE", "CONNECTIONS", "EXPIRES", "REVOKED"];
            let now = config.tokens.clock().now();
            let state = |token: &PersonalAccessToken| match (token.revoked_at, token.expires_at) {
                (Some(_), _) => "revoked",
                (None, Some(end)) if now.is_over(end) => "expired",
                (None, _) => "valid",
            };
            let tokens = store.pats(email.as_deref())?.into_iter();
            let listed: Vec<Listed> = tokens.map(|token| Listed { state: state(&token), token }).collect();
            common.list(&listed, header, |Listed { state, token }| {
                [
                    token.id.to_string(),
                    token.email.clone(),
                    token.name.clone(),
                    (*state).to_owned(),
                    token.rights.widest().as_str().to_owned(),
                    describe_rights(&config, &token.rights),
                    timestamp_or(token.expires_at, "never"),
                    timestamp_or(token.revoked_at, "-"),
                ]
            });
        }
        PatCommand::Revoke { token } => {
            let token = store.revoke_pat(&token)?;
            common.print(&token, format_args!("revoked {} of {}", token.name, token.email));
        }
    }
    Ok(())
}

/// A token as it is listed: one that opens nothing any more says so.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    token: PersonalAccessToken,
    /// `valid`, `expired` or `revoked`.
    state: &'static str,
}

/// How long a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Lifetime {
    /// From now on.
    For(Duration),
    /// Until it is revoked.
    Endless,
}

/// How long a token with an end is valid at most: a hundred years.
const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

/// Reads how long a token is valid; a hundred years at most.
fn parse_lifetime(text: &str) -> Result<Lifetime, String> {
    if text == "never" {
        return Ok(Lifetime::Endless);
    }
    let number = text.strip_suffix(['s', 'm', 'h', 'd', 'w']).unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err("write a number and a unit, as 90d, 12h, 8w, 30m or 45s, or never".to_owned());
    }
    parse_duration(text)
        .filter(|lifetime| (Duration::from_secs(1)..=LONGEST).contains(lifetime))
        .map(Lifetime::For)
        .ok_or_else(|| "write from 1s to 36525d (a hundred years), or never for a token without an end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse_lifetime("90d"), Ok(Lifetime::For(Duration::from_secs(90 * 86_400))));
        assert_eq!(parse_lifetime("30m"), Ok(Lifetime::For(Duration::from_secs(1_800))));
        assert_eq!(parse_lifetime("never"), Ok(Lifetime::Endless));
        for wrong in ["", "d", "90", "-1d", "0d", "1é", "99999999999999999999d", "9999999999w"] {
            assert!(parse_lifetime(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_lifetime("36525d"), Ok(Lifetime::For(LONGEST)));
        for (wrong, told) in [
            ("100000000d", "36525d"),
            ("36526d", "36525d"),
            ("0d", "from 1s"),
            ("99999999999999999999d", "36525d"),
            ("90", "a number and a unit"),
            ("soon", "a number and a unit"),
        ] {
            let words = parse_lifetime(wrong).unwrap_err();
            assert!(words.contains(told), "{wrong}: {words}");
        }
    }
}
