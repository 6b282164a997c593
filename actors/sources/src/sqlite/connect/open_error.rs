//! Why a database file cannot be opened: a message for callers without a path, and a remedy for the administrator.
//! The path and similar names in its folder stay in the cause.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::ErrorCode;

use portico_core::error::{Error, Kind};
use portico_core::near;

/// Files of the folder that are looked at for near names.
const LOOKED_AT: usize = 1000;

/// The file at `path` cannot be opened, to be written where `writes`.
pub(crate) fn unopened(path: &Path, writes: bool, error: &rusqlite::Error) -> Error {
    let told = |message: &str, remedy: &str| {
        Error::new(Kind::Unavailable, message).because(format!("{}: {error}", path.display())).hint(remedy)
    };
    match path.metadata() {
        Err(missing) if missing.kind() == ErrorKind::NotFound => {
            let cause = format!("{} is not there{}", path.display(), beside(path));
            told(
                "the database file does not exist",
                "an administrator has to correct the path in url, or put the file there; relative paths start at the \
                 configuration's folder, or at store.directory",
            )
            .because(cause)
        }
        Err(refused) if refused.kind() == ErrorKind::PermissionDenied => told(
            "the folder of the database file cannot be entered",
            "an administrator has to let the service's user enter the folder",
        ),
        Ok(found) if found.is_dir() => told(
            "there is a folder in the place of the database file",
            "an administrator has to name the file itself in url",
        ),
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => told(
                "the file is not a SQLite database",
                "an administrator has to name another file in url: this one is of another kind, encrypted or damaged",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => told(
                "another process holds the database file",
                "an administrator has to end that process, or make it commit sooner",
            ),
            Some(ErrorCode::DiskFull) => {
                told("the database's disk is full", "an administrator has to make room on it").sqlstate("53100")
            }
            Some(ErrorCode::ReadOnly) => read_only(path),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) if writes => told(
                "the database file cannot be opened for writing",
                "an administrator has to let the service's user read and write the file and its folder, or set access \
                 = \"read-only\"",
            ),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => told(
                "the database file cannot be opened",
                "an administrator has to let the service's user read the file and its folder",
            ),
            _ => told("the database file cannot be opened or read", "the log has the reason"),
        },
    }
}

/// The file at `path` is to be written, and only allows to be read.
pub(crate) fn read_only(path: &Path) -> Error {
    Error::forbidden("the database file is read-only, and this connection is configured to write to it")
        .sqlstate("25006")
        .because(format!("{} is read-only for this user", path.display()))
        .hint(
            "an administrator has to let the service's user write the file and its folder, or set access = \
             \"read-only\"",
        )
}

/// Describes similar names in the folder of `path`, or says that the folder does not exist.
fn beside(path: &Path) -> String {
    let Some(folder) = path.parent() else { return String::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = folder.read_dir() else { return ", and neither is its folder".to_owned() };
    let names = entries.take(LOOKED_AT).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let sought = path.file_name().unwrap_or_default().to_string_lossy();
    let offered = near::suggestion(&sought, names.iter().map(String::as_str));
    offered.map_or_else(String::new, |offered| format!(": {offered}"))
}
