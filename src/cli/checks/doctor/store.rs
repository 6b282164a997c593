//! Checks the store: whether it can be read, who may call, and the age of the signing key.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use portico_actors::auth::store::Store;
use portico_actors::error::{Error, Kind};
use portico_actors::name;
use portico_actors::principal::Rights;

use super::finding::CheckResult;
use super::machine;
use crate::cli::common::{describe_access, error_words};
use crate::config::Config;

/// A key that has signed for longer should be replaced.
const KEY_AGE: Duration = Duration::from_hours(24 * 365);

pub(super) fn look(config: &Config) -> Vec<CheckResult> {
    let place = &config.store.place;
    if let Some(path) = place.file().filter(|path| !path.exists()) {
        return vec![missing(path)];
    }
    examine(config).unwrap_or_else(|error| {
        if place.file().is_none() && error.kind == Kind::NotFound {
            let remedy = "run portico user add EMAIL, then portico pat create EMAIL";
            return vec![CheckResult::warning("store", error.message, remedy)];
        }
        let remedy = match place.file() {
            Some(_) => "run this as the service's own user; if the file is damaged, restore a backup",
            None => "look at store.url, the network and the rights of its user; the service starts without it",
        };
        vec![CheckResult::problem("store", format!("{place}: {}", error_words(&error)), remedy)]
    })
}

fn missing(path: &Path) -> CheckResult {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        return CheckResult::problem(
            "store",
            format!("{} is not there, and cannot be made in its folder", path.display()),
            format!("make {} a folder that the service's user may write to", folder.display()),
        );
    }
    let message = format!("{} is not there; the first start or `portico user add` makes it", path.display());
    CheckResult::warning("store", message, "run portico user add EMAIL, then portico pat create EMAIL")
}

/// Names that are spellings of one, from before that was refused.
fn namesakes<'n>(what: &str, names: impl Iterator<Item = &'n str>, remedy: &str) -> Vec<CheckResult> {
    let mut spellings: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for each in names {
        spellings.entry(name::key(each)).or_default().push(each);
    }
    let several = spellings.into_values().filter(|spellings| spellings.len() > 1);
    // Printed with escapes: invisible characters are the difference.
    let told = |spellings: Vec<&str>| format!("these {what} have one name in several spellings: {spellings:?}");
    several.map(|spellings| CheckResult::warning("names", told(spellings), remedy)).collect()
}

fn examine(config: &Config) -> Result<Vec<CheckResult>, Error> {
    let store = Store::open_existing(&config.store.place, config.store.key.clone(), config.tokens.clock())?;
    let mut findings = Vec::new();
    let (users, tokens, accounts) = (store.users()?, store.pats(None)?, store.service_accounts()?);
    let now = config.tokens.clock().now();
    let valid = tokens
        .iter()
        .filter(|token| token.revoked_at.is_none() && token.expires_at.is_none_or(|end| !now.is_over(end)));
    let valid = valid.count();
    let counts = format!("{} users with {valid} valid tokens, {} service accounts", users.len(), accounts.len());
    findings.push(if valid == 0 && accounts.is_empty() {
        let remedy = "run portico user add EMAIL and portico pat create EMAIL, or portico service-account create NAME";
        CheckResult::warning("store", format!("nobody can call: {counts}"), remedy)
    } else {
        CheckResult::ok("store", counts)
    });
    findings.extend(origins(config, &store)?);
    findings.extend(unadmitted(config, &store)?);
    let remedy =
        "run portico user list; remove one of them, then enable the other: until then the later one is refused";
    findings.extend(namesakes("users", users.iter().map(|user| user.email.as_str()), remedy));
    let remedy = "run portico service-account list; name them by client id, and remove one of them";
    findings.extend(namesakes("service accounts", accounts.iter().map(|account| account.name.as_str()), remedy));
    let keys = store.keys()?;
    findings.push(match keys.iter().find(|key| key.retired_at.is_none()) {
        None => CheckResult::warning("keys", "no key signs access tokens yet", "the first start makes one"),
        Some(key) if key.created_at.after(KEY_AGE) < now.time() => CheckResult::warning(
            "keys",
            format!("{} has signed since {}", key.kid, key.created_at),
            "run portico key rotate; issued tokens stay valid until they expire",
        ),
        Some(key) => CheckResult::ok("keys", format!("{} has signed since {}", key.kid, key.created_at)),
    });
    let newest = keys.iter().map(|key| key.created_at).chain(users.iter().map(|user| user.created_at)).max();
    findings.extend(newest.and_then(|newest| machine::clock_behind(now.time(), "the store was", newest)));
    Ok(findings)
}

/// Reports credentials made by an older version, whose origin is unknown.
fn origins(config: &Config, store: &Store) -> Result<Vec<CheckResult>, Error> {
    let found = store.of_unknown_origin()?;
    let opens = |rights: &Rights| describe_access(config, rights);
    let rotate = |name: &str| format!("run portico service-account rotate {name:?}");
    let mut findings = Vec::new();
    let mut warn = |message, remedy| findings.push(CheckResult::warning("origin", message, remedy));
    for token in &found.tokens {
        let (name, email, id, opens) = (&token.name, &token.email, token.id, opens(&token.rights));
        warn(
            format!(
                "the token {name:?} of {email} ({id}) opens {opens}, and may have been made out of one that has ended \
                 since"
            ),
            format!("if nobody knows who made it, run portico pat revoke {id}, and make another one"),
        );
    }
    for user in &found.users {
        let (email, opens) = (&user.email, opens(&user.rights));
        warn(
            format!("{email} has {opens}, and may have been added by an administrator who has less"),
            format!("run portico user change {email} with the access that they are to have"),
        );
    }
    for account in &found.accounts {
        let (name, opens) = (&account.name, opens(&account.rights));
        let less = "an administrator who has less may know its secret";
        warn(format!("the service account {name:?} opens {opens}, and {less}"), rotate(name));
    }
    for account in &found.secrets {
        let (name, opens) = (&account.name, opens(&account.secret_opens));
        let message = format!(
            "the secret of the service account {name:?} opens {opens}, and may have been made in a session of a token \
             that has ended since"
        );
        warn(message, rotate(name));
    }
    Ok(findings)
}

/// Reports grants without effect, because their clients are not admitted any more.
fn unadmitted(config: &Config, store: &Store) -> Result<Option<CheckResult>, Error> {
    let shut = store.ineffective_grants(config.oauth.admission())?;
    Ok((shut > 0).then(|| {
        CheckResult::warning(
            "consents",
            format!("{shut} grants are of clients that [oauth] does not admit, and open nothing"),
            "portico client remove ends them; otherwise they open something again as soon as [oauth] admits such \
             clients",
        )
    }))
}
