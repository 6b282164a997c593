//! Which connection a request of the SQL API addresses: the one its names say, else
//! `defaultCatalog`, else the caller's only one (`wire.md` §4).

use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::{near, pattern};

/// Chooses among the `reachable` connections. `named` are the first parts of three-part names.
pub(in crate::http) fn choose<'a>(
    reachable: &'a [Entry],
    named: &[String],
    default_catalog: Option<&str>,
    field: &str,
) -> Result<&'a Entry> {
    let find = |name: &str| reachable.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    let mut addressed: Option<&Entry> = None;
    for name in named {
        let entry = find(name).ok_or_else(|| unknown(reachable, field, name))?;
        match addressed {
            Some(other) if other.id != entry.id => {
                return Err(Error::invalid(format!(
                    "{field}: a request addresses one connection, and this one names {} and {}",
                    other.name, entry.name
                ))
                .hint("send one request for each connection"));
            }
            _ => addressed = Some(entry),
        }
    }
    if let Some(entry) = addressed {
        return Ok(entry);
    }
    if let Some(name) = default_catalog {
        return find(name).ok_or_else(|| unknown(reachable, "defaultCatalog", name));
    }
    match reachable {
        [only] => Ok(only),
        [] => Err(Error::forbidden("this credential opens no connection")),
        _ => Err(Error::invalid(format!("{field}: it is not clear which connection this addresses")).hint(format!(
            "write connection.schema.table, or give defaultCatalog; connections: {}",
            names(reachable).join(", ")
        ))),
    }
}

/// The connections that `catalogName` names, exactly or as a pattern; all of them without it.
pub(in crate::http) fn matching(reachable: &[Entry], catalog: Option<&str>) -> Result<Vec<Entry>> {
    let Some(name) = catalog else { return Ok(reachable.to_vec()) };
    if let Some(entry) = reachable.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)) {
        return Ok(vec![entry.clone()]);
    }
    let found: Vec<Entry> =
        reachable.iter().filter(|entry| pattern::matches(Some(name), &entry.name)).cloned().collect();
    if found.is_empty() { Err(unknown(reachable, "catalogName", name)) } else { Ok(found) }
}

fn names(reachable: &[Entry]) -> Vec<&str> {
    reachable.iter().map(|entry| entry.name.as_ref()).collect()
}

fn unknown(reachable: &[Entry], field: &str, name: &str) -> Error {
    let error = Error::not_found(format!("{field}: there is no connection {name:?} for this caller"));
    let names = names(reachable);
    match near::did_you_mean(&near::nearest(name, names.iter().copied())) {
        Some(hint) => error.hint(hint),
        None => error.hint(format!("connections: {}", names.join(", "))),
    }
}
