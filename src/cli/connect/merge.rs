//! Merges an entry into a client's own file: comments, order and everything else stay, and a copy of the file as it was
//! is kept beside it.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use portico_actors::error::Error;
use serde::de::IgnoredAny;
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::cli::common::Failure;
use crate::client_setup::mcp_server::McpServer;
use crate::client_setup::setup::{self, Entry, File};

/// A file with the entry in it, which is still to be written.
pub(super) struct Merged {
    /// The file to write: if the client's file is a link, its target.
    path: PathBuf,
    text: String,
    is_new: bool,
    has_secret: bool,
}

impl Merged {
    /// Merges the entry of `file` into the file at `own`.
    ///
    /// # Errors
    /// The file cannot be read, or has something else in the entry's place.
    pub(super) fn new(own: &Path, file: &File, place: &McpServer) -> Result<Self, Failure> {
        let path = fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
        let before = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::unreadable(&path)(error)),
        };
        let text = before.as_deref().unwrap_or_default();
        let text = match &file.entry {
            Entry::Json(table, value) => {
                json(&path, text, (*table, place.name(), value), file.has_comments, &place.server)?
            }
            Entry::Toml(table, keys) => toml(&path, text, (*table, place.name(), keys.as_slice()), &place.server)?,
        };
        Ok(Self { path, text, is_new: before.is_none(), has_secret: file.has_secret })
    }

    /// Writes the file. Returns the path of the backup, if there was a file before.
    pub(super) fn write(&self) -> Result<Option<PathBuf>, Failure> {
        let unwritten = |error| Failure::io(format_args!("{} cannot be written", self.path.display()), error);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(unwritten)?;
        }
        let copy = if self.is_new { None } else { Some(back_up(&self.path).map_err(unwritten)?) };
        replace(&self.path, &self.text, self.has_secret).map_err(unwritten)?;
        Ok(copy)
    }
}

/// The JSON text with one more member of the object `table`.
fn json(
    path: &Path,
    text: &str,
    (table, name, value): (&str, &str, &Value),
    has_comments: bool,
    server: &str,
) -> Result<String, Error> {
    let strict = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    let odd = |what: &str| {
        Error::invalid(format!("{}: {what}", path.display()))
            .hint("correct the file, or leave out --write and paste what is printed")
    };
    // A file that the client cannot read must be repaired by its user first.
    if !has_comments && !text.trim().is_empty() {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| odd(&error.to_string()))?;
    }
    let root = CstRootNode::parse(text, &strict).map_err(|error| odd(&error.to_string()))?;
    if root.value().is_none() {
        root.set_value(CstInputValue::Object(Vec::new()));
    }
    let whole = root.object_value().ok_or_else(|| odd("it holds no object"))?;
    let servers = whole.object_value_or_create(table).ok_or_else(|| odd(&format!("{table:?} is not an object")))?;
    match servers.get(name) {
        Some(member) => {
            let there = member.value().and_then(|node| node.to_serde_value()).unwrap_or_default();
            ours(path, name, &there, server)?;
            member.set_value(input(value));
        }
        None => drop(servers.append(name, input(value))),
    }
    Ok(end_line(root.to_string()))
}

/// The TOML text with one more table of the table `table`.
fn toml(
    path: &Path,
    text: &str,
    (table, name, keys): (&str, &str, &[(&'static str, String)]),
    server: &str,
) -> Result<String, Error> {
    let odd = |what: &str| {
        Error::invalid(format!("{}: {what}", path.display()))
            .hint("correct the file, or leave out --write and paste what is printed")
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| odd(error.message()))?;
    let there = document.get(table).and_then(|servers| servers.get(name));
    if let Some(there) = there {
        let url = there.get("url").and_then(toml_edit::Item::as_str).unwrap_or_default();
        ours(path, name, &serde_json::json!({"url": url}), server)?;
    }
    if !setup::insert(&mut document, table, name, keys) {
        return Err(odd(&format!("{table:?} is not a table")));
    }
    Ok(end_line(document.to_string()))
}

/// Checks that an existing entry of that name is for this server, and may be replaced.
fn ours(path: &Path, name: &str, there: &Value, server: &str) -> Result<(), Error> {
    let leads_here = ["url", "httpUrl"].iter().any(|key| {
        there[*key].as_str().and_then(|url| url.strip_prefix(server)).is_some_and(|rest| rest.starts_with('/'))
    });
    let arguments = there["args"].as_array().map_or(&[][..], Vec::as_slice);
    let speaks_for_it = arguments.first().is_some_and(|first| first == "stdio");
    if leads_here || speaks_for_it {
        return Ok(());
    }
    Err(Error::invalid(format!("{}: it has another server named {name:?} already", path.display()))
        .hint("remove or rename that one, or leave out --write and paste what is printed under another name"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

fn end_line(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Copies the file to an unused name, with its permissions.
fn back_up(path: &Path) -> io::Result<PathBuf> {
    for number in 1.. {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(if number == 1 { ".before-portico".to_owned() } else { format!(".before-portico-{number}") });
        let copy = path.with_file_name(name);
        if !copy.exists() {
            fs::copy(path, &copy)?;
            return Ok(copy);
        }
    }
    Err(io::Error::other("no name is left for a copy"))
}

/// Writes a new file and renames it, so that the client never reads half of it. Keeps the permissions, but removes
/// those of others if it now contains a secret.
fn replace(path: &Path, text: &str, has_secret: bool) -> io::Result<()> {
    let before = fs::metadata(path).map(|found| found.permissions().mode() & 0o777).ok();
    let mode = match (before, has_secret) {
        (None, _) => 0o600,
        (Some(mode), true) => mode & 0o700,
        (Some(mode), false) => mode,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".portico-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.set_permissions(Permissions::from_mode(mode)));
    written.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
