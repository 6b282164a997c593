//! The folders of the user who runs the program (XDG Base Directory Specification), and files for that user alone.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use portico_actors::error::Error;

use crate::cli::common::Failure;

/// Returns the data folder of a service without configuration.
pub(super) fn data() -> Result<PathBuf, Error> {
    user("XDG_DATA_HOME", ".local/share")
}

/// Returns the folder for a user's settings and consents.
pub(super) fn config() -> Result<PathBuf, Error> {
    user("XDG_CONFIG_HOME", ".config")
}

fn user(variable: &str, usual: &str) -> Result<PathBuf, Error> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)));
    folder.map(|folder| folder.join("portico")).ok_or_else(|| {
        Error::invalid("this user has no home folder").hint(format!("set HOME, or {variable} to an absolute path"))
    })
}

/// Creates a folder for the current user alone, with its parents, if it is missing.
pub(super) fn make(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::io(format_args!("{} cannot be made", folder.display()), error))
}

/// Writes a file for this user alone: beside and renamed, so that a reader never sees half of it.
pub(super) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}
