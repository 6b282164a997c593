//! How our values stand in the columns of the store.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

use crate::clock::Timestamp;
use crate::keys::key::{Algorithm, PublicKey};
use crate::secret::Digest;
use crate::store::sql::failure::broken;
use crate::store::sql::row::{Column, Row};
use portico_core::error::{Error, Result};
use portico_core::principal::{Rights, Scope};
use portico_core::reach::StoredGrant;

/// A column contains an invalid value.
fn invalid_column(what: &'static str) -> FromSqlError {
    FromSqlError::Other(format!("the store holds an invalid {what}").into())
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Self::from_seconds)
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.seconds().into())
    }
}

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_octets(value.as_blob()?).ok_or_else(|| invalid_column("digest"))
    }
}

impl ToSql for Digest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.octets().into())
    }
}

impl FromSql for Algorithm {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).ok_or_else(|| invalid_column("algorithm"))
    }
}

impl ToSql for Algorithm {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for PublicKey {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map_err(|_| invalid_column("public key"))
    }
}

/// Rights as they stand in two columns, which are nowhere read one without the other: the widest scope,
/// and the connections and workspaces, or NULL for all of them.
pub(crate) fn rights<C: Column + Copy>(row: &Row<'_>, scope: C, connections: C) -> Result<Rights> {
    // A personal access token without a scope has its user's.
    let scope = row.get::<_, Option<String>>(scope)?.map_or(Some(Scope::Admin), |word| Scope::parse(&word));
    let scope = scope.ok_or_else(|| broken(invalid_column("scope")))?;
    let Some(listed) = row.get::<_, Option<String>>(connections)? else { return Ok(Rights::all(scope)) };
    let listed = serde_json::from_str(&listed).map_err(|_| broken(invalid_column("list of connections")))?;
    StoredGrant::rights(listed, scope).ok_or_else(|| broken(invalid_column("scope")))
}

/// The text of the column of connections and workspaces; the other one holds [`Rights::widest`].
pub(crate) fn connections(rights: &Rights) -> Result<Option<String>> {
    StoredGrant::list(rights).as_deref().map(json).transpose()
}

/// The JSON text of a column.
pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}
