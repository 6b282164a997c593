//! Changes of who may do what, as the store makes them: each is recorded with what it was about, as it was and as it
//! is, before it takes effect. No door to the store can make one without.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::connection::Connection;
use super::{Store, trail};
use crate::auth::clock::Now;
use crate::auth::recording::{Door, Recorder, Recording};
use crate::error::{Error, Result};

/// A change. It holds no secret.
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

/// Where changes are recorded, and by which door they are asked for.
#[derive(Debug, Default)]
pub(super) struct Changes {
    recording: Recording,
    door: Door,
    /// Why the last one could not be recorded, and was not made.
    refusal: Option<Error>,
}

impl Store {
    /// Has each change recorded by `recorder`, as asked for by `door`, before it takes effect.
    #[must_use]
    pub fn recording(mut self, recorder: Arc<dyn Recorder>, door: Door) -> Self {
        self.changes = Changes { recording: Recording::by(recorder), door, refusal: None };
        self
    }

    /// Does `work`, with its changes recorded as asked for by `door`.
    ///
    /// # Errors
    /// The outer one is of the store and of `work`; the inner one says that a change could not be recorded, and was
    /// not made.
    pub(crate) fn recorded<T>(
        &mut self,
        recording: &Recording,
        door: &Door,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T>> {
        let now = Changes { recording: recording.clone(), door: door.clone(), refusal: None };
        let before = std::mem::replace(&mut self.changes, now);
        let done = work(self);
        match std::mem::replace(&mut self.changes, before).refusal {
            Some(refusal) => Ok(Err(refusal)),
            None => done.map(Ok),
        }
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
        let now = self.clock.now();
        let Changes { recording, door, refusal } = &mut self.changes;
        let mut recorded: Vec<Change> = Vec::new();
        let done = self.connection.write(|connection| {
            let (done, changes) = change(connection, now)?;
            let changes: Vec<Change> = changes.into_iter().collect();
            if !changes.is_empty() {
                let kept = recording.record(&changes, door).inspect_err(|error| *refusal = Some(error.clone()))?;
                recorded = changes;
                trail::append(connection, &kept.records, kept.most)?;
            }
            Ok(done)
        });
        if done.is_err() && !recorded.is_empty() {
            recording.unconfirmed(&recorded, door);
        }
        done
    }
}
