//! Where a connection's database is: `url`, and the keys that go with a PostgreSQL one. What the
//! URL's parameters mean is the driver's business, which is asked.

use std::path::{Path, PathBuf};

use portico_actors::source::address::{Address, Files, Password, Pooler};
use portico_actors::source::{Locator, postgres};
use secrecy::SecretString;

use super::environment;
use super::problem::Problem;
use super::section::Section;

/// Reads the keys of one `[[connections]]` table.
pub(super) fn locator(
    section: &mut Section<'_>,
    base: &Path,
    directory: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Locator> {
    let known = problems.len();
    let url = section.required("url", "add postgres://user:password@host:5432/database or sqlite:path", problems);
    let words = [("session", Pooler::Session), ("transaction", Pooler::Transaction)];
    let pooler = section.word("pooler", &words, problems);
    let Some(url) = url else {
        password(section, base, problems);
        return None;
    };
    if is_postgres(&url) {
        let address = Address { pooler: pooler.unwrap_or_default(), ..unjudged(section, url, base, problems) };
        judge(section, &address, known, problems);
        return Some(Locator::Postgres(address));
    }
    only_postgres(section, &["password_file", "password_command", "pooler"], problems);
    if let Some(path) = url.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
        return Some(Locator::Sqlite(directory.join(path)));
    }
    // The value may hold a password: it is not repeated.
    section.problem(
        "url",
        "this is the address of no source that Portico knows".to_owned(),
        "write postgres://user:password@host:5432/database or sqlite:path",
        problems,
    );
    None
}

/// Whether `url` is that of a PostgreSQL database.
pub(super) fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// The address of a PostgreSQL database at `url`, with the keys that go with it.
pub(super) fn postgres(section: &mut Section<'_>, url: String, base: &Path, problems: &mut Vec<Problem>) -> Address {
    let known = problems.len();
    let address = unjudged(section, url, base, problems);
    judge(section, &address, known, problems);
    address
}

fn unjudged(section: &mut Section<'_>, url: String, base: &Path, problems: &mut Vec<Problem>) -> Address {
    let password = password(section, base, problems);
    Address {
        url: SecretString::from(url),
        password,
        pooler: Pooler::default(),
        login: None,
        files: files(|name| section.environment(name), base),
    }
}

/// Asks the driver, unless something was wrong already: that would only be told twice.
fn judge(section: &Section<'_>, address: &Address, known: usize, problems: &mut Vec<Problem>) {
    if problems.len() == known
        && let Err(error) = postgres::understand(address)
    {
        let remedy = error.get_hint().unwrap_or("write postgres://user:password@host:5432/database").to_owned();
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

/// The address of a PostgreSQL database that somebody gave on the command line. Its password may be in
/// `PGPASSWORD` or in a password file.
pub fn administrator(url: String) -> Address {
    let password = environment::lookup("PGPASSWORD").filter(|password| !password.is_empty());
    let password = password.map(|password| Password::Value(SecretString::from(password)));
    let files = files(environment::lookup, Path::new(""));
    Address { url: SecretString::from(url), password, pooler: Pooler::default(), login: None, files }
}

/// The files of libpq's, where libpq looks for them (PostgreSQL, §34.15 to §34.17).
fn files(environment: impl Fn(&str) -> Option<String>, base: &Path) -> Files {
    let of = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = of("HOME");
    let own = of("PGSERVICEFILE").or_else(|| home.as_ref().map(|home| home.join(".pg_service.conf")));
    let everyones = of("PGSYSCONFDIR").map(|folder| folder.join("pg_service.conf"));
    Files {
        base: base.to_owned(),
        passfile: of("PGPASSFILE").or_else(|| home.map(|home| home.join(".pgpass"))),
        services: own.into_iter().chain(everyones).collect(),
    }
}
