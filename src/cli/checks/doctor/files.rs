//! Checks who may read and write the files of the service.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use portico_actors::source::Access;
use rustix::fs::{Access as Mode, access};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::CheckResult;
use crate::audit::file::aside;
use crate::cli::manage::connection::has_password;
use crate::config::Config;

/// The mode bits for reading by others, and for writing by the group or others.
const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o022;

/// The configuration, the store with its key, the audit trail, the key of TLS, and databases that are files.
pub(super) fn permissions(file: &Path, config: &Config) -> Vec<CheckResult> {
    let mut findings = vec![configuration(file)];
    if let Some(store) = config.store.place.file() {
        findings.extend(secret("store", store));
        findings.extend(foreign(store));
    }
    findings.extend(config.store.key_file.as_deref().and_then(|file| secret("store", file)));
    if let Some(trail) = &config.audit.file {
        let aside = (1..=config.audit.keep).map(|number| aside(trail, number));
        findings.extend([trail.clone()].into_iter().chain(aside).filter_map(|file| secret("audit", &file)));
    }
    if let Some(tls) = &config.server.tls {
        findings.extend(secret("tls", &tls.key_file));
    }
    for connection in &config.connections {
        if let Some(path) = connection.location.file()
            && connection.access == Access::ReadWrite
            && path.exists()
            && access(path, Mode::WRITE_OK).is_err()
        {
            findings.push(CheckResult::problem(
                "permissions",
                format!("{} cannot be written, and connection {} has to write to it", path.display(), connection.name),
                "let the service's user write the file and its folder, or write access = \"read-only\"",
            ));
        }
        if let Some(path) = connection.location.file()
            && let Some(mode) = mode(path).filter(|mode| mode & OTHERS_WRITE != 0)
        {
            findings.push(CheckResult::warning(
                "permissions",
                format!("{} of connection {} may be written by others ({mode:o})", path.display(), connection.name),
                format!("chmod go-w {}", path.display()),
            ));
        }
    }
    findings
}

fn mode(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|metadata| metadata.mode() & 0o777)
}

fn configuration(file: &Path) -> CheckResult {
    let path = file.display();
    let Some(mode) = mode(file) else {
        return CheckResult::ok("permissions", format!("{path} is not a file on a disk"));
    };
    if mode & OTHERS_WRITE != 0 {
        let message = format!("{path} may be written by others ({mode:o}): whoever writes it reads every database");
        return CheckResult::problem("permissions", message, format!("run chmod go-w {path}"));
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let read = DeTable::parse(&text).ok();
    if mode & OTHERS_READ != 0 && read.is_some_and(|read| read.get_ref().values().any(holds_password)) {
        let message = format!("{path} holds a password and may be read by everybody ({mode:o})");
        return CheckResult::problem(
            "permissions",
            message,
            format!("run chmod o-r {path}, or write ${{credential:NAME}} or ${{NAME}} in the password's place"),
        );
    }
    CheckResult::ok("permissions", format!("{path} ({mode:o})"))
}

/// Whether a value of the configuration has an address with its password written out.
fn holds_password(value: &Spanned<DeValue<'_>>) -> bool {
    match value.get_ref() {
        DeValue::String(text) => has_password(text),
        DeValue::Array(values) => values.iter().any(holds_password),
        DeValue::Table(table) => table.values().any(holds_password),
        _ => false,
    }
}

/// Reports a store whose owner is not that of its folder, as when root created it instead of the service's user:
/// the service cannot write it.
fn foreign(store: &Path) -> Option<CheckResult> {
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (owner, host) = (store.metadata().ok()?.uid(), folder.metadata().ok()?.uid());
    let shown = store.display();
    (owner != host && host != 0).then(|| {
        CheckResult::problem(
            "store",
            format!("{shown} belongs to user {owner}, and its folder to user {host}"),
            format!("run chown --reference={} {shown}*, and run commands as the service's own user", folder.display()),
        )
    })
}

/// A file that is for its owner alone.
fn secret(subject: &'static str, path: &Path) -> Option<CheckResult> {
    let mode = mode(path)?;
    let shown = path.display();
    Some(if mode & 0o007 != 0 || mode & OTHERS_WRITE != 0 {
        CheckResult::problem(subject, format!("{shown} is open to others ({mode:o})"), format!("run chmod 600 {shown}"))
    } else {
        CheckResult::ok(subject, format!("{shown} is closed to others ({mode:o})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_where_it_is_written_out() {
        let holds = |text: &str| DeTable::parse(text).unwrap().get_ref().values().any(holds_password);
        for told in [
            "url = \"postgres://app:hunter2@db/sales\"",
            r#"[[connections]]\nurl = "postgres:\u002F/app:hunter2@db/sales""#.replace(r"\n", "\n").as_str(),
            "connections = [{ url = \"\"\"\\\npostgres://app:hun'ter2@db/sales\"\"\" }]",
        ] {
            assert!(holds(told), "{told}");
        }
        for harmless in [
            "url = \"postgres://app:${PASSWORD}@db/sales\"",
            "# url = \"postgres://app:hunter2@db/sales\"",
            "url = \"postgres://app@db/sales\"",
            "public_url = \"https://data.example.org:8443\"",
        ] {
            assert!(!holds(harmless), "{harmless}");
        }
    }
}
