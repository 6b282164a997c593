//! Service accounts in the store.

use rusqlite::named_params;
use secrecy::SecretString;

use super::actor::Authority;
use super::change::Change;
use super::columns::{connections, rights};
use super::connection::{Connection, Read, Row};
use super::{Store, broken, check_name, hint, named, one_named, shown};
use crate::auth::records::{NewServiceAccount, ServiceAccount};
use crate::auth::secret::{self, CLIENT_SECRET_PREFIX};
use crate::error::{Error, Result};
use crate::near;
use crate::principal::Rights;

impl Store {
    /// Makes a service account. The secret is in nobody's hands but the caller's; the client id is
    /// in the record.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when the name is taken, or no connection named.
    pub fn create_service_account(&mut self, new: NewServiceAccount) -> Result<(ServiceAccount, SecretString)> {
        check_name("a service account", &new.name)?;
        if new.name.contains(['@', '#']) {
            return Err(Error::invalid(
                "the name of a service account has no @ and no #, as people and other issuers' subjects do",
            ));
        }
        let listed = listed(&new.rights)?;
        let client_id = secret::mint_client_id()?;
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let actor = self.actor;
        let account = self.change(|connection, now| {
            actor.authority(connection, now)?.within(&new.rights)?;
            if !named(all(connection)?, &new.name, |account| &account.name).is_empty() {
                return Err(Error::invalid(format!("there is already a service account named {:?}", new.name))
                    .hint("remove that one first, rotate its secret, or choose another name"));
            }
            let made = connection.execute(
                "INSERT INTO service_accounts (client_id, name, digest, scope, connections, created_at, judged)
                 VALUES (:client_id, :name, :digest, :scope, :connections, :now, 1)",
                named_params! {
                    ":client_id": client_id,
                    ":name": new.name,
                    ":digest": digest,
                    ":scope": new.rights.widest(),
                    ":connections": listed,
                    ":now": now,
                },
            );
            made.map_err(broken)?;
            let account = by_id(connection, &client_id)?;
            let change = Change::of("service-account create", None, Some(&account));
            Ok((account, change))
        })?;
        Ok((account, secret))
    }

    /// Gives the service account of that name other connections and another scope, also to the
    /// tokens that it holds already.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn change_service_account(&mut self, change: NewServiceAccount) -> Result<ServiceAccount> {
        let (listed, actor) = (listed(&change.rights)?, self.actor);
        self.change(|connection, now| {
            let authority = actor.authority(connection, now)?;
            let account = find(connection, &authority, &change.name)?;
            authority.within(&change.rights)?;
            connection
                .execute(
                    "UPDATE service_accounts SET scope = :scope, connections = :connections WHERE client_id = :id",
                    named_params! {
                        ":scope": change.rights.widest(),
                        ":connections": listed,
                        ":id": account.client_id,
                    },
                )
                .map_err(broken)?;
            changed("service-account change", connection, &account)
        })
    }

    /// Every service account that may be seen, by name.
    pub fn service_accounts(&self) -> Result<Vec<ServiceAccount>> {
        seen(&self.connection, &self.authority()?)
    }

    /// Replaces the secret of the service account with that name or client id. Tokens that it holds
    /// stay valid until they expire: to end them too, disable it.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn rotate_service_account(&mut self, which: &str) -> Result<(ServiceAccount, SecretString)> {
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let actor = self.actor;
        let account = self.change(|connection, now| {
            let account = find(connection, &actor.authority(connection, now)?, which)?;
            connection
                .execute(
                    "UPDATE service_accounts SET digest = :digest, rotated_at = :now, judged = 1 WHERE client_id = :id",
                    named_params! { ":digest": digest, ":now": now, ":id": account.client_id },
                )
                .map_err(broken)?;
            let (account, change) = changed("service-account rotate", connection, &account)?;
            Ok((account, change.of_secret("clientSecret")))
        })?;
        Ok((account, secret))
    }

    /// Refuses the service account with that name or client id, and every token that it holds.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn disable_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        let actor = self.actor;
        self.change(|connection, now| {
            let account = find(connection, &actor.authority(connection, now)?, which)?;
            connection
                .execute(
                    "UPDATE service_accounts SET disabled_at = :now WHERE client_id = :id AND disabled_at IS NULL",
                    named_params! { ":now": now, ":id": account.client_id },
                )
                .map_err(broken)?;
            changed("service-account disable", connection, &account)
        })
    }

    /// Takes back [`Store::disable_service_account`], but for the tokens that it held then.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn enable_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        let actor = self.actor;
        self.change(|connection, now| {
            let account = find(connection, &actor.authority(connection, now)?, which)?;
            connection
                .execute(
                    "UPDATE service_accounts SET disabled_at = NULL, ended_at = disabled_at
                     WHERE client_id = ?1 AND disabled_at IS NOT NULL",
                    [&account.client_id],
                )
                .map_err(broken)?;
            changed("service-account enable", connection, &account)
        })
    }

    /// Removes the service account with that name or client id; every token that it holds is
    /// refused from now on.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn remove_service_account(&mut self, which: &str) -> Result<ServiceAccount> {
        let actor = self.actor;
        self.change(|connection, now| {
            let account = find(connection, &actor.authority(connection, now)?, which)?;
            connection
                .execute("DELETE FROM service_accounts WHERE client_id = ?1", [&account.client_id])
                .map_err(broken)?;
            let change = Change::of("service-account remove", Some(&account), None);
            Ok((account, change))
        })
    }
}

/// The account as it is now, and how that came about.
fn changed(action: &'static str, connection: &Connection, before: &ServiceAccount) -> Result<(ServiceAccount, Change)> {
    let account = by_id(connection, &before.client_id)?;
    let change = Change::of(action, Some(before), Some(&account));
    Ok((account, change))
}

const SELECT: &str =
    "SELECT client_id, name, scope, connections, created_at, rotated_at, disabled_at FROM service_accounts";

fn record(row: &Row<'_>) -> Read<ServiceAccount> {
    Ok(ServiceAccount {
        client_id: row.get("client_id")?,
        name: row.get("name")?,
        rights: rights(row, "scope", "connections")?,
        created_at: row.get("created_at")?,
        rotated_at: row.get("rotated_at")?,
        disabled_at: row.get("disabled_at")?,
    })
}

/// Every account, by name.
fn all(connection: &Connection) -> Result<Vec<ServiceAccount>> {
    connection.query(&format!("{SELECT} ORDER BY name"), (), record).map_err(broken)
}

/// Those that may be seen.
fn seen(connection: &Connection, authority: &Authority) -> Result<Vec<ServiceAccount>> {
    Ok(all(connection)?.into_iter().filter(|account| authority.sees(&account.rights)).collect())
}

fn by_id(connection: &Connection, client_id: &str) -> Result<ServiceAccount> {
    connection.query_row(&format!("{SELECT} WHERE client_id = ?1"), [client_id], record).map_err(broken)
}

/// The one that may be seen by name or client id; the two never look alike.
fn find(connection: &Connection, authority: &Authority, which: &str) -> Result<ServiceAccount> {
    let known = seen(connection, authority)?;
    if let Some(found) = known.iter().find(|account| account.client_id == which) {
        return Ok(found.clone());
    }
    if let Some(found) = one_named("service accounts", known.clone(), which, |account| &account.name)? {
        return Ok(found);
    }
    let near = near::nearest(which, known.iter().map(|account| account.name.as_str()));
    Err(Error::not_found(format!("there is no service account {}", shown(which)))
        .hint(hint(&near, "portico service-account list")))
}

/// The column's text for an account's connections.
fn listed(rights: &Rights) -> Result<String> {
    connections(rights)?
        .filter(|_| rights.list().is_some_and(|list| !list.is_empty()))
        .ok_or_else(|| Error::invalid("a service account needs at least one connection; name it with --connection"))
}
