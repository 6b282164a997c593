//! `[connections.identity]`: which role of the connection's database each caller has, and how it comes
//! to be the caller's: taken on by the connection's own user, or signed in to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portico_actors::auth::IssuerIdentity;
use portico_actors::identity::{Mapping, Pattern, RoleClaim, check_role, principal_key};
use portico_actors::source::{Driver, Login, Password, ROLE, check_login_role, drivers};
use secrecy::ExposeSecret;

use super::address;
use super::problem::Problem;
use super::section::Section;

/// How a caller comes to its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Its sessions are opened as the role.
    Login,
    /// The connection's own user takes it on for each call.
    SetRole,
}

/// Seconds that a role's session is kept that nobody uses.
const IDLE_TIMEOUT: u64 = 60;

/// Reads the table, if it is there: who has which role, and how roles sign in, where they do.
pub(super) fn read(
    connection: &mut Section<'_>,
    driver: Option<&Driver>,
    base: &Path,
    problems: &mut Vec<Problem>,
) -> Option<(Mapping, Option<Login>)> {
    if !connection.has("identity") {
        return None;
    }
    let mut section = connection.section("identity", problems);
    if let Some(driver) = driver.filter(|driver| !driver.capabilities.roles) {
        let others = drivers::products(|driver| driver.capabilities.roles);
        let remedy = format!("remove this table, or use a {others} database");
        connection.problem("identity", format!("a {} database has no roles", driver.product), &remedy, problems);
    }
    let words = [("login", Mode::Login), ("set-role", Mode::SetRole)];
    let mode = section.word("mode", &words, problems).unwrap_or(Mode::SetRole);
    let login = login(&mut section, mode, base, problems);
    let principals = roles(&mut section, "principals", mode, problems).unwrap_or_default();
    let claim = role_claim(&mut section, mode, problems);
    let pattern = section.string("pattern", problems).and_then(|text| match Pattern::parse(&text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let remedy = error.get_hint().unwrap_or("write it as \"app_{subject}\"").to_owned();
            section.problem("pattern", error.message, &remedy, problems);
            None
        }
    });
    if !["principals", "claim", "pattern"].into_iter().any(|key| section.has(key)) {
        let remedy = "add principals, claim or pattern, or remove this table";
        connection.problem("identity", "no caller would have a role".to_owned(), remedy, problems);
    }
    section.finish(problems);
    let principals = principals.into_iter().map(|(name, role)| (principal_key(&name), role)).collect();
    Some((Mapping { principals, claim, pattern }, login))
}

/// `[issuers.identity]`, if it is there: what of the issuer's word counts in databases.
pub(super) fn of_issuer(issuer: &mut Section<'_>, problems: &mut Vec<Problem>) -> Option<IssuerIdentity> {
    if !issuer.has("identity") {
        return None;
    }
    let mut section = issuer.section("identity", problems);
    let claims = section.strings("claims", problems).unwrap_or_default();
    for name in claims.iter().filter(|name| ["", "sub", "subject", "scope", "role"].contains(&name.as_str())) {
        let message = format!("{name:?} is told databases by Portico itself");
        section.problem("claims", message, "remove it; sub, scope and role are always among the claims", problems);
    }
    let claim = role_claim(&mut section, Mode::SetRole, problems);
    section.finish(problems);
    Some(IssuerIdentity { claims, claim })
}

/// `claim` and `claim_roles`: the claim that tells the role.
fn role_claim(section: &mut Section<'_>, mode: Mode, problems: &mut Vec<Problem>) -> Option<RoleClaim> {
    let name = section.string("claim", problems).filter(|claim| !claim.is_empty());
    let roles = roles(section, "claim_roles", mode, problems);
    if name.is_none() && roles.is_some() {
        section.problem("claim_roles", "it is not said of which claim".to_owned(), "add claim = \"…\"", problems);
    }
    name.map(|name| RoleClaim { name, roles })
}

/// How roles sign in: the keys that only `mode = "login"` has.
fn login(section: &mut Section<'_>, mode: Mode, base: &Path, problems: &mut Vec<Problem>) -> Option<Login> {
    const KEYS: [&str; 5] = ["password_file", "password_command", "sslcert", "sslkey", "idle_timeout"];
    let password = address::password(section, base, problems);
    let certificate = section.string("sslcert", problems);
    let key = section.string("sslkey", problems);
    let idle_timeout = section.integer("idle_timeout", 1..=86_400, problems).unwrap_or(IDLE_TIMEOUT);
    if mode == Mode::SetRole {
        for given in KEYS {
            if section.has(given) {
                let remedy = "write mode = \"login\", or remove this key";
                section.problem(given, "roles that are taken on do not sign in".to_owned(), remedy, problems);
            }
        }
        return None;
    }
    let of_role = match &password {
        Some(Password::File(path)) => path.to_string_lossy().contains(ROLE),
        Some(Password::Command(words)) => words.iter().any(|word| word.expose_secret().contains(ROLE)),
        Some(Password::Value(_)) => false,
        None => true,
    };
    let mut own = |key: &str| {
        let message = "every role would have the same one".to_owned();
        section.problem(key, message, "write {role} where the role's name belongs", problems);
    };
    if !of_role {
        own(if matches!(password, Some(Password::File(_))) { "password_file" } else { "password_command" });
    }
    for (name, path) in [("sslcert", &certificate), ("sslkey", &key)] {
        if path.as_ref().is_some_and(|path| !path.contains(ROLE)) {
            own(name);
        }
    }
    if certificate.is_some() != key.is_some() {
        let (given, other) = if key.is_some() { ("sslkey", "sslcert") } else { ("sslcert", "sslkey") };
        section.problem(given, format!("there is no {other}"), &format!("add {other}"), problems);
    }
    let place = |path: String| -> PathBuf { base.join(path) };
    let certificate = certificate.map(place).zip(key.map(place));
    Some(Login { password, certificate, idle_timeout: Duration::from_secs(idle_timeout) })
}

/// A table of names and the roles that they stand for.
fn roles(
    section: &mut Section<'_>,
    key: &'static str,
    mode: Mode,
    problems: &mut Vec<Problem>,
) -> Option<HashMap<String, String>> {
    let roles = section.texts(key, problems)?;
    let remedy = match mode {
        Mode::Login => "name a role that was made for callers and may sign in",
        Mode::SetRole => "name a role that was made for callers and granted to the connection's own user",
    };
    for (name, role) in &roles {
        let checked = if mode == Mode::Login { check_login_role(role) } else { Ok(()) };
        if let Err(why) = check_role(role).and(checked) {
            section.problem(key, format!("the role of {name:?} {why}"), remedy, problems);
        }
    }
    Some(roles.into_iter().collect())
}
