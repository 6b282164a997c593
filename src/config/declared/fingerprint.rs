//! Tells which keys of the file are other than they were when it was last read, without keeping
//! any value. What follows from a change is declared with each setting.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::problem::{Position, Problem};
use super::section::Section;
use super::setting::{Kind, Reload};

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
struct Key {
    digest: u64,
    position: Position,
    reload: Reload,
}

/// A digest of each key that takes a restart, or may, with its place.
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
            } else if setting.reload != Reload::Live
                && let Some((digest, position)) = section.digest(setting.name)
            {
                self.0.insert(name, Key { digest, position, reload: setting.reload });
            }
        }
    }

    /// The keys that cannot take effect while the service runs with `running`.
    pub(in crate::config) fn refused(&self, running: &Self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let all = self.0.keys().chain(running.0.keys().filter(|key| !self.0.contains_key(*key)));
        for name in all {
            let (now, before) = (self.0.get(name), running.0.get(name));
            let same = now.map(|key| key.digest) == before.map(|key| key.digest);
            let renewed = now.zip(before).is_some_and(|(now, _)| now.reload == Reload::Renewed);
            if !same && !renewed {
                problems.push(Problem::new(
                    now.map(|key| key.position).unwrap_or_default(),
                    name,
                    "this cannot change while the service runs".to_owned(),
                    "restart the service for it, or take the change back; nothing of this file is in force yet",
                ));
            }
        }
        problems
    }
}

/// What a `[[connections]]` table says, as numbers.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint {
    /// The line where the table begins.
    pub line: usize,
    /// Everything that the connection's actor and its source are started with.
    pub source: u64,
    /// The rest: what is offered to callers.
    pub offer: u64,
}

impl Fingerprint {
    /// What is the same as long as the table says the same.
    pub fn contents(&self) -> (u64, u64) {
        (self.source, self.offer)
    }

    /// Of a connection's table, and of what its actor is started with and another table says.
    pub(in crate::config) fn new(section: &Section<'_>, more: impl Hash) -> Self {
        let (mut source, mut offer) = (DefaultHasher::new(), DefaultHasher::new());
        for setting in section.settings() {
            let hasher = if setting.reload == Reload::Live { &mut offer } else { &mut source };
            (setting.name, section.digest(setting.name).map(|(digest, _)| digest)).hash(hasher);
        }
        more.hash(&mut source);
        Self { line: section.line(), source: source.finish(), offer: offer.finish() }
    }
}
