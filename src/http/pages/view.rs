//! Common parts of the pages for signed-in people: the visitor, the texts for rights and times, and the choices of
//! their forms.

use portico_actors::auth::clock::Timestamp;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Rights, Scope};

use crate::app::App;
use crate::http::form::Form;
use crate::http::pages::browser::Visitor;
use crate::http::pages::consent::{self, ScopeChoice, TargetChoices};

/// The visitor that a page is shown to.
pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) visitor: &'a Visitor,
}

/// A secret that is shown this once.
pub(super) struct OneTimeSecret {
    /// Its kind, for people.
    pub(super) what: String,
    /// Names and values, the secret among them.
    pub(super) values: Vec<(&'static str, String)>,
}

impl View<'_> {
    /// The scopes that the person can give.
    pub(super) fn scopes(&self) -> Vec<ScopeChoice> {
        consent::choices(self.visitor.session.rights.widest(), Scope::Read)
    }

    /// The connections and workspaces that the person reaches.
    pub(super) fn places(&self) -> TargetChoices {
        TargetChoices::within(self.app, &self.visitor.session.rights)
    }

    /// The connections and workspaces within `rights`, for people.
    pub(super) fn describe_rights(&self, rights: &Rights) -> String {
        let entries = self.app.directory.list();
        rights.describe(|id| {
            entries.iter().find(|entry| entry.id == id).map_or_else(|| id.to_string(), |it| it.name.to_string())
        })
    }

    /// A time to the minute, for people.
    pub(super) fn when(&self, time: Timestamp) -> String {
        let text = time.to_string();
        match (text.get(..10), text.get(11..16)) {
            (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
            _ => text,
        }
    }

    /// As above, for a time that may be absent.
    pub(super) fn when_if(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(|| "never".to_owned(), |time| self.when(time))
    }
}

/// The scope that a form chooses.
pub(super) fn scope(form: &Form) -> Result<Scope> {
    Scope::parse(form.need("scope")?).ok_or_else(|| Error::invalid("scope: choose one of those offered"))
}

/// Returns all rights or the chosen ones, without a limit of scope.
pub(super) fn rights_from_form(form: &Form, offered: &TargetChoices) -> Result<Rights> {
    if form.need("reach")? == "all" {
        return Ok(Rights::ALL);
    }
    let chosen = offered.chosen(form, Scope::Admin)?;
    if chosen.is_empty() {
        return Err(Error::invalid("choose at least one connection or workspace, or all").hint("go back and choose"));
    }
    Ok(chosen)
}
