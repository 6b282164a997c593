//! Edits `config.toml` in place: comments and order are kept, what `portico check` would refuse is not written, and
//! the running service takes the change over.

use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use portico_actors::error::{Error, Kind};
use portico_actors::near;
use serde_json::{Value, json};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

use crate::cli::common::{Common, Failure};
use crate::cli::running::control::{self, Unanswered};
use crate::config::{Config, Problem, Problems, lookup};

/// A configuration that is being changed.
pub(in crate::cli) struct Edit {
    path: PathBuf,
    /// Where relative paths in it start.
    base: PathBuf,
    document: DocumentMut,
    /// The text that was read.
    read: String,
}

/// The outcome of a change.
pub(in crate::cli) enum Takeover {
    /// The service has taken it over, and says so.
    Taken(String),
    /// No service runs here.
    Nobody,
}

impl Edit {
    /// Begins to change the file of the command line.
    pub(in crate::cli) fn begin(common: &Common) -> Result<Self, Failure> {
        let given = &common.config;
        let unreadable = |error: io::Error| {
            if error.kind() == io::ErrorKind::NotFound {
                let missing = Error::not_found(format!("there is no configuration: {} is not there", given.display()));
                return missing.hint("portico init writes one; or name yours with --config").into();
            }
            Failure::unreadable(given)(error)
        };
        let text = std::fs::read_to_string(given).map_err(unreadable)?;
        // The target of a link is changed, not the link.
        let path = std::fs::canonicalize(given).map_err(Failure::unreadable(given))?;
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            Failure::Config(Problems(vec![Problem {
                file: Some(given.display().to_string()),
                line: before.matches('\n').count() + 1,
                column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
                message: error.message().to_owned(),
                remedy: "correct the TOML syntax on this line".to_owned(),
                ..Problem::default()
            }]))
        })?;
        // Relative paths start where the file is named, as for every other command.
        let base = given.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { path, base, document, read: text })
    }

    /// Puts a table behind the others of a list.
    pub(in crate::cli) fn push(&mut self, list: &str, table: Table) -> Result<(), Error> {
        let item = self.document.entry(list).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        if let Item::ArrayOfTables(tables) = item {
            tables.push(table);
        } else if let Some(array) = item.as_array_mut() {
            array.push(table.into_inline_table());
        } else {
            return Err(no_list(list));
        }
        Ok(())
    }

    /// Takes the table of this name out of the list of its kind, and has the service that runs take that over.
    pub(in crate::cli) fn take_out(what: &str, name: &str, common: &Common) -> Result<(), Failure> {
        let mut edit = Self::begin(common)?;
        edit.remove(&format!("{what}s"), what, name)?;
        let config = edit.judged()?;
        let takeover = edit.write(&config)?;
        let mut record = json!({"name": name});
        takeover.add_to(&mut record);
        common.print(&record, format_args!("removed {name}; {}", takeover.words()));
        Ok(())
    }

    /// Removes the table of this name from a list. Text above it that is separated by a blank line stays.
    fn remove(&mut self, list: &str, what: &str, name: &str) -> Result<(), Error> {
        let is_it = |named: Option<&str>| named.is_some_and(|named| named.eq_ignore_ascii_case(name));
        let mut known: Vec<String> = Vec::new();
        let mut note = |named: Option<&str>| {
            known.extend(named.map(str::to_owned));
            is_it(named)
        };
        let found = match self.document.get(list) {
            None => None,
            Some(Item::ArrayOfTables(tables)) => tables.iter().position(|table| note(name_of(table.get("name")))),
            Some(item) => {
                let array = item.as_array().ok_or_else(|| no_list(list))?;
                array.iter().position(|value| note(inline_name(value.as_inline_table())))
            }
        };
        let Some(found) = found else {
            let offered = near::suggestion(name, known.iter().map(String::as_str));
            let listed = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
            let missing = Error::not_found(format!("there is no {what} {name:?}"));
            return Err(missing.hint(offered.unwrap_or_else(|| format!("{what}s: {listed}"))));
        };
        if let Some(array) = self.document.get_mut(list).and_then(Item::as_array_mut) {
            array.remove(found);
            return Ok(());
        }
        let (mut apart, mut next_position) = (String::new(), None);
        if let Some(tables) = self.document.get_mut(list).and_then(Item::as_array_of_tables_mut) {
            let removed = tables.remove(found);
            apart.push_str(above(removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default()));
            next_position = removed.position();
        }
        if apart.trim().is_empty() {
            return Ok(());
        }
        match next_position.and_then(|position| following(self.document.as_table_mut(), position)) {
            Some(next) => {
                let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or("\n").to_owned();
                next.decor_mut().set_prefix(format!("{apart}{own}"));
            }
            None => {
                let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
                self.document.set_trailing(format!("{apart}{trailing}"));
            }
        }
        Ok(())
    }

    /// Returns the configuration that the file would be, with variables that this command does not have.
    ///
    /// # Errors
    /// The problems that `portico check` would report.
    pub(in crate::cli) fn judged(&self) -> Result<Config, Failure> {
        let (text, base) = (self.document.to_string(), &self.base);
        match Config::parse(&text, base, &lookup) {
            Ok(config) => Ok(config),
            Err(problems) => Config::parse_for_store(&text, base, &lookup).map_err(|_| Failure::Refused(problems)),
        }
    }

    /// Writes the file, and has the service that runs take it over.
    pub(in crate::cli) fn write(self, config: &Config) -> Result<Takeover, Failure> {
        check_unchanged(&self.path, &self.read)?;
        write(&self.path, &self.document.to_string())
            .map_err(|error| Failure::io(format_args!("{} cannot be written", self.path.display()), error))?;
        match actix::System::new().block_on(control::ask_to_reload(&config.store.control, &self.path)) {
            Ok(answer) if answer.ok => Ok(Takeover::Taken(answer.message)),
            Ok(answer) => Err(Failure::NotTakenOver(Problems(answer.problems))),
            Err(Unanswered::Nobody(_)) => Ok(Takeover::Nobody),
            Err(unanswered) => Err(Error::new(Kind::Unavailable, format!("the file was written; {unanswered}"))
                .hint("portico reload has the service take it over")
                .into()),
        }
    }

    /// Whether others than the owner may read the file.
    pub(in crate::cli) fn is_open(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
    }
}

impl Takeover {
    /// For people.
    pub(in crate::cli) fn words(&self) -> String {
        match self {
            Self::Taken(message) => format!("the running service has taken it over: {message}"),
            Self::Nobody => "no service runs with this file; portico serve starts one".to_owned(),
        }
    }

    /// For programs.
    pub(in crate::cli) fn add_to(&self, record: &mut Value) {
        record["taken"] = json!(matches!(self, Self::Taken(_)));
    }
}

fn no_list(list: &str) -> Error {
    Error::invalid(format!("{list}: this is not a list of tables")).hint(format!("write [[{list}]] tables in the file"))
}

fn name_of(item: Option<&Item>) -> Option<&str> {
    item.and_then(Item::as_str)
}

fn inline_name(table: Option<&InlineTable>) -> Option<&str> {
    table.and_then(|table| table.get("name")).and_then(toml_edit::Value::as_str)
}

/// Returns the text above a table's own comment, separated by a blank line.
fn above(prefix: &str) -> &str {
    let own = prefix.rfind("\n\n").map_or(0, |at| at + 1);
    prefix.get(..own).unwrap_or_default()
}

/// Returns the table after the one at `position`, anywhere in the file.
fn following(table: &mut Table, position: isize) -> Option<&mut Table> {
    let mut least: Option<isize> = None;
    each(table, &mut |table| {
        if let Some(at) = table.position().filter(|at| *at > position) {
            least = Some(least.map_or(at, |least| least.min(at)));
        }
    });
    find(table, least?)
}

fn children(table: &mut Table) -> impl Iterator<Item = &mut Table> {
    table.iter_mut().flat_map(|(_, item)| -> Box<dyn Iterator<Item = &mut Table>> {
        match item {
            Item::Table(table) => Box::new(std::iter::once(table)),
            Item::ArrayOfTables(tables) => Box::new(tables.iter_mut()),
            _ => Box::new(std::iter::empty()),
        }
    })
}

fn each(table: &mut Table, look: &mut impl FnMut(&Table)) {
    for child in children(table) {
        look(child);
        each(child, look);
    }
}

fn find(table: &mut Table, position: isize) -> Option<&mut Table> {
    for child in children(table) {
        if child.position() == Some(position) {
            return Some(child);
        }
        if let Some(found) = find(child, position) {
            return Some(found);
        }
    }
    None
}

/// Refuses to write if the file was changed since it was read: that change would be lost.
fn check_unchanged(path: &Path, read: &str) -> Result<(), Failure> {
    if std::fs::read_to_string(path).map_err(Failure::unreadable(path))? == read {
        return Ok(());
    }
    let changed = format!("{} was changed by another program meanwhile; nothing was written", path.display());
    Err(Error::new(Kind::Conflict, changed).hint("run the command again").into())
}

/// Writes a new file and renames it, so that no one reads half of it, with the former owner and mode.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let before = std::fs::metadata(path)?;
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(before.permissions())?;
    let own = file.as_file().metadata()?;
    if (own.uid(), own.gid()) != (before.uid(), before.gid())
        && chown(file.path(), Some(before.uid()), Some(before.gid())).is_err()
    {
        // A user who may write the file but not change its owner writes into it.
        return std::fs::write(path, text);
    }
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A list of texts, or of tables on a line each.
pub(in crate::cli) fn lines(values: impl IntoIterator<Item = toml_edit::Value>) -> Array {
    let mut array: Array = values.into_iter().collect();
    for value in array.iter_mut() {
        value.decor_mut().set_prefix("\n    ");
    }
    array.set_trailing("\n");
    array.set_trailing_comma(true);
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_writes_meanwhile_is_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "a = 1\n").unwrap();
        assert!(check_unchanged(&path, "a = 1\n").is_ok());
        std::fs::write(&path, "a = 2\n").unwrap();
        assert!(
            matches!(check_unchanged(&path, "a = 1\n"), Err(Failure::Error(error)) if error.kind == Kind::Conflict)
        );
    }
}
