//! Changes of who may do what, as the store makes them: each is kept with what it was about, as it was
//! and as it is, until somebody records it. No door to the store can make one without.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Store;
use super::connection::Connection;
use crate::auth::clock::Now;
use crate::error::Result;

/// A change that was made. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The command line's word for it, such as `user add`.
    pub action: &'static str,
    /// What was made or changed, as it is now, or removed, as it was: as `--json` prints it.
    pub object: Value,
    /// Of what was there before and still is: the members that differ, as they were.
    pub before: Option<Value>,
    /// The same members as they are.
    pub after: Option<Value>,
}

impl Change {
    /// Of something that was `before` and is `after`; one is absent where it was made or removed.
    pub(super) fn of<T: Serialize>(action: &'static str, before: Option<&T>, after: Option<&T>) -> Self {
        let value = |of: Option<&T>| of.and_then(|of| serde_json::to_value(of).ok());
        let (before, after) = (value(before), value(after));
        let (differs_before, differs_after) = match (&before, &after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                (Some(differing(before, after)), Some(differing(after, before)))
            }
            _ => (None, None),
        };
        let object = after.or(before).unwrap_or_default();
        Self { action, object, before: differs_before, after: differs_after }
    }

    /// Notes that a secret is another one, which no member shows.
    #[must_use]
    pub(super) fn of_secret(mut self, name: &str) -> Self {
        if let Some(Value::Object(after)) = &mut self.after {
            after.insert(name.to_owned(), Value::from("***"));
        }
        self
    }
}

/// The members of `one` that `other` has not, or with another value.
fn differing(one: &Map<String, Value>, other: &Map<String, Value>) -> Value {
    one.iter().filter(|(name, value)| other.get(*name) != Some(value)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// Takes changes as they are made.
type Recorder = Box<dyn FnMut(Change) + Send>;

/// Changes that nobody has taken yet, or whoever takes each at once.
#[derive(Default)]
pub(super) struct Changes {
    kept: Vec<Change>,
    recorder: Option<Recorder>,
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Changes").field(&self.kept).finish()
    }
}

impl Store {
    /// Hands each change to `record` when it has been made.
    #[must_use]
    pub fn recording(mut self, record: impl FnMut(Change) + Send + 'static) -> Self {
        self.changes.recorder = Some(Box::new(record));
        self
    }

    /// The changes that were made since the last time, where no recorder takes them.
    #[must_use]
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes.kept)
    }

    /// Runs a change of who may do what in one transaction, and has it recorded.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&Connection, Now) -> Result<(T, Change)>) -> Result<T> {
        self.change_if(|connection, now| change(connection, now).map(|(done, change)| (done, Some(change))))
    }

    /// The same where there may have been nothing to change, or more than one thing.
    pub(super) fn change_if<T, C: IntoIterator<Item = Change>>(
        &mut self,
        change: impl FnOnce(&Connection, Now) -> Result<(T, C)>,
    ) -> Result<T> {
        let (done, changes) = self.write(change)?;
        for change in changes {
            match &mut self.changes.recorder {
                Some(record) => record(change),
                None => self.changes.kept.push(change),
            }
        }
        Ok(done)
    }
}
