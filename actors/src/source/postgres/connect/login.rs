//! Sessions that are opened as a caller's own role: which names may stand in a file's path or among a
//! program's words, and whether a session is what it has to be.

use tokio_postgres::types::Type;

use crate::error::{Error, Kind, Result};
use crate::source::postgres::connect::wire::Wire;
use crate::source::postgres::failure;

/// Who the session is, and whether it is or could become a superuser, whom nothing holds.
const WHO: &str = "SELECT session_user::text, current_user::text, EXISTS (SELECT FROM pg_catalog.pg_roles \
    WHERE rolsuper AND pg_catalog.pg_has_role(session_user, oid, 'MEMBER'))";

/// Why no session can be opened as a role with this name: the name stands in the path of a file, and
/// among the words of a program.
///
/// # Errors
/// The rest of a sentence that begins with what the name is for.
pub fn check_name(role: &str) -> std::result::Result<(), &'static str> {
    match role {
        "" => Err("is empty"),
        _ if role.starts_with('-') => Err("has a name that begins with -, as an option does"),
        _ if role.contains('/') => Err("has a name with /"),
        _ if role.contains("..") => Err("has a name with .."),
        _ if role.chars().any(char::is_control) => Err("has a name with control characters"),
        _ => Ok(()),
    }
}

/// Whether `wire` is a session of `role`, and of nobody whom the database does not hold.
pub(crate) async fn verify(wire: &Wire, role: &str) -> Result<()> {
    let row = wire.query_typed_one(WHO, &[] as &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)]).await;
    let row = row.map_err(|error| failure::connecting(&error))?;
    let text = |column| row.try_get::<_, String>(column).map_err(|error| failure::connecting(&error));
    let (session, current) = (text(0)?, text(1)?);
    let superuser: bool = row.try_get(2).map_err(|error| failure::connecting(&error))?;
    if session != role || current != role {
        return Err(refused(role, "is another one once it has signed in"));
    }
    if superuser {
        return Err(refused(role, "is a superuser, or may become one, and nothing in the database holds a superuser")
            .hint("an administrator can map the caller to another role under [connections.identity]"));
    }
    Ok(())
}

/// What callers are told whose role has no session.
pub(crate) fn refused(role: &str, why: &str) -> Error {
    Error::new(Kind::Forbidden, format!("this caller's role {role:?} {why}"))
        .hint("an administrator has to let the role sign in to the database, as [connections.identity] says")
        .sqlstate("42501")
}

#[cfg(test)]
mod tests {
    use crate::source::postgres::connect::login::check_name;

    #[test]
    fn names_that_would_be_another_file_or_an_option_are_refused() {
        for name in ["", "-h", "--help", "a/b", "/etc/passwd", "..", "a..b", "a\nb", "a\0", "\u{7f}", "\u{85}x"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["north", "o'neil \"x\"", "ann@example.org", "a.b", "a-b", "größe", "{role}", "$(id)"] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }
}
