//! A configuration without a file: one database, as it is named on a command line, and everything else as usual.

use portico_actors::source::Access;
use sha2::{Digest as _, Sha256};
use toml::Value;
use uuid::{Builder, Uuid};

use crate::config::declared::problem::Problem;
use crate::config::declared::setting::{NamedValues, is_name};

/// One database.
#[derive(Clone, Copy, Debug)]
pub struct Database<'a> {
    /// Its address, as it would stand in a file: `${NAME}` is taken from the environment.
    pub url: &'a str,
    /// Its name; derived from the address if absent.
    pub name: Option<&'a str>,
    /// The access to it.
    pub access: Access,
}

/// The name if the address contains none.
const USUAL_NAME: &str = "database";

impl Database<'_> {
    /// Its name in statements.
    pub fn name(&self) -> String {
        self.name.map_or_else(|| name_of(self.url), str::to_owned)
    }

    /// A problem of a key as one of the option that the key is made of.
    pub fn option(problem: Problem) -> Problem {
        let is_of_connection = problem.key.starts_with("connections[0].");
        let key = match problem.key.rsplit('.').next() {
            Some("name") if is_of_connection => "--name".to_owned(),
            Some(_) if is_of_connection => "--url".to_owned(),
            _ => problem.key,
        };
        Problem { line: 0, key, ..problem }
    }

    /// Returns its text for a configuration file.
    pub(super) fn text(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let (name, access) = (self.name(), self.access.as_str());
        format!(
            "[[connections]]\nid = \"{}\"\nname = {}\nurl = {}\naccess = \"{access}\"\n",
            id_of(&name),
            text(&name),
            text(self.url)
        )
    }
}

/// The same id for the same name: addresses go on to work in another run.
fn id_of(name: &str) -> Uuid {
    let digest = Sha256::digest(format!("portico connection {}", name.to_ascii_lowercase()));
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest).for_each(|(byte, digest)| *byte = digest);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// A name for the database at `url`: that of the database, or of the file, as far as it can stand in a statement.
fn name_of(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or_default();
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => address.split_once(':').map_or("", |(_, path)| path),
    };
    let stem = path.rsplit('/').next().and_then(|last| last.split('.').next()).unwrap_or_default();
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let name: String = stem.chars().map(letter).collect();
    let name = name.trim_matches('_');
    if is_name(name, "_") { name.to_owned() } else { USUAL_NAME.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_address() {
        for (url, name) in [
            ("postgres://app:secret@db.internal:5432/sales", "sales"),
            ("postgres://app:se%2Fcret@db.internal/Sales-2026?sslmode=require", "sales_2026"),
            ("postgres://app@db.internal:5432", "database"),
            ("postgres://app@db.internal", "database"),
            ("postgres://db.internal/", "database"),
            ("postgres:///crm?host=/run/postgresql", "crm"),
            ("sqlite:shop.db", "shop"),
            ("sqlite:/var/lib/data/shop.sqlite3", "shop"),
            ("sqlite:../2026.db", "database"),
            ("", "database"),
        ] {
            let database = Database { url, name: None, access: Access::ReadOnly };
            assert_eq!(database.name(), name, "{url}");
        }
    }
}
