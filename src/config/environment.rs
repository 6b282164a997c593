//! What `${NAME}` and `${credential:NAME}` in the file stand for.

use std::path::Path;

/// Begins the name of a credential, as `LoadCredential=` of systemd hands it over.
pub(super) const CREDENTIAL: &str = "credential:";

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
