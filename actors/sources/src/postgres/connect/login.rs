//! Checks sessions that are opened as a caller's own role.

use tokio_postgres::types::Type;

use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::failure;
use portico_core::error::{Error, Kind, Result};

/// The session's user, and whether it is or can become a superuser, who is exempt from all checks.
const WHO: &str = "SELECT session_user::text, current_user::text, EXISTS (SELECT FROM pg_catalog.pg_roles \
    WHERE rolsuper AND pg_catalog.pg_has_role(session_user, oid, 'MEMBER'))";

/// Checks that `wire` is a session of `role`, which is not exempt from the database's checks.
pub(crate) async fn verify(wire: &DrivenClient, role: &str) -> Result<()> {
    let row = wire.query_typed_one(WHO, &[] as &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)]).await;
    let row = row.map_err(|error| failure::connecting(&error))?;
    let text = |column| row.try_get::<_, String>(column).map_err(|error| failure::connecting(&error));
    let (session, current) = (text(0)?, text(1)?);
    let superuser: bool = row.try_get(2).map_err(|error| failure::connecting(&error))?;
    if session != role || current != role {
        return Err(refused(role, "becomes another role when it signs in"));
    }
    if superuser {
        return Err(refused(role, "is a superuser, or may become one, and nothing in the database holds a superuser")
            .hint("an administrator can map the caller to another role under [connections.identity]"));
    }
    Ok(())
}

/// Returns the error for a caller whose role has no session.
pub(crate) fn refused(role: &str, why: &str) -> Error {
    Error::new(Kind::Forbidden, format!("this caller's role {role:?} {why}"))
        .hint("an administrator has to let the role sign in to the database, as [connections.identity] says")
        .sqlstate("42501")
}
