//! `portico grants`, and what `check`, `doctor` and the log say of a user that can do more than is exposed: on a
//! real server, as the role that was made.

mod generated;
mod reach;
mod script;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::support::configuration::Configuration;
use crate::support::process::{finished, portico, program};

/// A folder with the configuration of one connection, `shop`.
pub(crate) fn folder(url: &str, more: &str) -> TempDir {
    Configuration::new().connection("shop", url, more).write()
}

/// `portico grants shop …`, which succeeds: what it prints.
pub(crate) fn grants(folder: &TempDir, arguments: &[&str]) -> String {
    let output = portico(folder.path(), &[&["grants", "shop"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The same as JSON.
pub(crate) fn described(folder: &TempDir, arguments: &[&str]) -> Value {
    serde_json::from_str(&grants(folder, &[arguments, &["--json"]].concat())).unwrap()
}

/// The same where it fails: what it says.
pub(crate) fn refused(folder: &TempDir, arguments: &[&str]) -> String {
    let output = portico(folder.path(), &[&["grants", "shop"], arguments].concat());
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("applied"));
    String::from_utf8(output.stderr).unwrap()
}

/// A command with one variable of the environment.
pub(crate) fn with_variable(folder: &Path, arguments: &[&str], name: &str, value: &str) -> Output {
    finished(program().args(arguments).current_dir(folder).env(name, value))
}

/// The findings of `check` about the one connection: grade and words.
pub(crate) fn findings(folder: &TempDir) -> Vec<(String, String)> {
    let output = portico(folder.path(), &["check", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["connections"][0]["status"], "up", "{report}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["connections"][0]["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(&finding["grade"]), text(&finding["message"]))).collect()
}

/// Every right that anybody has on anything in the database, defaults written out.
pub(crate) async fn rights(admin: &Client) -> BTreeSet<String> {
    let rows = admin
        .query(
            "SELECT what || ' ' || COALESCE(a.grantee::regrole::text, '') || ' ' || a.privilege_type || ' ' || a.is_grantable
            FROM (
                SELECT 'class ' || oid, COALESCE(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", relowner))
                    FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
                UNION ALL SELECT 'column ' || attrelid || '.' || attnum, attacl FROM pg_attribute WHERE attacl IS NOT NULL
                UNION ALL SELECT 'schema ' || oid, COALESCE(nspacl, acldefault('n', nspowner)) FROM pg_namespace
                UNION ALL SELECT 'routine ' || oid, COALESCE(proacl, acldefault('f', proowner)) FROM pg_proc
                UNION ALL SELECT 'database ' || oid, COALESCE(datacl, acldefault('d', datdba)) FROM pg_database
                    WHERE datname = current_database()
                UNION ALL SELECT 'default ' || oid, defaclacl FROM pg_default_acl
            ) all_of_it(what, acl), aclexplode(acl) a",
            &[],
        )
        .await
        .unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect()
}

/// A name as a statement writes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name as one part of a URL.
pub(crate) fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
}
