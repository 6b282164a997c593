//! Resolves `${NAME}` and `${credential:NAME}` in the file.

use std::io;
use std::path::{Path, PathBuf};

/// Begins the name of a credential, as `LoadCredential=` of systemd hands it over.
pub(in crate::config) const CREDENTIAL: &str = "credential:";

/// Looks up a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The value of `name`: a variable of the process, or a file in `$CREDENTIALS_DIRECTORY`, read anew
/// each time, without the line's end that editors put behind it.
pub fn lookup(name: &str) -> Option<String> {
    let Some(credential) = name.strip_prefix(CREDENTIAL) else { return std::env::var(name).ok() };
    // One name in that folder, and no way out of it.
    if credential.is_empty() || credential.contains('/') || credential.starts_with('.') {
        return None;
    }
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY")?;
    let text = std::fs::read_to_string(Path::new(&folder).join(credential)).ok()?;
    Some(text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line)).to_owned())
}

/// Returns the path of this program, for those that launch it.
pub(crate) fn program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Replaces each `${NAME}` in `text`; `$${` stands for a literal `${`. Also returns the names without a value, and
/// `None` for one that is not closed.
pub(in crate::config) fn resolve<'t>(text: &'t str, environment: Environment<'_>) -> (String, Vec<Option<&'t str>>) {
    let (mut result, mut missing) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(literal) = before.strip_suffix('$') {
            result.push_str(literal);
            result.push_str("${");
            rest = after;
            continue;
        }
        result.push_str(before);
        let Some((variable, remainder)) = after.split_once('}') else {
            missing.push(None);
            return (result, missing);
        };
        match environment(variable) {
            Some(value) => result.push_str(&value),
            None => missing.push(Some(variable)),
        }
        rest = remainder;
    }
    result.push_str(rest);
    (result, missing)
}
