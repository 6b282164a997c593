//! The password: from the URL, a file, a program, or libpq's password file. The output of a file or a program is
//! cached until the source refuses it.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::options::Host;
use crate::connect_options::Password;
use portico_core::error::{Error, Kind, Result};

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets of a password at most.
const LONGEST: u64 = 16 * 1024;

/// Where an address has its password.
pub(crate) enum Passwords {
    /// In the URL.
    Given(SecretString),
    /// In a file or with a program; the value as last read.
    Kept(Password, Mutex<Option<SecretString>>),
    /// In libpq's password file, by host, port, database and user (§34.16).
    Listed(PathBuf),
    /// No password: none is needed, or a certificate replaces it.
    None,
}

/// The currently known passwords.
pub(crate) enum KnownPasswords {
    /// One for every host.
    One(SecretString),
    /// The lines of a password file.
    Lines(SecretString),
    /// None; with the reason, if it is worth reporting.
    None(Option<&'static str>),
}

impl Passwords {
    /// The password, read if it was not yet; anew where the source has refused `refused`.
    pub(crate) async fn read(&self, refused: Option<&SecretString>) -> Result<KnownPasswords> {
        match self {
            Self::None => Ok(KnownPasswords::None(None)),
            Self::Given(password) => Ok(KnownPasswords::One(password.clone())),
            Self::Listed(path) => {
                let path = path.clone();
                spawn_blocking(move || listed(&path)).await.map_err(Error::internal)
            }
            Self::Kept(place, kept) => {
                // A second caller waits here, and finds what the first one has read.
                let mut kept = kept.lock().await;
                let is_refused = |known: &SecretString| {
                    refused.is_some_and(|refused| refused.expose_secret() == known.expose_secret())
                };
                if let Some(known) = kept.as_ref().filter(|known| !is_refused(known)) {
                    return Ok(KnownPasswords::One(known.clone()));
                }
                *kept = None;
                let read = fetch(place.clone()).await?;
                *kept = Some(read.clone());
                Ok(KnownPasswords::One(read))
            }
        }
    }

    /// Whether reading again may bring another password.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self, Self::Kept(..))
    }
}

impl KnownPasswords {
    /// The password for one host.
    pub(crate) fn find(&self, host: &Host, database: &str, user: &str) -> Option<SecretString> {
        match self {
            Self::One(password) => Some(password.clone()),
            Self::None(_) => None,
            Self::Lines(lines) => {
                let port = host.port.to_string();
                let name = if host.socket().is_some() { "localhost" } else { &host.name };
                let wanted = [name, &port, database, user];
                lines.expose_secret().lines().find_map(|line| matching(line, wanted)).map(SecretString::from)
            }
        }
    }
}

/// The password is not where it should be.
fn unread(cause: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unavailable, "the password of this connection cannot be read")
        .because(cause)
        .hint("an administrator has to check password_file or password_command; portico check tries them")
}

async fn fetch(place: Password) -> Result<SecretString> {
    let text = match place {
        Password::File(path) => spawn_blocking(move || {
            let mut text = String::new();
            let read = fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
            read.map(|_| text).map_err(|error| unread(format!("password_file cannot be read: {error}")))
        })
        .await
        .map_err(Error::internal)??,
        Password::Value(password) => password.expose_secret().to_owned(),
        Password::Command(words) => printed(words, PATIENCE).await?,
    };
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(unread("password_file or password_command gave nothing"));
    }
    Ok(SecretString::from(password))
}

/// Returns a program's output. If it takes too long, it is killed with all its children.
async fn printed(words: Vec<SecretString>, patience: Duration) -> Result<String> {
    let mut words = words.iter().map(ExposeSecret::expose_secret);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    // Starting a program may take as long as reading it from a disk.
    let started = spawn_blocking(move || command.spawn()).await.map_err(Error::internal)?;
    let mut child = started.map_err(|error| unread(format!("password_command cannot be run: {error}")))?;
    let group = Group(rustix::process::Pid::from_child(&child));
    let reading = spawn_blocking(move || read(&mut child));
    let read = match timeout(patience, reading).await {
        Ok(read) => read.map_err(Error::internal)?,
        Err(_) => Err(unread(format!("password_command took longer than {patience:?}"))),
    };
    drop(group);
    read
}

fn read(child: &mut Child) -> Result<String> {
    let mut text = String::new();
    let read = child.stdout.take().map(|output| output.take(LONGEST).read_to_string(&mut text));
    let status = child.wait().map_err(Error::internal)?;
    match read {
        Some(Ok(_)) if status.success() => Ok(text),
        Some(Err(error)) => Err(unread(format!("what password_command printed cannot be read: {error}"))),
        _ => Err(unread(format!("password_command ended with {status}"))),
    }
}

/// The process group of a program; killed on drop.
struct Group(rustix::process::Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended by itself, as it should.
        let _ = rustix::process::kill_process_group(self.0, rustix::process::Signal::KILL);
    }
}

/// Returns the lines of a password file, unless others may read it: libpq ignores such a file.
fn listed(path: &Path) -> KnownPasswords {
    let file = match fs::metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return KnownPasswords::None(None),
        Err(_) => return KnownPasswords::None(Some("the password file cannot be read")),
    };
    if !file.is_file() {
        return KnownPasswords::None(Some("the password file is not a regular file"));
    }
    if file.mode() & 0o077 != 0 {
        return KnownPasswords::None(Some("the password file is ignored, because others may read it: chmod 600 it"));
    }
    match fs::read_to_string(path) {
        Ok(text) => KnownPasswords::Lines(SecretString::from(text)),
        Err(_) => KnownPasswords::None(Some("the password file cannot be read")),
    }
}

/// Returns the password of a line `host:port:database:user:password` that matches; `*` matches everything, and a
/// backslash escapes a colon or backslash within a field.
fn matching(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields: Vec<String> = vec![String::new()];
    let mut letters = line.trim_end_matches('\r').chars();
    while let Some(letter) = letters.next() {
        // The password is the rest of the line, colons and all.
        if letter == ':' && fields.len() < 5 {
            fields.push(String::new());
            continue;
        }
        let escaped = if letter == '\\' { letters.next() } else { None };
        fields.last_mut()?.push(escaped.unwrap_or(letter));
    }
    let password = if fields.len() == 5 { fields.pop()? } else { return None };
    fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted).then_some(password)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_hangs_is_ended_with_everything_that_it_started() {
        let words = ["sh", "-c", "sleep 1000 & sleep 1000"].map(SecretString::from).to_vec();
        let failure = printed(words, Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(failure.cause(), Some("password_command took longer than 50ms"));
        // The runtime's shutdown waits for the reading thread: the process that holds the pipe must have ended.
    }

    #[tokio::test]
    async fn a_program_says_the_password_or_why_not() {
        let run = |script: &str| printed(["sh", "-c", script].map(SecretString::from).to_vec(), PATIENCE);
        assert_eq!(run("echo secret; echo noise >&2").await.unwrap(), "secret\n");
        let failure = run("echo secret; exit 3").await.unwrap_err();
        assert_eq!(failure.cause(), Some("password_command ended with exit status: 3"));
        let absent = printed(vec![SecretString::from("/nowhere/at/all")], PATIENCE).await.unwrap_err();
        assert!(absent.cause().unwrap().starts_with("password_command cannot be run"));
    }

    #[test]
    fn password_files_are_read_as_libpq_does() {
        let wanted = ["db", "5432", "sales", "app"];
        let cases = [
            ("db:5432:sales:app:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            ("db:*:sales:app:a\\:b\\\\c", Some("a:b\\c")),
            ("db:5432:sales:app:a:b", Some("a:b")),
            ("#db:5432:sales:app:secret", None),
            ("other:5432:sales:app:secret", None),
            ("db:5432:sales:app", None),
            ("", None),
        ];
        for (line, password) in cases {
            assert_eq!(matching(line, wanted).as_deref(), password, "{line}");
        }
        assert_eq!(matching("::1:5432:d:u:p", ["::1", "5432", "d", "u"]), None, "colons of a host are escaped");
        assert_eq!(matching("\\:\\:1:5432:d:u:p", ["::1", "5432", "d", "u"]).as_deref(), Some("p"));
    }
}
