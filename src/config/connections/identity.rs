//! `[connections.identity]`: which role of the connection's database each caller has, and how it is assumed: by the
//! connection's own user, or by a login of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use portico_actors::auth::IssuerIdentity;
use portico_actors::identity::{Mapping, Pattern, RoleClaim, check_role, principal_key};
use portico_actors::source::{Driver, Login, ROLE, check_login_role, drivers};
use secrecy::{ExposeSecret, SecretString};

use super::address;
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Text, Texts};
use crate::config::declared::setting::{PAIRS, Setting, TEXT, TEXTS, number, word, words};
use crate::config::declared::table::{Table, settings};

settings! {
    /// Callers under roles of their own (PostgreSQL): each statement, and each look at the catalogue, runs
    /// under the database role of its caller, so that grants and row-level security decide. The first rule
    /// that fits names the role; a caller whom none fits is refused with 403. Inside the transaction
    /// `current_setting('request.jwt.claims', true)` is the caller as JSON, and so are, as plain texts,
    /// 'portico.principal', `portico.client_id`, 'portico.scope' and `portico.request_id`.
    ///
    /// mode = "login" is a wall: sessions are opened as the caller's role, which no statement can leave.
    /// mode = "set-role" is none by itself: the user of `url` takes the role on for each call, and Portico
    /// refuses every statement that it does not know to keep it.
    ///
    /// For "set-role", let the user of `url` be NOINHERIT, own nothing and be a member of these roles alone: then
    /// whoever could leave a role would have less, not more. examples/row-level-security/ has all of it.
    pub(in crate::config) struct IdentitySettings {
        /// "login" or "set-role", as above.
        mode: Mode = word::<Mode>().or(Text("set-role")),
        /// For mode = "login": where each role's password is, as of a connection, or its certificate; {role} stands
        /// for the role's name. A role whose name has "/", ".." or a control character, or begins with "-", is refused
        /// before a file or a program is touched, and so are superusers and who may become one.
        password_file: Option<PathBuf> = TEXT.example("\"/run/secrets/roles/{role}\""),
        /// The same as a program and its arguments.
        password_command: Option<Vec<SecretString>> = TEXTS
            .example("[\"/usr/local/bin/vault\", \"read\", \"-field=password\", \"database/static-creds/{role}\"]"),
        /// The certificate of each role.
        sslcert: Option<String> = TEXT.example("\"/etc/portico/roles/{role}.crt\""),
        /// Its key.
        sslkey: Option<String> = TEXT.example("\"/etc/portico/roles/{role}.key\""),
        /// Seconds after which a role's session that nobody uses is closed.
        idle_timeout: Duration = number(1..=86_400).or(Number(60)),
        /// A claim of the caller that names the role: email of a user, `client_id` and name of a service
        /// account, or what another issuer's token says, where `[issuers.identity]` lets that count.
        claim: Option<String> = claim("write the claim's name, or leave it out").example("\"department\""),
        /// If no rule above fits: a role's name with claims in braces; {subject} is the e-mail address or
        /// the client id. A caller without the claim has no role by it.
        pattern: Option<String> = TEXT.example("\"app_{subject}\""),
        /// The first rule: e-mail addresses, client ids and names of service accounts, in any spelling, and
        /// "issuer#subject" for another issuer's callers. A name that an administrator of some connections chose
        /// does not count, here nor as the claim name: such accounts have their client ids.
        principals: Option<HashMap<String, String>> = PAIRS
            .example("\"ann@example.org\" = \"sales_north\"\n\"reporting\" = \"sales_reports\""),
        /// Roles by the claim's values. Left out, the value itself is the role's name; in an empty table none is.
        claim_roles: Option<HashMap<String, String>> = PAIRS.example("\"emea\" = \"sales_emea\""),
    }
}

settings! {
    /// What of its word counts in databases with `[connections.identity]`. Without this table none does: a
    /// caller then has the role that `[connections.identity]` finds by the subject, "issuer#subject", if any.
    pub(in crate::config) struct IssuerIdentitySettings {
        /// Claims that databases may read in request.jwt.claims, and that claim and pattern of
        /// `[connections.identity]` find roles by. email counts where the token says `email_verified`.
        claims: Vec<String> = TEXTS.or(Texts(&[])).checked(
            |name| !["", "sub", "subject", "scope", "role"].contains(&name),
            "databases are told {} by Portico itself",
            "remove it; sub, scope and role are always among the claims",
        ),
        /// The claim that names the role, before the connection's own rules.
        claim: Option<String> = claim("write the claim's name, or leave it out").example("\"groups\""),
        /// Roles by its values. Left out, the value itself is the role's name.
        claim_roles: Option<HashMap<String, String>> = PAIRS.example("\"emea\" = \"sales_emea\""),
    }
}

/// The name of a claim: an empty one would switch its rule off.
pub(in crate::config) const fn claim(remedy: &'static str) -> Setting {
    TEXT.checked(|text| !text.is_empty(), "a claim must have a name", remedy)
}

/// How a caller comes to its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Mode {
    /// Its sessions are opened as the role.
    Login,
    /// The connection's own user takes it on for each call.
    SetRole,
}

words! {
    Mode { "login" => Self::Login, "set-role" => Self::SetRole }
}

/// Reads the table, if it is there: the role mapping, and how roles log in, if they do.
pub(in crate::config) fn read(connection: &Section<'_>, driver: Option<&Driver>) -> Option<(Mapping, Option<Login>)> {
    let section = connection.optional_table("identity")?;
    if let Some(driver) = driver.filter(|driver| !driver.capabilities.roles) {
        let others = drivers::products(|driver| driver.capabilities.roles);
        let remedy = format!("remove this table, or use a {others} database");
        connection.problem("identity", format!("a {} database has no roles", driver.product), &remedy);
    }
    let settings = IdentitySettings::read(&section);
    let login = login(&section, &settings);
    check_roles(&section, "principals", settings.principals.as_ref(), settings.mode);
    let claim = role_claim(&section, settings.claim, settings.claim_roles, settings.mode);
    let pattern = settings.pattern.and_then(|text| {
        let parsed = Pattern::parse(&text);
        parsed.map_err(|error| section.error("pattern", error, "write it as \"app_{subject}\"")).ok()
    });
    if !["principals", "claim", "pattern"].into_iter().any(|key| section.has(key)) {
        let remedy = "add principals, claim or pattern, or remove this table";
        connection.problem("identity", "no caller would have a role", remedy);
    }
    let principals = settings.principals.unwrap_or_default();
    let principals = principals.into_iter().map(|(name, role)| (principal_key(&name), role)).collect();
    Some((Mapping { principals, claim, pattern }, login))
}

/// Reads `[issuers.identity]`, if it is there: which of the issuer's claims are used in databases.
pub(in crate::config) fn of_issuer(issuer: &Section<'_>) -> Option<IssuerIdentity> {
    let section = issuer.optional_table("identity")?;
    let settings = IssuerIdentitySettings::read(&section);
    let claim = role_claim(&section, settings.claim, settings.claim_roles, Mode::SetRole);
    Some(IssuerIdentity { claims: settings.claims, claim })
}

/// Reads `claim` and `claim_roles`: the claim that selects the role.
fn role_claim(
    section: &Section<'_>,
    claim: Option<String>,
    roles: Option<HashMap<String, String>>,
    mode: Mode,
) -> Option<RoleClaim> {
    check_roles(section, "claim_roles", roles.as_ref(), mode);
    if !section.has("claim") && roles.is_some() {
        section.problem("claim_roles", "the claim is not given", "add claim = \"…\"");
    }
    claim.map(|name| RoleClaim { name, roles })
}

/// How roles sign in: the keys that only `mode = "login"` has.
fn login(section: &Section<'_>, settings: &IdentitySettings) -> Option<Login> {
    const KEYS: [&str; 5] = ["password_file", "password_command", "sslcert", "sslkey", "idle_timeout"];
    let (file, command) = (settings.password_file.as_ref(), settings.password_command.as_ref());
    let password = address::password(section, file, command);
    if settings.mode == Mode::SetRole {
        for given in KEYS.into_iter().filter(|key| section.has(key)) {
            let remedy = "write mode = \"login\", or remove this key";
            section.problem(given, "roles that are taken on do not sign in", remedy);
        }
        return None;
    }
    let (certificate, key) = (settings.sslcert.as_ref(), settings.sslkey.as_ref());
    let of_role = [
        ("password_file", file.is_none_or(|path| path.to_string_lossy().contains(ROLE))),
        (
            "password_command",
            file.is_some() || command.is_none_or(|words| words.iter().any(|word| word.expose_secret().contains(ROLE))),
        ),
        ("sslcert", certificate.is_none_or(|path| path.contains(ROLE))),
        ("sslkey", key.is_none_or(|path| path.contains(ROLE))),
    ];
    for (key, _) in of_role.into_iter().filter(|(_, of_role)| !of_role) {
        section.problem(key, "every role would have the same one", "write {role} where the role's name belongs");
    }
    if certificate.is_some() != key.is_some() {
        let (given, other) = if key.is_some() { ("sslkey", "sslcert") } else { ("sslcert", "sslkey") };
        section.problem(given, format!("there is no {other}"), &format!("add {other}"));
    }
    let place = |path: &String| section.base().join(path);
    let certificate = certificate.map(place).zip(key.map(place));
    Some(Login { password, certificate, idle_timeout: settings.idle_timeout })
}

/// Notes each role that no caller may have.
fn check_roles(section: &Section<'_>, key: &str, roles: Option<&HashMap<String, String>>, mode: Mode) {
    let remedy = match mode {
        Mode::Login => "name a role that was made for callers and may sign in",
        Mode::SetRole => "name a role that was made for callers and granted to the connection's own user",
    };
    for (name, role) in roles.into_iter().flatten() {
        let checked = if mode == Mode::Login { check_login_role(role) } else { Ok(()) };
        if let Err(why) = check_role(role).and(checked) {
            section.problem(key, format!("the role of {name:?} {why}"), remedy);
        }
    }
}
