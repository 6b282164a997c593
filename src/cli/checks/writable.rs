//! Whether the service could write its files beside the store, as the current user.

use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::config::Config;

/// A setting whose file or folder cannot be written.
pub(in crate::cli) struct Unwritable {
    /// The setting, the path, and what is wrong with it.
    pub(in crate::cli) message: String,
    /// The consequence.
    pub(in crate::cli) remedy: String,
}

/// Returns the findings about `config`, as far as the current user can tell.
pub(in crate::cli) fn look(config: &Config) -> Vec<Unwritable> {
    let trail = config.audit.file.as_deref().and_then(|file| unwritable("audit.file", file, folder_of(file)));
    [trail, spill_folder(config)].into_iter().flatten().collect()
}

/// Whether the folder of statements over several connections can be written, or made.
pub(in crate::cli) fn spill_folder(config: &Config) -> Option<Unwritable> {
    let folder = config.federation.spill_dir.as_path();
    // Missing parent folders are created with it.
    unwritable("federation.spill_dir", folder, folder.ancestors().map(or_here).find(|above| above.exists())?)
}

/// That `path` cannot be written, or made in `above` where it is not there.
fn unwritable(setting: &str, path: &Path, above: &Path) -> Option<Unwritable> {
    let place = if path.exists() { path } else { above };
    let wrong = if place.is_dir() {
        access(place, Access::WRITE_OK | Access::EXEC_OK).err()?
    } else if place == path {
        access(place, Access::WRITE_OK).err()?
    } else {
        Errno::NOTDIR
    };
    Some(Unwritable {
        message: format!("{setting}: {} cannot be written: {}: {wrong}", path.display(), place.display()),
        remedy: format!("let the service's user write {}, or change {setting}", place.display()),
    })
}

fn folder_of(path: &Path) -> &Path {
    or_here(path.parent().unwrap_or(path))
}

fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
