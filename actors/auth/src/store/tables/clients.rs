//! Clients in the store: those that an administrator registered, and those that registered themselves. Clients that
//! describe themselves at their own address are not stored.

use std::time::Duration;

use rusqlite::named_params;
use secrecy::SecretString;

use crate::clock::Now;
use crate::oauth::client::{APP_ID_PREFIX, Client, ClientKind, NewClient, check_redirects};
use crate::secret::{self, CLIENT_SECRET_PREFIX, Digest};
use crate::store::connection::StoreConnection;
use crate::store::model::change::Change;
use crate::store::open::Store;
use crate::store::rows::consents;
use crate::store::rows::names::{check_name, missing, named, one_named};
use crate::store::sql::columns::json;
use crate::store::sql::row::Row;
use portico_core::error::{Error, Kind, Result};

/// Clients that registered themselves, at most.
const MOST_DYNAMIC: i64 = 1_000;
/// How long a client is kept that registered itself and was given nothing.
const UNUSED: Duration = Duration::from_hours(24);
/// When one that is in use may have gone.
const RETRY: Duration = Duration::from_hours(1);
/// A client that was not used for so long is forgotten too: its last grant has ended.
const IDLE: Duration = Duration::from_hours(100 * 24);

impl Store {
    /// Registers a client. Returns its secret, if it has one, which is known only to the caller.
    ///
    /// # Errors
    /// [`Kind::Invalid`] if the name is taken, or a redirect URI is not allowed.
    pub fn add_client(&mut self, new: &NewClient) -> Result<(Client, Option<SecretString>)> {
        self.keep_client(new, ClientKind::Registered)
    }

    /// Stores a client that registers itself, and deletes those that were never used; if there are too many, also
    /// the oldest without a grant.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for its addresses or name, [`Kind::Busy`] if too many are in use.
    pub fn register_client(&mut self, new: &NewClient) -> Result<(Client, Option<SecretString>)> {
        self.write(|connection, now| {
            forget_unused(connection, now)?;
            if count_dynamic(connection)? >= MOST_DYNAMIC {
                forget_oldest_unused(connection)?;
            }
            Ok(())
        })?;
        self.keep_client(new, ClientKind::Dynamic)
    }

    fn keep_client(&mut self, new: &NewClient, kind: ClientKind) -> Result<(Client, Option<SecretString>)> {
        check_name("a client", &new.name)?;
        check_redirects(&new.redirect_uris, kind)?;
        let client_id = secret::mint_id(APP_ID_PREFIX)?;
        let minted = if new.confidential { Some(secret::mint(CLIENT_SECRET_PREFIX)?) } else { None };
        let (secret, digest) = minted.unzip();
        let action = if kind == ClientKind::Dynamic { "client register" } else { "client add" };
        let actor = self.actor;
        let client = self.change(|connection, now| {
            if kind == ClientKind::Registered {
                actor.authority(connection, now)?.must_reach_all()?;
            }
            if kind == ClientKind::Dynamic && count_dynamic(connection)? >= MOST_DYNAMIC {
                return Err(Error::new(Kind::Busy, "too many clients have registered themselves")
                    .hint("try again later, or ask an administrator to register the client")
                    .retry_after(RETRY));
            }
            // The names of other clients are not reserved.
            if kind == ClientKind::Registered
                && !named(registered(connection)?, &new.name, |client| &client.name).is_empty()
            {
                return Err(Error::invalid(format!("there is already a client named {:?}", new.name))
                    .hint("remove that one first, or choose another name"));
            }
            let row = named_params! {
                ":client_id": client_id,
                ":kind": kind.as_str(),
                ":name": new.name,
                ":digest": digest,
                ":redirect_uris": json(&new.redirect_uris)?,
                ":created_at": now.time(),
            };
            connection.insert("clients", row)?;
            let client = find(connection, &client_id)?;
            let change = Change::new(action, None, Some(&client));
            Ok((client, [change]))
        })?;
        Ok((client, secret))
    }

    /// Returns every stored client, by name, followed by clients that people have given access and that are not
    /// stored here.
    ///
    /// # Errors
    /// [`Kind::Forbidden`] for an administrator of a part of the service.
    pub fn clients(&self) -> Result<Vec<Client>> {
        self.authority()?.must_reach_all()?;
        let mut clients = all(&self.connection)?;
        clients.extend(documents(&self.connection, None)?);
        Ok(clients)
    }

    /// The client with that id.
    pub(crate) fn client(&self, client_id: &str) -> Result<Option<Client>> {
        by_id(&self.connection, client_id)
    }

    /// Removes the client with that name or id, and ends every grant to it. Of a client that is described at its
    /// own address, only the grants are stored here.
    ///
    /// # Errors
    /// [`Kind::NotFound`] if there is none.
    pub fn remove_client(&mut self, which: &str) -> Result<Client> {
        self.administer(|connection, _, authority| {
            authority.must_reach_all()?;
            let client = match documents(connection, Some(which))?.pop() {
                Some(client) => client,
                None => find(connection, which)?,
            };
            let given = "SELECT id FROM grants WHERE client_id = ?1";
            let ended = consents::end_those(connection, given, [&client.client_id])?;
            connection.execute("DELETE FROM clients WHERE client_id = ?1", [&client.client_id])?;
            let change = Change::new("client remove", Some(&client), None);
            Ok((client, std::iter::once(change).chain(ended)))
        })
    }
}

/// How a client authenticates.
pub(crate) enum Authentication {
    /// The client is not stored here.
    Unknown,
    /// It has no secret.
    Public,
    /// With the secret of that digest.
    Secret(Digest),
}

/// How the client with that id authenticates.
pub(crate) fn authentication(connection: &StoreConnection, client_id: &str) -> Result<Authentication> {
    let sql = "SELECT digest FROM clients WHERE client_id = ?1";
    let read =
        |row: &Row<'_>| Ok(row.get::<_, Option<Digest>>(0)?.map_or(Authentication::Public, Authentication::Secret));
    let found = connection.query_opt(sql, [client_id], read)?;
    Ok(found.unwrap_or(Authentication::Unknown))
}

const SELECT: &str =
    "SELECT client_id, kind, name, digest IS NOT NULL AS confidential, redirect_uris, created_at, used_at
    FROM clients";

fn record(row: &Row<'_>) -> Result<Client> {
    let uris: String = row.get("redirect_uris")?;
    // Unreadable redirect URIs match nothing.
    let redirect_uris: Vec<String> = serde_json::from_str(&uris).unwrap_or_default();
    Ok(Client {
        client_id: row.get("client_id")?,
        kind: ClientKind::of_kept(&row.get::<_, String>("kind")?, &redirect_uris),
        name: row.get("name")?,
        confidential: row.get("confidential")?,
        redirect_uris,
        created_at: row.get("created_at")?,
        used_at: row.get("used_at")?,
    })
}

fn by_id(connection: &StoreConnection, client_id: &str) -> Result<Option<Client>> {
    connection.query_opt(&format!("{SELECT} WHERE client_id = ?1"), [client_id], record)
}

fn all(connection: &StoreConnection) -> Result<Vec<Client>> {
    connection.query(&format!("{SELECT} ORDER BY name, created_at"), (), record)
}

/// Returns the clients named by an administrator.
fn registered(connection: &StoreConnection) -> Result<Vec<Client>> {
    let mut known = all(connection)?;
    known.retain(|client| client.kind == ClientKind::Registered);
    Ok(known)
}

/// Returns clients that are not stored, as described by their grants; with `which` only the one with that id.
fn documents(connection: &StoreConnection, which: Option<&str>) -> Result<Vec<Client>> {
    let sql = "SELECT client_id, min(client_name), min(created_at), max(used_at) FROM grants
               WHERE client_id NOT IN (SELECT client_id FROM clients) AND (client_id = :which OR :which IS NULL)
               GROUP BY client_id ORDER BY client_id";
    connection.query(sql, named_params! { ":which": which }, |row| {
        Ok(Client {
            client_id: row.get(0)?,
            kind: ClientKind::Document,
            name: row.get(1)?,
            confidential: false,
            redirect_uris: Vec::new(),
            created_at: row.get(2)?,
            used_at: row.get(3)?,
        })
    })
}

/// Finds a client by id, or by the name that an administrator gave: other names are not unique.
fn find(connection: &StoreConnection, which: &str) -> Result<Client> {
    if let Some(client) = by_id(connection, which)? {
        return Ok(client);
    }
    if let Some(client) = one_named("clients", registered(connection)?, which, |client| &client.name)? {
        return Ok(client);
    }
    let known = all(connection)?;
    Err(missing("client", which, known.iter().map(|client| client.name.as_str()), "portico client list"))
}

fn count_dynamic(connection: &StoreConnection) -> Result<i64> {
    connection.count("clients WHERE kind = 'dynamic'", ())
}

fn forget_unused(connection: &StoreConnection, now: Now) -> Result<()> {
    connection.execute(
        "DELETE FROM clients WHERE kind = 'dynamic'
             AND ((used_at IS NULL AND created_at <= :unused) OR used_at <= :idle)",
        named_params! { ":unused": now.ended().before(UNUSED), ":idle": now.ended().before(IDLE) },
    )?;
    Ok(())
}

fn forget_oldest_unused(connection: &StoreConnection) -> Result<()> {
    let sql = "DELETE FROM clients WHERE client_id = (SELECT client_id FROM clients
               WHERE kind = 'dynamic' AND used_at IS NULL ORDER BY created_at, client_id LIMIT 1)";
    connection.execute(sql, ()).map(drop)
}
