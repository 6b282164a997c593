//! Determines which connection a statement or a procedure call addresses: the one that its names include, else the
//! default one, else the caller's only one.

use std::borrow::Borrow;

use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::{near, pattern, sql};

use crate::workspace::Reachable;

/// What a request says about the connection that it addresses.
pub(crate) struct Addressing {
    /// First parts of three-part names.
    named: Vec<String>,
    /// Whether a relation does not say its connection.
    by_default: bool,
    /// The connection of names that do not say it.
    pub(super) default: Option<String>,
    /// The member that holds the names.
    pub(crate) field: &'static str,
    /// The member that holds the default.
    default_field: &'static str,
}

impl Addressing {
    /// Reads the statements in `text`, the member `query`; the member `default_field` supplies a default.
    ///
    /// # Errors
    /// The text is not accepted.
    pub(crate) fn of_statements(text: &str, default: Option<String>, default_field: &'static str) -> Result<Self> {
        let addressed = sql::addressed(text, default.as_deref())?;
        let (named, by_default) = (addressed.catalogs, addressed.by_default);
        Ok(Self { named, by_default, default, field: "query", default_field })
    }

    /// Reads a call of the procedure `name`, the member `procedure`.
    ///
    /// # Errors
    /// `name` is not a name.
    pub(crate) fn of_procedure(name: &str, default: Option<String>, default_field: &'static str) -> Result<Self> {
        let mut named = sql::procedure_name(name)?;
        named.truncate(usize::from(named.len() == 3));
        Ok(Self { named, by_default: false, default, field: "procedure", default_field })
    }

    /// Refuses a default connection where names are those of the workspace of that name.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn stay_within(&self, workspace: &str) -> Result<()> {
        match self.default.as_deref().filter(|default| !default.eq_ignore_ascii_case(workspace)) {
            Some(default) => {
                let field = self.default_field;
                let message = format!("{field}: {default} is not the workspace {workspace}, whose names these are");
                Err(Error::invalid(message).hint(format!("leave {field} out, or the workspace")))
            }
            None => Ok(()),
        }
    }

    /// All names of connections in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().chain(&self.default).map(String::as_str)
    }

    /// Returns `error`, or a better one if an unknown connection is the name of a workspace, or the caller reaches
    /// only workspaces; `parameter` selects one.
    pub(crate) fn explain<'w>(
        &self,
        error: Error,
        workspaces: impl Iterator<Item = &'w Reachable>,
        parameter: &str,
    ) -> Error {
        if error.kind == Kind::Forbidden {
            let names: Vec<&str> = workspaces.map(|it| it.workspace.name.as_ref()).collect();
            if names.is_empty() {
                return error;
            }
            let message = format!("{}: this credential opens workspaces, and no connection by itself", self.field);
            return Error::invalid(message).hint(format!(
                "give {parameter}, and use only names of that workspace; workspaces: {}",
                names.join(", ")
            ));
        }
        if error.kind != Kind::NotFound {
            return error;
        }
        let workspaces: Vec<&Reachable> = workspaces.collect();
        let is_named = |it: &&&Reachable| self.names().any(|name| it.workspace.name.eq_ignore_ascii_case(name));
        match workspaces.iter().find(is_named) {
            Some(Reachable { workspace, .. }) => {
                let message = format!("{}: {} is a workspace, not a connection", self.field, workspace.name);
                Error::invalid(message)
                    .hint(format!("give {parameter}={}, and use only names of that workspace", workspace.name))
            }
            None if error.get_hint().is_none() && !workspaces.is_empty() => {
                let names: Vec<&str> = workspaces.iter().map(|it| it.workspace.name.as_ref()).collect();
                error.hint(format!("workspaces: {}", names.join(", ")))
            }
            None => error,
        }
    }

    /// Returns the connections that a statement names, if there are several, including the default one; the default
    /// one counts even if only unqualified names refer to it.
    ///
    /// # Errors
    /// A name is not one of theirs.
    pub(crate) fn several<'a, E: Borrow<ConnectionEntry>>(&self, reachable: &'a [E]) -> Result<Option<Vec<&'a E>>> {
        let mut addressed = self.addressed(reachable)?;
        if self.field != "query" || addressed.is_empty() || (addressed.len() == 1 && !self.by_default) {
            return Ok(None);
        }
        if let Some(default) = &self.default {
            add(&mut addressed, find(reachable, self.default_field, default)?);
        }
        Ok((addressed.len() > 1).then_some(addressed))
    }

    /// The connections that names say, each once.
    fn addressed<'a, E: Borrow<ConnectionEntry>>(&self, reachable: &'a [E]) -> Result<Vec<&'a E>> {
        let mut addressed = Vec::new();
        for name in &self.named {
            add(&mut addressed, find(reachable, self.field, name)?);
        }
        Ok(addressed)
    }

    /// Selects one of the `reachable` connections.
    ///
    /// # Errors
    /// A name is not one of theirs, or it is not clear which of them is meant.
    pub(crate) fn choose<'a, E: Borrow<ConnectionEntry>>(&self, reachable: &'a [E]) -> Result<&'a E> {
        let field = self.field;
        match self.addressed(reachable)?.as_slice() {
            [] => {}
            [only] => return Ok(only),
            [one, other, ..] => {
                return Err(Error::invalid(format!(
                    "{field}: a request addresses one connection, and this one names {} and {}",
                    name_of(*one),
                    name_of(*other),
                ))
                .hint("send one request for each connection"));
            }
        }
        if let Some(name) = &self.default {
            return find(reachable, self.default_field, name);
        }
        match reachable {
            [only] => Ok(only),
            [] => Err(Error::forbidden("this credential opens no connection")),
            _ => {
                let names = names(reachable);
                let quotes = if names.iter().any(|name| name.contains('-')) {
                    " (in a statement a name with - stands in double quotes)"
                } else {
                    ""
                };
                Err(Error::invalid(format!("{field}: it is not clear which connection this addresses")).hint(format!(
                    "write connection.schema.{}, or give {}; connections: {}{quotes}",
                    if field == "procedure" { "procedure" } else { "table" },
                    self.default_field,
                    names.join(", ")
                )))
            }
        }
    }
}

/// Returns the connections that `catalogName` names, exactly or as a pattern; all of them without it.
///
/// # Errors
/// `catalogName` is neither the name of a connection nor a pattern that matches one.
pub(crate) fn matching<'a, E: Borrow<ConnectionEntry>>(
    reachable: &'a [E],
    catalog: Option<&str>,
) -> Result<Vec<&'a E>> {
    let Some(name) = catalog else { return Ok(reachable.iter().collect()) };
    if let Some(known) = reachable.iter().find(|known| name_of(*known).eq_ignore_ascii_case(name)) {
        return Ok(vec![known]);
    }
    let found: Vec<&E> = reachable.iter().filter(|known| pattern::matches(Some(name), name_of(*known))).collect();
    if found.is_empty() { Err(unknown(reachable, "catalogName", name)) } else { Ok(found) }
}

fn find<'a, E: Borrow<ConnectionEntry>>(reachable: &'a [E], field: &str, name: &str) -> Result<&'a E> {
    let found = reachable.iter().find(|known| name_of(*known).eq_ignore_ascii_case(name));
    found.ok_or_else(|| unknown(reachable, field, name))
}

fn add<'a, E: Borrow<ConnectionEntry>>(addressed: &mut Vec<&'a E>, found: &'a E) {
    if addressed.iter().all(|other| (*other).borrow().id != found.borrow().id) {
        addressed.push(found);
    }
}

fn name_of<E: Borrow<ConnectionEntry>>(known: &E) -> &str {
    &known.borrow().name
}

fn names<E: Borrow<ConnectionEntry>>(reachable: &[E]) -> Vec<&str> {
    reachable.iter().map(name_of).collect()
}

fn unknown<E: Borrow<ConnectionEntry>>(reachable: &[E], field: &str, name: &str) -> Error {
    let error = Error::not_found(format!("{field}: there is no connection {name:?} for this caller"));
    let names = names(reachable);
    match near::suggestion(name, names.iter().copied()) {
        Some(hint) => error.hint(hint),
        None if names.is_empty() => error,
        None => error.hint(format!("connections: {}", names.join(", "))),
    }
}
