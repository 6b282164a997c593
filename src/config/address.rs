//! Where a connection's database is: `url`, and the keys that go with it. What they mean is the driver's
//! business, which is asked.

use std::path::Path;
use std::sync::Arc;

use portico_actors::source::postgres::Address;
use portico_actors::source::{Driver, Endpoint, Location, Password, Pooler, drivers};
use secrecy::SecretString;

use super::environment;
use super::problem::Problem;
use super::section::Section;

/// Reads the keys of one `[[connections]]` table.
pub(super) fn location(
    section: &mut Section<'_>,
    base: &Path,
    directory: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Arc<dyn Location>> {
    let known = problems.len();
    let url = section.required("url", &format!("add {}", drivers::examples()), problems);
    let words = [("session", Pooler::Session), ("transaction", Pooler::Transaction)];
    let pooler = section.word("pooler", &words, problems);
    let Some(url) = url else {
        password(section, base, problems);
        return None;
    };
    let driver = drivers::of_url(&url);
    let known_to = |driver: &Driver, key: &str| driver.keys.contains(&key);
    for key in drivers::keys() {
        if section.has(key) && !driver.is_some_and(|driver| known_to(driver, key)) {
            let message = format!("this is for {}", drivers::products(|driver| known_to(driver, key)));
            section.problem(key, message, "remove this key", problems);
        }
    }
    if let Some(driver) = driver {
        let password = if known_to(driver, "password_file") { password(section, base, problems) } else { None };
        let location = (driver.locate)(Endpoint {
            url,
            password,
            pooler: pooler.unwrap_or_default(),
            base,
            directory,
            environment: &|name| section.environment(name),
        });
        judge(section, location.as_ref(), known, problems);
        return Some(location);
    }
    // The value may hold a password: it is not repeated.
    section.problem(
        "url",
        "this is the address of no source that Portico knows".to_owned(),
        &format!("write {}", drivers::examples()),
        problems,
    );
    None
}

/// The address of a PostgreSQL database at `url`, with the keys that go with it.
pub(super) fn postgres(section: &mut Section<'_>, url: String, base: &Path, problems: &mut Vec<Problem>) -> Address {
    let known = problems.len();
    let password = password(section, base, problems);
    let environment = |name: &str| section.environment(name);
    let pooler = Pooler::default();
    let address = Address::from(Endpoint { url, password, pooler, base, directory: base, environment: &environment });
    judge(section, &address, known, problems);
    address
}

/// Asks the driver, unless something was wrong already: that would only be told twice.
fn judge(section: &Section<'_>, location: &dyn Location, known: usize, problems: &mut Vec<Problem>) {
    if problems.len() == known
        && let Err(error) = location.check()
    {
        let remedy = error.get_hint().map_or_else(|| format!("write {}", location.driver().example), str::to_owned);
        let message = error.message.strip_prefix("url: ").unwrap_or(&error.message).to_owned();
        section.problem("url", message, &remedy, problems);
    }
}

/// Refuses keys that only a PostgreSQL database has.
pub(super) fn only_postgres(section: &mut Section<'_>, keys: &[&'static str], problems: &mut Vec<Problem>) {
    for key in keys {
        if section.has(key) {
            section.problem(key, "this is for PostgreSQL".to_owned(), "remove this key", problems);
        }
    }
}

/// `password_file` or `password_command` of a table.
pub(super) fn password(section: &mut Section<'_>, base: &Path, problems: &mut Vec<Problem>) -> Option<Password> {
    let file = section.string("password_file", problems);
    let command = section.strings("password_command", problems);
    if file.is_some() && command.is_some() {
        let message = "there is a password_file as well".to_owned();
        section.problem("password_command", message, "keep one of the two", problems);
    }
    if command.as_ref().is_some_and(|words| words.first().is_none_or(String::is_empty)) {
        let remedy = "write the program and its arguments, as in [\"/usr/local/bin/secret\", \"read\", \"sales\"]";
        section.problem("password_command", "there is no program".to_owned(), remedy, problems);
    }
    let command = command.map(|words| Password::Command(words.into_iter().map(SecretString::from).collect()));
    file.map(|path| Password::File(base.join(path))).or(command)
}

/// The address of a database that somebody gave on the command line. Its password may be in `PGPASSWORD`
/// or in a password file.
pub fn administrator(driver: &Driver, url: String) -> Arc<dyn Location> {
    let password = environment::lookup("PGPASSWORD").filter(|password| !password.is_empty());
    let password = password.map(|password| Password::Value(SecretString::from(password)));
    let (pooler, base) = (Pooler::default(), Path::new(""));
    (driver.locate)(Endpoint { url, password, pooler, base, directory: base, environment: &environment::lookup })
}
