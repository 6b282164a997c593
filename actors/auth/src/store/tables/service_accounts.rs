//! Service accounts in the store.

use rusqlite::named_params;
use secrecy::SecretString;

use crate::clock::{Now, Timestamp};
use crate::records::{NewServiceAccount, ServiceAccount};
use crate::secret::{self, CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX};
use crate::store::connection::StoreConnection;
use crate::store::model::authority::Authority;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::rows::names::{check_name, missing, named, one_named};
use crate::store::sql::columns::{connections, rights};
use crate::store::sql::row::Row;
use portico_core::error::{Error, Result};
use portico_core::principal::Rights;

impl Store {
    /// Creates a service account. Returns its secret, which is known only to the caller; the client id is in the
    /// record.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if the name is taken, or no connection is named.
    pub fn create_service_account(&mut self, new: NewServiceAccount) -> Result<(ServiceAccount, SecretString)> {
        check_name("a service account", &new.name)?;
        if new.name.contains(['@', '#']) {
            return Err(Error::invalid(
                "the name of a service account must have no @ and no #, which are for people and other issuers' \
                 subjects",
            ));
        }
        let listed = listed(&new.rights)?;
        let client_id = secret::mint_id(CLIENT_ID_PREFIX)?;
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let account = self.administer(|connection, now, authority| {
            authority.within(&new.rights)?;
            if !named(all(connection)?, &new.name, |account| &account.name).is_empty() {
                return Err(Error::invalid(format!("there is already a service account named {:?}", new.name))
                    .hint("remove that one first, rotate its secret, or choose another name"));
            }
            let row = named_params! {
                ":client_id": client_id,
                ":name": new.name,
                ":digest": digest,
                ":scope": new.rights.widest().as_str(),
                ":connections": listed,
                ":created_at": now.time(),
                ":judged": true,
                ":secret_parent_known": true,
                ":named": authority.reaches_all(),
            };
            connection.insert("service_accounts", row)?;
            note_origin(connection, &client_id, authority)?;
            let account = by_id(connection, &client_id)?;
            let change = Change::new("service-account create", None, Some(&account));
            Ok((account, [change]))
        })?;
        Ok((account, secret))
    }

    /// Changes the connections and the scope of the service account of that name, also for its existing tokens. Its
    /// secret is limited to the rights of the administrators who have seen it: rights beyond that have no effect
    /// until an administrator who has them replaces the secret.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none.
    pub fn change_service_account(&mut self, change: NewServiceAccount) -> Result<ServiceAccount> {
        let listed = listed(&change.rights)?;
        self.change_account("service-account change", &change.name, |connection, _, authority, id| {
            authority.within(&change.rights)?;
            let sql = "UPDATE service_accounts SET scope = :scope, connections = :connections WHERE client_id = :id";
            let scope = change.rights.widest().as_str();
            connection.execute(sql, named_params! { ":scope": scope, ":connections": listed, ":id": id })?;
            if authority.reaches_all() {
                // An administrator of the whole service knows its name.
                connection.execute("UPDATE service_accounts SET named = 1 WHERE client_id = ?1", [id])?;
            }
            Ok(())
        })
    }

    /// Every service account that may be seen, by name.
    pub fn service_accounts(&self) -> Result<Vec<ServiceAccount>> {
        seen(&self.connection, &self.authority()?)
    }

    /// Replaces the secret of the service account with that name or client id. Its tokens stay valid until they
    /// expire, unless the former secret would have ended with a token: to end them too, disable the account.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none.
    pub fn rotate_service_account(&mut self, which: &str) -> Result<(ServiceAccount, SecretString)> {
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let account = self.administer(|connection, now, authority| {
            let account = find(connection, authority, which)?;
            connection.execute(
                "UPDATE service_accounts SET digest = :digest, rotated_at = :now, judged = 1, secret_parent_known = 1,
                        ended_at = CASE WHEN secret_parent IS NULL THEN ended_at ELSE :now END
                 WHERE client_id = :id",
                named_params! { ":digest": digest, ":now": now.time(), ":id": account.client_id },
            )?;
            note_origin(connection, &account.client_id, authority)?;
            let (account, [change]) = changed("service-account rotate", connection, &account)?;
            Ok((account, [change.of_secret("clientSecret")]))
        })?;
        Ok((account, secret))
    }

    /// Disables the service account with that name or client id, and every token that it has.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none.
    pub fn disable_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        self.change_account("service-account disable", which, |connection, now, _, id| {
            let sql = "UPDATE service_accounts SET disabled_at = :now WHERE client_id = :id AND disabled_at IS NULL";
            connection.execute(sql, named_params! { ":now": now.time(), ":id": id }).map(drop)
        })
    }

    /// Reverses [`Store::disable_service_account`], except for the tokens that it had then.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none.
    pub fn enable_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        self.change_account("service-account enable", which, |connection, _, _, id| {
            let sql = "UPDATE service_accounts SET disabled_at = NULL, ended_at = disabled_at
                       WHERE client_id = ?1 AND disabled_at IS NOT NULL";
            connection.execute(sql, [id]).map(drop)
        })
    }

    /// Removes the service account with that name or client id; every token that it has is refused from now on.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is none.
    pub fn remove_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        self.administer(|connection, _, authority| {
            let account = find(connection, authority, which)?;
            connection.execute("DELETE FROM service_accounts WHERE client_id = ?1", [&account.client_id])?;
            let change = Change::new("service-account remove", Some(&account), None);
            Ok((account, [change]))
        })
    }

    /// Has `change` done to the account that `which` names, by its client id.
    fn change_account(
        &mut self,
        action: &'static str,
        which: &str,
        change: impl FnOnce(&StoreConnection, Now, &Authority, &str) -> Result<()>,
    ) -> Result<ServiceAccount> {
        self.administer(|connection, now, authority| {
            let before = find(connection, authority, which)?;
            change(connection, now, authority, &before.client_id)?;
            changed(action, connection, &before)
        })
    }
}

/// Records who has seen the secret, and the token that it derives from.
fn note_origin(connection: &StoreConnection, client_id: &str, authority: &Authority) -> Result<()> {
    let sql = "UPDATE service_accounts SET secret_scope = :scope, secret_reach = :reach, secret_parent = :parent
               WHERE client_id = :id";
    let seen = authority.rights();
    let values = named_params! {
        ":scope": seen.widest().as_str(),
        ":reach": connections(seen)?,
        ":parent": authority.token().map(|token| token.to_string()),
        ":id": client_id,
    };
    connection.execute(sql, values).map(drop)
}

/// The account as it is now, and how that came about.
fn changed(
    action: &'static str,
    connection: &StoreConnection,
    before: &ServiceAccount,
) -> Result<(ServiceAccount, [Change; 1])> {
    let account = by_id(connection, &before.client_id)?;
    let change = Change::new(action, Some(before), Some(&account));
    Ok((account, [change]))
}

const SELECT: &str = "SELECT a.client_id, a.name, a.scope, a.connections, a.created_at, a.rotated_at, a.disabled_at,
        a.secret_scope, a.secret_reach, a.secret_parent, t.revoked_at, t.expires_at, t.id IS NULL AS is_gone
    FROM service_accounts a LEFT JOIN personal_access_tokens t ON t.id = a.secret_parent";

fn record(row: &Row<'_>) -> Result<ServiceAccount> {
    let rights_now = rights(row, "scope", "connections")?;
    let secret_parent = row.optional_id("secret_parent")?;
    let (created_at, rotated_at): (Timestamp, Option<Timestamp>) = (row.get("created_at")?, row.get("rotated_at")?);
    let ends: [Option<Timestamp>; 2] = [row.get("revoked_at")?, row.get("expires_at")?];
    let is_gone: bool = row.get("is_gone")?;
    // A secret whose parent token was deleted has ended. The time of the deletion is not known.
    let gone = secret_parent.filter(|_| is_gone).map(|_| rotated_at.unwrap_or(created_at));
    Ok(ServiceAccount {
        client_id: row.get("client_id")?,
        name: row.get("name")?,
        secret_opens: rights_now.intersection(&rights(row, "secret_scope", "secret_reach")?),
        rights: rights_now,
        created_at,
        rotated_at,
        disabled_at: row.get("disabled_at")?,
        secret_parent,
        secret_ends_at: ends.into_iter().chain([gone]).flatten().min(),
    })
}

/// Every account, by name.
fn all(connection: &StoreConnection) -> Result<Vec<ServiceAccount>> {
    connection.query(&format!("{SELECT} ORDER BY a.name"), (), record)
}

/// Returns the visible ones.
fn seen(connection: &StoreConnection, authority: &Authority) -> Result<Vec<ServiceAccount>> {
    Ok(all(connection)?.into_iter().filter(|account| authority.sees(&account.rights)).collect())
}

fn by_id(connection: &StoreConnection, client_id: &str) -> Result<ServiceAccount> {
    connection.query_one(&format!("{SELECT} WHERE a.client_id = ?1"), [client_id], record)
}

/// Finds a visible one by name or client id; the two never look alike.
fn find(connection: &StoreConnection, authority: &Authority, which: &str) -> Result<ServiceAccount> {
    let known = seen(connection, authority)?;
    if let Some(found) = known.iter().find(|account| account.client_id == which) {
        return Ok(found.clone());
    }
    if let Some(found) = one_named("service accounts", known.clone(), which, |account| &account.name)? {
        return Ok(found);
    }
    let names = known.iter().map(|account| account.name.as_str());
    Err(missing("service account", which, names, "portico service-account list"))
}

/// The column's text for an account's connections and workspaces.
fn listed(rights: &Rights) -> Result<String> {
    connections(rights)?.filter(|_| !rights.is_empty()).ok_or_else(|| {
        Error::invalid(
            "a service account needs at least one connection or workspace; name it with --connection or --workspace",
        )
    })
}
