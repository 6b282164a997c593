//! Users whose addresses are two spellings of one, from before addresses were compared in any spelling. In the
//! migration the user that was added first keeps the name. Each other one is renamed: it is refused until the first
//! is removed and it is enabled, and until then found only in its own spelling.

use std::collections::HashSet;

use rusqlite::types::Value;

use crate::clock::Timestamp;
use crate::store::sql::params::Params;
use crate::store::sql::row::Row;
use portico_core::error::Result;
use portico_core::name::key as email_key;

/// The version of the store's format since which addresses have these keys.
pub(crate) const VERSION: i64 = 7;

/// Every user: id, address and key, the oldest first.
pub(crate) const USERS: &str = "SELECT id, email, email_key FROM users ORDER BY created_at, id";

/// One of them.
pub(crate) fn user(row: &Row<'_>) -> Result<(i64, String, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// A character that occurs in no key: see [`portico_core::name::key`].
const APART: char = '\u{1f}';

/// The statements that give `users` their keys.
pub(crate) fn keyed(users: &[(i64, String, String)], now: Timestamp) -> Vec<(&'static str, Params<'static>)> {
    let mut taken = HashSet::new();
    let (mut away, mut keys, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for (id, email, before) in users {
        let mut key = email_key(email);
        if !taken.insert(key.clone()) {
            key = format!("{APART}{id}");
            let refuse = "UPDATE users SET disabled_at = coalesce(disabled_at, ?1) WHERE id = ?2";
            refusals.push((refuse, params([Value::Integer(now.seconds()), Value::Integer(*id)])));
            refusals.push(("DELETE FROM sessions WHERE user_id = ?1", params([Value::Integer(*id)])));
            refusals.push(("DELETE FROM grants WHERE user_id = ?1", params([Value::Integer(*id)])));
        }
        if key != *before {
            let rename = "UPDATE users SET email_key = ?1 WHERE id = ?2";
            // Two rows may exchange their keys: so all are moved out of the way first.
            away.push((rename, params([Value::Text(format!("{APART}{APART}{id}")), Value::Integer(*id)])));
            keys.push((rename, params([Value::Text(key), Value::Integer(*id)])));
        }
    }
    away.into_iter().chain(keys).chain(refusals).collect()
}

fn params<const N: usize>(values: [Value; N]) -> Params<'static> {
    values.into_iter().map(|value| (None, value)).collect()
}
