//! `[store]`: where users, tokens, service accounts and keys are kept.

use std::path::{Path, PathBuf};

use portico_actors::auth::StoreKey;
use portico_actors::auth::store::StoreLocation;
use portico_actors::source::postgres::DRIVER;

use super::address;
use super::environment::Environment;
use super::problem::Problem;
use super::section::Section;

/// The variable of the environment with the key that encrypts signing keys.
pub const STORE_KEY: &str = "PORTICO_STORE_KEY";
/// The socket by which the command line asks a running service, where the store is no file to put it
/// beside.
const CONTROL: &str = "portico.control";

/// Where users, tokens, service accounts and keys are kept.
#[derive(Clone, Debug)]
pub struct Store {
    /// A SQLite file, or a PostgreSQL database.
    pub place: StoreLocation,
    /// What signing keys are encrypted with; without one they are stored as they are.
    pub key: Option<StoreKey>,
    /// The socket by which `portico reload`, `health` and `doctor` ask the running service.
    pub control: PathBuf,
}

impl Store {
    /// A store in the SQLite file at `path`.
    pub fn of_file(path: PathBuf) -> Self {
        Self { control: path.with_extension("control"), place: StoreLocation::File(path), key: None }
    }
}

/// Reads the table, and in which folder relative paths of what the service writes start.
pub(super) fn read(
    root: &mut Section<'_>,
    base: &Path,
    environment: Environment<'_>,
    problems: &mut Vec<Problem>,
) -> (Store, PathBuf) {
    let mut section = root.section("store", problems);
    let directory = section.string("directory", problems).map_or_else(|| base.to_owned(), |path| base.join(path));
    let url = section.string("url", problems).unwrap_or_else(|| "sqlite:portico.db".to_owned());
    let mut store = Store::of_file(directory.join("portico.db"));
    if (DRIVER.recognizes)(&url) {
        store.place = StoreLocation::from(address::postgres(&mut section, url, base, problems));
        store.control = directory.join(CONTROL);
    } else {
        address::only_postgres(&mut section, &["password_file", "password_command"], problems);
        match url.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            Some(path) => store = Store::of_file(directory.join(path)),
            None => section.problem(
                "url",
                // The value may hold a password: it is not repeated.
                "the store is kept in a SQLite file or in a PostgreSQL database".to_owned(),
                "write \"sqlite:portico.db\", or \"postgres://user:password@host:5432/database\"",
                problems,
            ),
        }
    }
    if let Some(path) = section.string("control", problems) {
        store.control = directory.join(path);
    }
    store.key = key(&mut section, base, environment, problems);
    section.finish(problems);
    (store, directory)
}

/// The key that encrypts signing keys, from the environment or from a file, but not from both.
fn key(
    section: &mut Section<'_>,
    base: &Path,
    environment: Environment<'_>,
    problems: &mut Vec<Problem>,
) -> Option<StoreKey> {
    let file = section.string("key_file", problems);
    let variable = environment(STORE_KEY).filter(|text| !text.is_empty());
    let text = match (file, variable) {
        (None, variable) => variable?,
        (Some(_), Some(_)) => {
            let message = format!("the environment has {STORE_KEY} too");
            section.problem("key_file", message, "give the key in one place", problems);
            return None;
        }
        (Some(file), None) => match std::fs::read_to_string(base.join(&file)) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("{file} cannot be read: {error}");
                section.problem(
                    "key_file",
                    message,
                    "make it with `openssl rand -base64 32`, for this user alone",
                    problems,
                );
                return None;
            }
        },
    };
    match StoreKey::parse(&text) {
        Ok(key) => Some(key),
        Err(error) => {
            section.problem("key_file", error.message.clone(), error.get_hint().unwrap_or_default(), problems);
            None
        }
    }
}
