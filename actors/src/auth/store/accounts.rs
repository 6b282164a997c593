//! Service accounts in the store.

use rusqlite::named_params;
use secrecy::SecretString;
use uuid::Uuid;

use super::change::Change;
use super::columns::{Connections, reach_text};
use super::connection::{Connection, Failure, Read, Row};
use super::{Store, broken, check_name, hint, shown};
use crate::auth::records::{NewServiceAccount, ServiceAccount};
use crate::auth::secret::{self, CLIENT_SECRET_PREFIX};
use crate::error::{Error, Result};
use crate::near;
use crate::principal::{Reach, Scope};

impl Store {
    /// Makes a service account. The secret is in nobody's hands but the caller's; the client id is
    /// in the record.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when the name is taken, or no connection named.
    pub fn create_service_account(&mut self, new: NewServiceAccount) -> Result<(ServiceAccount, SecretString)> {
        check_name("a service account", &new.name)?;
        let connections = reach_text(&distinct(&new.reach)?)?;
        let client_id = secret::mint_client_id()?;
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let account = self.change(|connection, now| {
            let made = connection.execute(
                "INSERT INTO service_accounts (client_id, name, digest, scope, connections, created_at)
                 VALUES (:client_id, :name, :digest, :scope, :connections, :now)",
                named_params! {
                    ":client_id": client_id,
                    ":name": new.name,
                    ":digest": digest,
                    ":scope": new.scope,
                    ":connections": connections,
                    ":now": now,
                },
            );
            match made {
                Err(Failure::Taken) => {
                    Err(Error::invalid(format!("there is already a service account named {:?}", new.name))
                        .hint("remove that one first, rotate its secret, or choose another name"))
                }
                Err(error) => Err(broken(error)),
                Ok(_) => {
                    let account = find(connection, &client_id)?;
                    let change = Change::of("service-account create", None, Some(&account));
                    Ok((account, change))
                }
            }
        })?;
        Ok((account, secret))
    }

    /// Gives the service account of that name other connections and another scope, also to the
    /// tokens that it holds already.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn change_service_account(&mut self, change: NewServiceAccount) -> Result<ServiceAccount> {
        let connections = reach_text(&distinct(&change.reach)?)?;
        self.change(|connection, _| {
            let account = find(connection, &change.name)?;
            connection
                .execute(
                    "UPDATE service_accounts SET scope = :scope, connections = :connections WHERE client_id = :id",
                    named_params! {
                        ":scope": change.scope,
                        ":connections": connections,
                        ":id": account.client_id,
                    },
                )
                .map_err(broken)?;
            changed("service-account change", connection, &account)
        })
    }

    /// Every service account, by name.
    pub fn service_accounts(&self) -> Result<Vec<ServiceAccount>> {
        all(&self.connection)
    }

    /// Replaces the secret of the service account with that name or client id. Tokens that it holds
    /// stay valid until they expire: to end them too, disable it.
    ///
    /// # Errors
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none.
    pub fn rotate_service_account(&mut self, which: &str) -> Result<(ServiceAccount, SecretString)> {
        let (secret, digest) = secret::mint(CLIENT_SECRET_PREFIX)?;
        let account = self.change(|connection, now| {
            let account = find(connection, which)?;
            connection
                .execute(
                    "UPDATE service_accounts SET digest = :digest, rotated_at = :now WHERE client_id = :id",
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
        self.change(|connection, now| {
            let account = find(connection, which)?;
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
        self.change(|connection, _| {
            let account = find(connection, which)?;
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
        self.change(|connection, _| {
            let account = find(connection, which)?;
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
    let account = find(connection, &before.client_id)?;
    let change = Change::of(action, Some(before), Some(&account));
    Ok((account, change))
}

const SELECT: &str =
    "SELECT client_id, name, scope, connections, created_at, rotated_at, disabled_at FROM service_accounts";

fn record(row: &Row<'_>) -> Read<ServiceAccount> {
    let Connections(reach) = row.get("connections")?;
    Ok(ServiceAccount {
        client_id: row.get("client_id")?,
        name: row.get("name")?,
        scope: row.get("scope")?,
        reach,
        created_at: row.get("created_at")?,
        rotated_at: row.get("rotated_at")?,
        disabled_at: row.get("disabled_at")?,
    })
}

fn all(connection: &Connection) -> Result<Vec<ServiceAccount>> {
    connection.query(&format!("{SELECT} ORDER BY name"), (), record).map_err(broken)
}

/// By name or client id; the two never look alike.
fn find(connection: &Connection, which: &str) -> Result<ServiceAccount> {
    let sql = format!("{SELECT} WHERE client_id = ?1 OR name = ?1");
    match connection.query_row(&sql, [which], record) {
        Err(Failure::NoRows) => {
            let known = all(connection)?;
            let near = near::nearest(which, known.iter().map(|account| account.name.as_str()));
            Err(Error::not_found(format!("there is no service account {}", shown(which)))
                .hint(hint(&near, "portico service-account list")))
        }
        found => found.map_err(broken),
    }
}

/// Each connection once, in the order given; the first mention counts.
fn distinct(reach: &Reach) -> Result<Reach> {
    let mut distinct: Vec<(Uuid, Scope)> = Vec::new();
    for (connection, scope) in reach.list().unwrap_or_default() {
        if !distinct.iter().any(|(known, _)| *known == connection) {
            distinct.push((connection, scope));
        }
    }
    if distinct.is_empty() {
        return Err(Error::invalid("a service account needs at least one connection; name it with --connection"));
    }
    Ok(Reach::each(distinct))
}
