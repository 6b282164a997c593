//! The address of a PostgreSQL database with everything that it needs besides.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::connect_options::{ConnectOptions, Login, Password, Pooler};

/// The address of a PostgreSQL database with everything that it needs besides.
#[derive(Clone, Debug)]
pub struct Address {
    /// A `postgres://` URL, with libpq's parameters behind the question mark.
    pub url: SecretString,
    /// Where the password is when it is not in the URL.
    pub password: Option<Password>,
    /// The pooler between the service and the database.
    pub pooler: Pooler,
    /// How callers sign in as roles of their own; absent where the sessions are all of the URL's user.
    pub login: Option<Login>,
    /// Files that the URL may refer to.
    pub files: Files,
}

/// Files of libpq's that an address may refer to.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Where relative paths start.
    pub base: PathBuf,
    /// The password file, unless the URL names another.
    pub passfile: Option<PathBuf>,
    /// The service files, the user's own first.
    pub services: Vec<PathBuf>,
}

impl From<ConnectOptions<'_>> for Address {
    fn from(endpoint: ConnectOptions<'_>) -> Self {
        let ConnectOptions { url, password, pooler, base, environment, .. } = endpoint;
        Self {
            url: SecretString::from(url),
            password,
            pooler,
            login: None,
            files: Files::from_environment(environment, base),
        }
    }
}

impl Files {
    /// The files where libpq looks for them (PostgreSQL, §34.15 to §34.17).
    fn from_environment(environment: &dyn Fn(&str) -> Option<String>, base: &Path) -> Self {
        let of = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = of("HOME");
        let own = of("PGSERVICEFILE").or_else(|| home.as_ref().map(|home| home.join(".pg_service.conf")));
        let everyones = of("PGSYSCONFDIR").map(|folder| folder.join("pg_service.conf"));
        Self {
            base: base.to_owned(),
            passfile: of("PGPASSFILE").or_else(|| home.map(|home| home.join(".pgpass"))),
            services: own.into_iter().chain(everyones).collect(),
        }
    }
}

impl From<&str> for Address {
    /// Makes an address of a URL alone.
    fn from(url: &str) -> Self {
        Self {
            url: SecretString::from(url),
            password: None,
            pooler: Pooler::default(),
            login: None,
            files: Files::default(),
        }
    }
}

impl From<String> for Address {
    /// Makes an address of a URL alone.
    fn from(url: String) -> Self {
        Self::from(url.as_str())
    }
}
