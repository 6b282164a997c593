//! Rights as listings and the store write them: the widest scope, and the connections within reach.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::principal::{Rights, Scope};

/// `scope`, the widest of them, and `reach`.
impl Serialize for Rights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        members(self, "reach", serializer)
    }
}

/// The same with the list under another name.
pub fn with_connections<S: Serializer>(rights: &Rights, serializer: S) -> Result<S::Ok, S::Error> {
    members(rights, "connections", serializer)
}

fn members<S: Serializer>(rights: &Rights, list: &'static str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut members = serializer.serialize_map(Some(2))?;
    members.serialize_entry("scope", &rights.widest())?;
    match Reached::list(rights) {
        None => members.serialize_entry(list, "all")?,
        Some(connections) => members.serialize_entry(list, &connections)?,
    }
    members.end()
}

/// One connection within reach, as listings and the store write it beside the widest scope.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reached {
    /// With the widest.
    Plain(Uuid),
    /// No further than this.
    Narrowed {
        /// The connection.
        id: Uuid,
        /// The word of the scope.
        scope: String,
    },
}

impl Reached {
    /// Every connection; `None` where no list could hold them all.
    pub fn list(rights: &Rights) -> Option<Vec<Self>> {
        let reached = |(id, scope): &(Uuid, Scope)| match scope {
            scope if *scope == rights.widest() => Self::Plain(*id),
            scope => Self::Narrowed { id: *id, scope: scope.word().to_owned() },
        };
        Some(rights.list()?.iter().map(reached).collect())
    }

    /// The connection and the scope it is reached with at most; `None` for a word that is no scope.
    pub fn read(self) -> Option<(Uuid, Scope)> {
        match self {
            Self::Plain(id) => Some((id, Scope::Admin)),
            Self::Narrowed { id, scope } => Some((id, Scope::from_word(&scope)?)),
        }
    }
}

/// Its word.
impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
