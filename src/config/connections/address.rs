//! The address of a connection's database: `url`, and the keys that belong to it. The driver interprets them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portico_actors::source::postgres::Address;
use portico_actors::source::{ConnectOptions, Driver, Location, Password, Pooler, drivers};
use secrecy::{ExposeSecret, SecretString};

use super::connection::ConnectionSettings;
use crate::config::declared::environment;
use crate::config::declared::section::Section;

/// Returns the location that the keys of one `[[connections]]` table describe.
pub(in crate::config) fn location(
    section: &Section<'_>,
    settings: &ConnectionSettings,
    directory: &Path,
) -> Option<Arc<dyn Location>> {
    let driver = settings.url.as_ref().and_then(|url| drivers::of_url(url.expose_secret()));
    let knows = |key: &str| driver.is_none_or(|driver| driver.keys.contains(&key));
    let (file, command) = (settings.password_file.as_ref(), settings.password_command.as_ref());
    let password = if knows("password_file") { password(section, file, command) } else { None };
    let Some(driver) = driver else {
        // The value may hold a password: it is not repeated.
        let (message, verb) = match settings.url {
            Some(_) => ("this is not the address of a source that Portico knows", "write"),
            None => ("this key is missing", "add"),
        };
        section.problem("url", message, &format!("{verb} {}", drivers::examples()));
        return None;
    };
    for key in drivers::keys() {
        if section.has(key) && !knows(key) {
            let message = format!("this is for {}", drivers::products(|driver| driver.keys.contains(&key)));
            section.problem(key, message, "remove this key");
        }
    }
    let location = (driver.locate)(ConnectOptions {
        url: settings.url.as_ref().map_or_else(String::new, |url| url.expose_secret().to_owned()),
        password,
        pooler: settings.pooler.unwrap_or_default(),
        base: section.base(),
        directory,
        environment: &|name| section.environment(name),
    });
    judge(section, location.as_ref());
    Some(location)
}

/// The address of a PostgreSQL database at `url`.
pub(in crate::config) fn postgres(section: &Section<'_>, url: String, password: Option<Password>) -> Address {
    let (pooler, base) = (Pooler::default(), section.base());
    let environment = &|name: &str| section.environment(name);
    let address = Address::from(ConnectOptions { url, password, pooler, base, directory: base, environment });
    judge(section, &address);
    address
}

/// Lets the driver check the location, unless a problem was found already, which would be reported twice.
fn judge(section: &Section<'_>, location: &dyn Location) {
    if !section.is_blamed(&["url", "password_file", "password_command", "pooler"])
        && let Err(mut error) = location.check()
    {
        if error.message.starts_with("url: ") {
            error.message.replace_range(..5, "");
        }
        section.error("url", error, &format!("write {}", location.driver().example));
    }
}

/// Returns the password of `password_file` or `password_command` of a table.
pub(in crate::config) fn password(
    section: &Section<'_>,
    file: Option<&PathBuf>,
    command: Option<&Vec<SecretString>>,
) -> Option<Password> {
    if file.is_some() && command.is_some() {
        section.problem("password_command", "there is a password_file as well", "keep one of the two");
    }
    if command.is_some_and(|words| words.first().is_none_or(|program| program.expose_secret().is_empty())) {
        let remedy = "write the program and its arguments, as in [\"/usr/local/bin/secret\", \"read\", \"sales\"]";
        section.problem("password_command", "there is no program", remedy);
    }
    let command = command.map(|words| Password::Command(words.clone()));
    file.map(|path| Password::File(section.base().join(path))).or(command)
}

/// Returns the address of a database given on the command line. Its password may be in `PGPASSWORD` or in a
/// password file.
pub fn administrator(driver: &Driver, url: String) -> Arc<dyn Location> {
    let password = environment::lookup("PGPASSWORD").filter(|password| !password.is_empty());
    let password = password.map(|password| Password::Value(SecretString::from(password)));
    let (pooler, base) = (Pooler::default(), Path::new(""));
    (driver.locate)(ConnectOptions { url, password, pooler, base, directory: base, environment: &environment::lookup })
}
