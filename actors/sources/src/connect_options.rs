//! The configured address of a database and the credentials for it. Each driver interprets them itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// Where a connection leads, in the words of its configuration.
pub struct ConnectOptions<'a> {
    /// Its URL.
    pub url: String,
    /// Where the password is when it is not in the URL.
    pub password: Option<Password>,
    /// The pooler between the service and the database.
    pub pooler: Pooler,
    /// The directory that relative paths of files to read start from.
    pub base: &'a Path,
    /// The directory that relative paths of files to write start from.
    pub directory: &'a Path,
    /// Reads a variable of the environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

/// How sessions are opened as the callers' own roles. `{role}` is replaced by the role's name in the paths and in
/// the program's arguments.
#[derive(Clone, Debug)]
pub struct Login {
    /// Where each role's password is.
    pub password: Option<Password>,
    /// Certificate and key of each role.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// How long an unused session is kept.
    pub idle_timeout: Duration,
}

/// Where a password is kept.
#[derive(Clone, Debug)]
pub enum Password {
    /// Here, unless the URL has one.
    Value(SecretString),
    /// A file that contains nothing but the password.
    File(PathBuf),
    /// A program and its arguments; it prints the password. No shell is involved.
    Command(Vec<SecretString>),
}

impl Password {
    /// Replaces `{role}` by the name of one role.
    #[must_use]
    pub fn of_role(&self, role: &str) -> Self {
        match self {
            Self::Value(_) => self.clone(),
            Self::File(path) => Self::File(of_role(path, role)),
            Self::Command(words) => {
                let word = |word: &SecretString| SecretString::from(word.expose_secret().replace(ROLE, role));
                Self::Command(words.iter().map(word).collect())
            }
        }
    }
}

/// The placeholder for a role's name.
pub const ROLE: &str = "{role}";

/// Replaces `{role}` in `path` by the name of one role.
pub fn of_role(path: &Path, role: &str) -> PathBuf {
    PathBuf::from(path.to_string_lossy().replace(ROLE, role))
}

/// The pooler between the service and the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooler {
    /// None, or a pooler that keeps one server session for each of ours.
    #[default]
    Session,
    /// A pooler such as `PgBouncer` in transaction mode: each transaction may run on another server session, so no
    /// state may be left in one.
    Transaction,
}

/// Checks that a session can be opened as a role with this name: the name becomes a part of file paths and of a
/// program's arguments.
///
/// # Errors
/// The rest of a sentence that begins with what the name is for.
pub fn check_login_role(role: &str) -> std::result::Result<(), &'static str> {
    match role {
        "" => Err("is empty"),
        _ if role.starts_with('-') => Err("has a name that begins with -, as an option does"),
        _ if role.contains('/') => Err("has a name with /"),
        _ if role.contains("..") => Err("has a name with .."),
        _ if role.chars().any(char::is_control) => Err("has a name with control characters"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_login_role;

    #[test]
    fn names_that_would_be_another_file_or_an_option_are_refused() {
        for name in ["", "-h", "--help", "a/b", "/etc/passwd", "..", "a..b", "a\nb", "a\0", "\u{7f}", "\u{85}x"] {
            assert!(check_login_role(name).is_err(), "{name:?}");
        }
        for name in ["north", "o'neil \"x\"", "ann@example.org", "a.b", "a-b", "größe", "{role}", "$(id)"] {
            assert!(check_login_role(name).is_ok(), "{name:?}");
        }
    }
}
