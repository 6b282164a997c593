//! A change of rights: the object concerned, before and after.

use serde::Serialize;
use serde_json::{Map, Value};

/// A change. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The command line's name for it, such as `user add`.
    pub action: &'static str,
    /// The object as `--json` prints it: after the change, or as it was if it was removed.
    pub object: Value,
    /// The members that differ, with their former values, if the object existed before and still does.
    pub before: Option<Value>,
    /// The same members as they are.
    pub after: Option<Value>,
}

impl Change {
    /// Every action, as used by commands, filters and records; `docs/audit.md` says who performs which.
    pub const ACTIONS: [&str; 26] = [
        "user add",
        "user change",
        "user password",
        "user sign-out",
        "user disable",
        "user enable",
        "user remove",
        "pat create",
        "pat revoke",
        "service-account create",
        "service-account change",
        "service-account rotate",
        "service-account disable",
        "service-account enable",
        "service-account remove",
        "client add",
        "client remove",
        "client register",
        "grant create",
        "grant revoke",
        "access-token revoke",
        "key rotate",
        "key end",
        "grants apply",
        "grants revoke",
        "reload",
    ];

    /// Makes the record of a change. `before` is absent for a new object, `after` for a removed one.
    pub(crate) fn new<T: Serialize>(action: &'static str, before: Option<&T>, after: Option<&T>) -> Self {
        debug_assert!(Self::ACTIONS.contains(&action), "list the action {action:?} among them all");
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

    /// Records that a secret was replaced, which no member shows.
    #[must_use]
    pub(crate) fn of_secret(mut self, name: &str) -> Self {
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
