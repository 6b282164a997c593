//! `[store]`: where users, tokens, service accounts and keys are kept.

use std::path::PathBuf;

use portico_actors::auth::StoreKey;
use portico_actors::auth::store::StoreLocation;
use portico_actors::source::postgres::DRIVER;
use secrecy::{ExposeSecret, SecretString};

use crate::config::connections::address;
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::Text;
use crate::config::declared::setting::{TEXT, TEXTS};
use crate::config::declared::table::{Table, settings};

/// The variable of the environment with the key that encrypts signing keys.
pub const STORE_KEY: &str = "PORTICO_STORE_KEY";
/// The name of the control socket if the store is not a file to put it beside.
const CONTROL: &str = "portico.control";

settings! {
    /// What the service keeps.
    pub(in crate::config) struct StoreSettings {
        /// The folder in which relative paths of what the service writes start: of this table, of the audit trail, of
        /// Unix sockets and of SQLite databases. Left out, it is the folder of this file.
        directory: Option<PathBuf> = TEXT.example("\"/var/lib/portico\""),
        /// Users, tokens, service accounts and signing keys. The file is made at the first start.
        /// Or a PostgreSQL database, for several processes: each of them notices within a second what another one or
        /// the command line changed. The tables are in a schema of their own, `portico` unless the URL or the user has
        /// a `search_path`. All parameters of a connection's URL are taken:
        /// `postgres://portico:${STORE_PASSWORD}@db.example.org/portico?sslmode=verify-full`
        url: SecretString = TEXT.or(Text("sqlite:portico.db")),
        /// Where the password of a PostgreSQL user is when it is not in the URL, as in a connection's table.
        password_file: Option<PathBuf> = TEXT.example("\"/run/secrets/store\""),
        /// The same as a program and its arguments.
        password_command: Option<Vec<SecretString>> = TEXTS
            .example("[\"/usr/local/bin/vault\", \"read\", \"-field=password\", \"database/creds/portico\"]"),
        /// The socket by which `portico reload`, `health` and `doctor` ask the service that runs on this machine:
        /// beside a store that is a file, else beside this file. One for each process.
        control: Option<PathBuf> = TEXT.example("\"/run/portico/portico.control\""),
        /// A file with the key that signing keys are encrypted with: 32 octets, made by `openssl rand -base64 32`.
        /// Or give the key itself in the variable `PORTICO_STORE_KEY`. Without either they are stored as they are.
        key_file: Option<PathBuf> = TEXT.example("\"store.key\""),
    }
}

/// Where users, tokens, service accounts and keys are kept.
#[derive(Clone, Debug)]
pub struct Store {
    /// A SQLite file, or a PostgreSQL database.
    pub place: StoreLocation,
    /// What signing keys are encrypted with; without one they are stored as they are.
    pub key: Option<StoreKey>,
    /// The file that the key is in, where it is in one.
    pub key_file: Option<PathBuf>,
    /// The socket by which `portico reload`, `health` and `doctor` ask the running service.
    pub control: PathBuf,
}

impl Store {
    /// A store in the SQLite file at `path`.
    pub fn of_file(path: PathBuf) -> Self {
        Self { control: path.with_extension("control"), place: StoreLocation::File(path), key: None, key_file: None }
    }
}

/// Reads the table. Returns also the folder in which relative paths of written files start.
pub(in crate::config) fn read(root: &Section<'_>) -> (Store, PathBuf) {
    let section = root.table("store");
    let settings = StoreSettings::read(&section);
    let directory = section.base().join(settings.directory.unwrap_or_default());
    let (file, command) = (settings.password_file.as_ref(), settings.password_command.as_ref());
    let url = settings.url.expose_secret();
    let mut store = Store::of_file(directory.join("portico.db"));
    if (DRIVER.recognizes)(url) {
        let password = address::password(&section, file, command);
        store.place = StoreLocation::from(address::postgres(&section, url.to_owned(), password));
        store.control = directory.join(CONTROL);
    } else {
        for key in ["password_file", "password_command"].into_iter().filter(|key| section.has(key)) {
            section.problem(key, "this is for PostgreSQL", "remove this key");
        }
        match url.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            Some(path) => store = Store::of_file(directory.join(path)),
            None => section.problem(
                "url",
                // The value may hold a password: it is not repeated.
                "the store is kept in a SQLite file or in a PostgreSQL database",
                "write \"sqlite:portico.db\", or \"postgres://user:password@host:5432/database\"",
            ),
        }
    }
    if let Some(path) = settings.control {
        store.control = directory.join(path);
    }
    store.key_file = settings.key_file.as_ref().map(|file| section.base().join(file));
    store.key = key(&section, settings.key_file);
    (store, directory)
}

/// The key that encrypts signing keys, from the environment or from a file, but not from both.
fn key(section: &Section<'_>, file: Option<PathBuf>) -> Option<StoreKey> {
    let variable = section.environment(STORE_KEY).filter(|text| !text.is_empty());
    let text = match (file, variable) {
        (None, variable) => variable?,
        (Some(_), Some(_)) => {
            let message = format!("the environment has {STORE_KEY} too");
            section.problem("key_file", message, "give the key in one place");
            return None;
        }
        (Some(file), None) => {
            section.read_file("key_file", &file, "make it with `openssl rand -base64 32`, for this user alone")?
        }
    };
    StoreKey::parse(&text).map_err(|error| section.error("key_file", error, "")).ok()
}
