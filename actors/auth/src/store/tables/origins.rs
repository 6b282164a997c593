//! Credentials made by an older version, which did not record their origin. Their rights are limited like all
//! others now, but it is unknown whether they should have been granted.

use std::collections::HashSet;

use rusqlite::named_params;

use crate::clock::{Now, Timestamp};
use crate::records::{PersonalAccessToken, ServiceAccount, User};
use crate::store::connection::StoreConnection;
use crate::store::open::Store;
use crate::store::rows::tokens;
use crate::store::sql::columns::rights;
use portico_core::error::Result;
use portico_core::principal::Rights;

/// Credentials in force and of unknown origin.
#[derive(Clone, Debug, Default)]
pub struct UnknownOrigins {
    /// Tokens that may derive from another one of the same user, which may have ended since.
    pub tokens: Vec<PersonalAccessToken>,
    /// Users with more rights than an administrator who may have added them.
    pub users: Vec<User>,
    /// Service accounts with more rights than an administrator who may have made them, or replaced their secret.
    pub accounts: Vec<ServiceAccount>,
    /// Accounts whose secret may have been made in a session of a token that has ended since.
    pub secrets: Vec<ServiceAccount>,
}

impl Store {
    /// Returns the credentials of unknown origin that could exceed what they should have.
    pub fn of_unknown_origin(&self) -> Result<UnknownOrigins> {
        self.authority()?.must_reach_all()?;
        let now = self.clock.now();
        self.connection.read(|connection| {
            let administrators = confined_administrators(connection)?;
            let beyond = |since: Timestamp, opens: &Rights| {
                administrators.iter().any(|(known, rights)| *known <= since && !rights.contains(opens))
            };
            let (emails, clients) = (
                not_noted(connection, "users", "email", "judged")?,
                not_noted(connection, "service_accounts", "client_id", "judged")?,
            );
            let secrets = not_noted(connection, "service_accounts", "client_id", "secret_parent_known")?;
            let ended = tokens_of_administrators(connection, now)?;
            let in_doubt = "t.parent_known = 0 AND t.revoked_at IS NULL AND u.disabled_at IS NULL
                            AND (t.expires_at IS NULL OR t.expires_at > :ended)
                            AND EXISTS (SELECT 1 FROM personal_access_tokens o
                                        WHERE o.user_id = t.user_id AND o.id <> t.id AND o.created_at <= t.created_at)";
            let users = self.users()?.into_iter().filter(|user| {
                emails.contains(&user.email) && user.disabled_at.is_none() && beyond(user.created_at, &user.rights)
            });
            let accounts = self.service_accounts()?.into_iter().filter(|account| account.disabled_at.is_none());
            let since = |account: &ServiceAccount| account.rotated_at.unwrap_or(account.created_at);
            let (accounts, others): (Vec<_>, Vec<_>) = accounts
                .partition(|account| clients.contains(&account.client_id) && beyond(since(account), &account.rights));
            let secrets = others.into_iter().filter(|account| {
                let within = |(made, ends): &(Timestamp, Timestamp)| (*made..=*ends).contains(&since(account));
                secrets.contains(&account.client_id) && ended.iter().any(within)
            });
            Ok(UnknownOrigins {
                tokens: tokens::matching(connection, in_doubt, named_params! { ":ended": now.ended() })?,
                users: users.collect(),
                accounts,
                secrets: secrets.collect(),
            })
        })
    }
}

/// Returns since when there are administrators of a part of the service, and their rights.
fn confined_administrators(connection: &StoreConnection) -> Result<Vec<(Timestamp, Rights)>> {
    let sql = "SELECT created_at, scope, reach FROM users WHERE admin = 1 AND reach IS NOT NULL";
    connection.query(sql, (), |row| Ok((row.get(0)?, rights(row, 1, 2)?)))
}

/// From when to when there were tokens of administrators that have ended.
fn tokens_of_administrators(connection: &StoreConnection, now: Now) -> Result<Vec<(Timestamp, Timestamp)>> {
    let sql = "SELECT t.created_at, coalesce(t.revoked_at, t.expires_at)
               FROM personal_access_tokens t JOIN users u ON u.id = t.user_id
               WHERE u.admin = 1 AND (t.revoked_at IS NOT NULL OR t.expires_at <= :ended)";
    let values = named_params! { ":ended": now.ended() };
    connection.query(sql, values, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Returns the names of a table's rows whose origin was not recorded, according to `column`.
fn not_noted(connection: &StoreConnection, table: &str, name: &str, column: &str) -> Result<HashSet<String>> {
    let sql = format!("SELECT {name} FROM {table} WHERE {column} = 0");
    let names = connection.query(&sql, (), |row| row.get(0))?;
    Ok(names.into_iter().collect())
}
