//! The consent page, and the decision. The whole request comes back with the form and is validated again: only
//! choices are taken from the page, and those are checked once more behind the mailbox.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::oauth::authorization::Approval;
use portico_actors::auth::oauth::client::ClientKind;
use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::app::App;
use crate::http::error;
use crate::http::form::Form;
use crate::http::pages::authorization_request::{self, AuthorizationRequest};
use crate::http::pages::browser::Visitor;
use crate::http::pages::page::{self, State};
use crate::http::pages::sign_in;
use crate::workspace::Reachable;

/// One scope to choose.
pub(super) struct ScopeChoice {
    pub(super) word: &'static str,
    pub(super) title: &'static str,
    pub(super) meaning: &'static str,
    pub(super) chosen: bool,
}

/// The scopes up to `most`, for a page.
pub(super) fn choices(most: Scope, chosen: Scope) -> Vec<ScopeChoice> {
    let words = |scope| match scope {
        Scope::Read => ("Read", "look at tables and run statements that only read"),
        Scope::Write => ("Read and write", "also change data, where the connection allows it"),
        Scope::Admin => ("Administer", "also everything that administrators may"),
    };
    let choice = |scope| {
        let (title, meaning) = words(scope);
        ScopeChoice { word: scope.as_str(), title, meaning, chosen: scope == chosen }
    };
    Accounts::scopes_up_to(most).map(choice).collect()
}

/// One connection or workspace to choose.
pub(super) struct TargetChoice<T> {
    /// Its value in the form.
    pub(super) id: T,
    pub(super) name: String,
    /// The scope's word, where no more can be given there than that.
    pub(super) most: Option<&'static str>,
}

/// The connections and workspaces to choose among.
pub(super) struct TargetChoices {
    pub(super) connections: Vec<TargetChoice<Uuid>>,
    pub(super) workspaces: Vec<TargetChoice<Arc<str>>>,
}

impl TargetChoices {
    /// Returns those within `rights`.
    pub(super) fn within(app: &App, rights: &Rights) -> Self {
        let most = |scope: Scope| (scope < rights.widest()).then_some(scope.as_str());
        let connection = |entry: ConnectionEntry| {
            let most = most(rights.scope_at(entry.id)?);
            Some(TargetChoice { id: entry.id, name: entry.name.to_string(), most })
        };
        let workspace = |Reachable { workspace, scope, .. }: Reachable| TargetChoice {
            id: Arc::clone(&workspace.name),
            name: workspace.name.to_string(),
            most: most(scope),
        };
        Self {
            connections: app.directory.list().into_iter().filter_map(connection).collect(),
            workspaces: app.workspaces_within(rights).into_iter().map(workspace).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.workspaces.is_empty()
    }

    /// Returns the rights to those that a form names, each of which has to be among these, all with `scope`.
    pub(super) fn chosen(&self, form: &Form, scope: Scope) -> Result<Rights> {
        let wrong = |name| Error::invalid(format!("{name}: choose among those offered"));
        let connection = |text: &str| {
            let id = Uuid::try_parse(text).ok().filter(|id| self.connections.iter().any(|place| place.id == *id));
            id.ok_or_else(|| wrong("connection"))
        };
        let workspace = |text: &str| {
            let place = self.workspaces.iter().find(|place| place.id.as_ref() == text);
            place.map(|place| (Arc::clone(&place.id), WorkspaceGrant::Given(scope))).ok_or_else(|| wrong("workspace"))
        };
        let connections: Vec<Uuid> = form.all("connection").map(connection).collect::<Result<_>>()?;
        let workspaces: Vec<_> = form.all("workspace").map(workspace).collect::<Result<_>>()?;
        Ok(Rights::only(connections, scope).with_workspaces(workspaces))
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
struct Consent<'a> {
    ask: &'a AuthorizationRequest,
    visitor: &'a Visitor,
    scopes: Vec<ScopeChoice>,
    places: TargetChoices,
    /// The whole request, which comes back with the decision.
    request: &'a str,
}

impl Consent<'_> {
    /// Where the application describes itself, if it does: its host is all that is certain.
    fn publisher(&self) -> Option<&str> {
        let client = &self.ask.client;
        (client.kind == ClientKind::Document).then(|| client.client_id.split('/').nth(2).unwrap_or_default())
    }

    /// Returns the only target that the request's resource names: its kind, and its name.
    fn asked(&self) -> Option<(&'static str, &str)> {
        self.ask.wanted.part.as_ref()?;
        match (self.places.connections.as_slice(), self.places.workspaces.as_slice()) {
            ([one], []) => Some(("connection", &one.name)),
            ([], [one]) => Some(("workspace", &one.name)),
            _ => None,
        }
    }

    fn is_registered(&self) -> bool {
        self.ask.client.kind == ClientKind::Registered
    }
}

/// The connections and workspaces that can be given to this client.
fn places(app: &App, ask: &AuthorizationRequest, visitor: &Visitor) -> TargetChoices {
    let mut places = TargetChoices::within(app, &visitor.session.rights);
    if let Some(asked) = &ask.wanted.part {
        places.connections.retain(|place| asked.covers(place.id));
        let named = |name: &str| asked.workspaces().iter().any(|(asked, _)| asked.eq_ignore_ascii_case(name));
        places.workspaces.retain(|place| named(&place.id));
    }
    places
}

/// The consent page.
pub(super) fn show(app: &App, ask: &AuthorizationRequest, visitor: &Visitor, request: &str) -> Result<HttpResponse> {
    let most = ask.wanted.scope.min(visitor.session.rights.widest());
    let (scopes, places) = (choices(most, ask.wanted.usual.min(most)), places(app, ask, visitor));
    let page = Consent { ask, visitor, scopes, places, request };
    page::show_as(error::OK, &page, &ask.answer.policy_source(), &[])
}

/// `POST /authorize/decision`.
pub(super) async fn decide(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let form = Form::read(&request, payload).await?;
        // If the session has ended meanwhile, the person signs in and is asked again.
        if Visitor::find(&request, &app).await?.is_none() {
            let next = format!("/authorize?{}", Form::parse(form.need("request")?).encode());
            return Ok(page::go(&sign_in::path(&next), &[]));
        }
        let visitor = Visitor::of_form(&request, &app, &form).await?;
        recorder.note_session(&visitor.session);
        let ask = match authorization_request::again(&request, form.need("request")?, &app, Some(&visitor)).await? {
            Ok(ask) => ask,
            Err(response) => return Ok(response),
        };
        if form.get("decision") != Some("allow") {
            let denied = (authorization_request::ACCESS_DENIED, "the person did not agree");
            return ask.answer.fail(&request, &ask.client, Some(&visitor), denied).await;
        }
        let most = ask.wanted.scope.min(visitor.session.rights.widest());
        let scope = form.get("scope").and_then(Scope::parse).filter(|scope| *scope <= most);
        let scope = scope.ok_or_else(|| Error::invalid("scope: choose one of those offered"))?;
        let chosen = places(&app, &ask, &visitor).chosen(&form, scope)?;
        if chosen.is_empty() {
            return Err(
                Error::invalid("choose at least one connection or workspace, or cancel").hint("go back and choose")
            );
        }
        let approval = Approval {
            client_id: ask.client.client_id,
            client_name: ask.client.name,
            redirect_uri: ask.answer.redirect_uri.clone(),
            challenge: ask.wanted.challenge,
            // The choice is limited to the person's own rights.
            rights: chosen.intersection(&visitor.session.rights),
            resource: ask.wanted.resource,
        };
        let code = visitor.people.approve(&visitor.secret, approval).await?;
        Ok(ask.answer.code(code.expose_secret()))
    })
    .await
}
