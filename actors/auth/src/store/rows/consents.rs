//! Rows of consents (`grants`): what people have allowed clients. When one ends, its row is deleted with its code
//! and its refresh tokens.

use rusqlite::named_params;
use serde::Serialize;
use uuid::Uuid;

use crate::clock::{Now, Timestamp};
use crate::oauth::authorization::{CODE_LIFETIME, Consent};
use crate::oauth::client::ClientKind;
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::sql::columns::rights;
use crate::store::sql::params::ToParams;
use crate::store::sql::row::Row;
use portico_core::error::Result;
use portico_core::principal::Rights;
use portico_core::reach::with_connections;

/// Grants with their people, and the tokens that the consents were given with.
pub(crate) const FROM: &str = "FROM grants g
    JOIN users u ON u.id = g.user_id LEFT JOIN personal_access_tokens t ON t.id = g.token_id
    LEFT JOIN clients c ON c.client_id = g.client_id";

/// The columns of [`remaining_rights`].
pub(crate) const RIGHTS: &str = "g.scope, g.connections, u.scope AS user_scope, u.reach AS user_reach,
    t.scope AS token_scope, t.reach AS token_reach";

/// Returns a grant's rights, limited by those of the person and of the token.
pub(crate) fn remaining_rights(row: &Row<'_>) -> Result<Rights> {
    let person = rights(row, "user_scope", "user_reach")?;
    Ok(rights(row, "scope", "connections")?.intersection(&person).intersection(&rights(
        row,
        "token_scope",
        "token_reach",
    )?))
}

pub(crate) fn in_force(connection: &StoreConnection, condition: &str, values: impl ToParams) -> Result<Vec<Consent>> {
    let sql = format!(
        "SELECT {RIGHTS}, g.id, u.email, g.client_id, g.client_name, g.created_at, g.used_at, g.expires_at, c.kind,
                c.redirect_uris
         {FROM} WHERE g.expires_at > :ended AND g.used_at IS NOT NULL {condition} ORDER BY g.created_at DESC, g.rowid DESC"
    );
    connection.query(&sql, values, record)
}

fn record(row: &Row<'_>) -> Result<Consent> {
    let client_id: String = row.get("client_id")?;
    Ok(Consent {
        id: row.id("id")?,
        email: row.get("email")?,
        client_kind: ClientKind::of_grant(&client_id, row.get("kind")?, row.get("redirect_uris")?),
        client_id,
        client_name: row.get("client_name")?,
        rights: remaining_rights(row)?,
        created_at: row.get("created_at")?,
        used_at: row.get("used_at")?,
        expires_at: row.get("expires_at")?,
    })
}

/// A person's consent to a client, for its audit record.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GivenAccess {
    id: Uuid,
    email: String,
    client_id: String,
    client_name: String,
    #[serde(flatten, serialize_with = "with_connections")]
    rights: Rights,
    resource: Option<String>,
    expires_at: Timestamp,
}

impl GivenAccess {
    pub(crate) fn load(connection: &StoreConnection, id: Uuid) -> Result<Option<Self>> {
        let sql = "SELECT u.email, g.client_id, g.client_name, g.scope, g.connections, g.resource, g.expires_at
                   FROM grants g JOIN users u ON u.id = g.user_id WHERE g.id = ?1";
        let read = |row: &Row<'_>| {
            Ok(Self {
                id,
                email: row.get(0)?,
                client_id: row.get(1)?,
                client_name: row.get(2)?,
                rights: rights(row, 3, 4)?,
                resource: row.get(5)?,
                expires_at: row.get(6)?,
            })
        };
        connection.query_opt(sql, [id.to_string()], read)
    }
}

/// Ends a grant; the change, unless it had ended before.
pub(crate) fn end(connection: &StoreConnection, grant: Uuid) -> Result<Option<Change>> {
    let Some(given) = GivenAccess::load(connection, grant)? else { return Ok(None) };
    connection.execute("DELETE FROM grants WHERE id = ?1", [grant.to_string()])?;
    Ok(Some(Change::new("grant revoke", Some(&given), None)))
}

/// Ends the grants whose ids `which` selects. Returns the changes.
pub(crate) fn end_those(connection: &StoreConnection, which: &str, values: impl ToParams) -> Result<Vec<Change>> {
    let ids = connection.query(which, values, |row| row.id(0))?;
    let ended = ids.into_iter().map(|id| end(connection, id));
    ended.filter_map(Result::transpose).collect()
}

/// Deletes expired grants, and codes that can no longer be redeemed.
pub(crate) fn forget_ended(connection: &StoreConnection, now: Now) -> Result<()> {
    let sql = "DELETE FROM grants WHERE expires_at <= :ended OR (used_at IS NULL AND created_at <= :then)";
    let values = named_params! { ":ended": now.ended(), ":then": now.ended().before(CODE_LIFETIME) };
    connection.execute(sql, values).map(drop)
}

/// Ends a person's grants beyond the limit, the least recently used first.
pub(crate) fn end_surplus(connection: &StoreConnection, user: i64, client_id: &str) -> Result<Vec<Change>> {
    let order = "ORDER BY coalesce(used_at, created_at) DESC, rowid DESC LIMIT 1000000 OFFSET :most";
    let of_client = format!("SELECT id FROM grants WHERE user_id = :user AND client_id = :client {order}");
    let values = named_params! { ":user": user, ":client": client_id, ":most": MOST_OF_CLIENT };
    let mut ended = end_those(connection, &of_client, values)?;
    let of_person = format!("SELECT id FROM grants WHERE user_id = :user {order}");
    ended.extend(end_those(connection, &of_person, named_params! { ":user": user, ":most": MOST_OF_PERSON })?);
    Ok(ended)
}

/// The maximal number of grants of one person to one client; another one ends the least recently used.
const MOST_OF_CLIENT: i64 = 100;

/// Grants of one person, at most.
const MOST_OF_PERSON: i64 = 1_000;
