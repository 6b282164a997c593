//! Finds the keys of the file that have changed since it was last read, without keeping any value. The consequence
//! of a change is declared with each setting.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::problem::{Position, Problem};
use super::section::Section;
use super::setting::{Kind, Reload};

/// The digest and the position of a key.
#[derive(Clone, Copy, Debug)]
struct Key {
    digest: u64,
    position: Position,
    reload: Reload,
}

/// A digest of each key of the file, with its place; lists of tables are one key.
#[derive(Clone, Debug, Default)]
pub struct Keys(BTreeMap<String, Key>);

impl Keys {
    /// Of the whole file.
    pub(in crate::config) fn new(root: &Section<'_>) -> Self {
        let mut keys = Self::default();
        keys.gather("", root);
        keys
    }

    fn gather(&mut self, path: &str, section: &Section<'_>) {
        for setting in section.settings() {
            let name = format!("{path}{}", setting.name);
            if matches!(setting.kind, Kind::Table(_) | Kind::OptionalTable(_)) {
                self.gather(&format!("{name}."), &section.table(setting.name));
            } else if let Some((digest, position)) = section.digest(setting.name) {
                self.0.insert(name, Key { digest, position, reload: setting.reload });
            }
        }
    }

    /// Returns the keys whose values differ from `before`, or which exist in only one of the two.
    fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'a str, Option<Key>, Option<Key>)> {
        let all = self.0.keys().chain(before.0.keys().filter(|key| !self.0.contains_key(*key)));
        let both = all.map(|name| (name.as_str(), self.0.get(name).copied(), before.0.get(name).copied()));
        both.filter(|(_, now, before)| now.map(|key| key.digest) != before.map(|key| key.digest))
    }

    /// Returns the names of those keys.
    pub(in crate::config) fn changed_names(&self, before: &Self) -> Vec<String> {
        self.changed(before).map(|(name, ..)| name.to_owned()).collect()
    }

    /// The keys that cannot take effect while the service runs with `running`.
    pub(in crate::config) fn refused(&self, running: &Self) -> Vec<Problem> {
        let takes_restart = |now: Option<Key>, before: Option<Key>| match (now, before) {
            (Some(now), Some(_)) => now.reload == Reload::Restart,
            (now, before) => now.or(before).is_some_and(|key| key.reload != Reload::Live),
        };
        let refused = self.changed(running).filter(|(_, now, before)| takes_restart(*now, *before));
        let told = refused.map(|(name, now, _)| {
            Problem::new(
                now.map(|key| key.position).unwrap_or_default(),
                name,
                "this cannot change while the service runs".to_owned(),
                "restart the service for it, or take the change back; nothing of this file is in force yet",
            )
        });
        told.collect()
    }
}

/// The digests of a `[[connections]]` table.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// The line where the table begins.
    pub line: usize,
    /// Everything that the connection's actor and its source are started with.
    pub source: u64,
    /// The rest: what is offered to callers.
    pub offer: u64,
    /// A digest of each setting; `None` for an absent one.
    settings: Vec<(&'static str, Option<u64>)>,
}

impl Fingerprint {
    /// Makes the fingerprint of a connection's table, and of settings of other tables that its actor is started
    /// with.
    pub(in crate::config) fn new(section: &Section<'_>, more: impl Hash) -> Self {
        let (mut source, mut offer) = (DefaultHasher::new(), DefaultHasher::new());
        let mut settings = Vec::new();
        for setting in section.settings() {
            let hasher = if setting.reload == Reload::Live { &mut offer } else { &mut source };
            let digest = (setting.name, section.digest(setting.name).map(|(digest, _)| digest));
            digest.hash(hasher);
            settings.push(digest);
        }
        more.hash(&mut source);
        Self { line: section.line(), source: source.finish(), offer: offer.finish(), settings }
    }

    /// Returns the settings whose values differ from `before`, a table of the same connection.
    pub(in crate::config) fn changed_settings(&self, before: &Self) -> impl Iterator<Item = &'static str> {
        let pairs = self.settings.iter().zip(&before.settings);
        pairs.filter(|(now, before)| now != before).map(|(now, _)| now.0)
    }
}
