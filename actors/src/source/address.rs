//! Where a PostgreSQL database is, and how one gets in: what the configuration says of it. What it
//! means is the driver's business.

use std::path::PathBuf;

use secrecy::SecretString;

/// The address of a PostgreSQL database with everything that it needs besides.
#[derive(Clone, Debug)]
pub struct Address {
    /// A `postgres://` URL, with libpq's parameters behind the question mark.
    pub url: SecretString,
    /// Where the password is when it is not in the URL.
    pub password: Option<Password>,
    /// What stands between us and the database.
    pub pooler: Pooler,
    /// Files that the URL may refer to.
    pub files: Files,
}

/// Where a password is kept.
#[derive(Clone, Debug)]
pub enum Password {
    /// Here, unless the URL has one.
    Value(SecretString),
    /// A file that holds nothing else.
    File(PathBuf),
    /// A program and its arguments; it prints the password. No shell is involved.
    Command(Vec<SecretString>),
}

/// What stands between us and the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooler {
    /// Nothing, or a pooler that keeps one server session for each of ours.
    #[default]
    Session,
    /// A pooler such as `PgBouncer` in transaction mode: each transaction may meet another server
    /// session, so nothing may be left in one.
    Transaction,
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

impl<T: Into<String>> From<T> for Address {
    /// A URL that needs nothing besides.
    fn from(url: T) -> Self {
        Self { url: SecretString::from(url.into()), password: None, pooler: Pooler::default(), files: Files::default() }
    }
}
