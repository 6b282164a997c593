//! What a person is asked, and what becomes of the decision. The whole request comes back with the
//! form and is judged again: nothing is taken from the page but choices, and those are checked
//! once more behind the mailbox.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::oauth::authorization::Approval;
use portico_actors::auth::oauth::client::ClientKind;
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::app::App;
use crate::http::error;
use crate::http::form::Form;
use crate::http::pages::authorization_request::{self, AuthorizationRequest};
use crate::http::pages::browser::Visitor;
use crate::http::pages::page::{self, State};
use crate::http::pages::sign_in;

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
        ScopeChoice { word: scope.word(), title, meaning, chosen: scope == chosen }
    };
    Accounts::scopes_up_to(most).map(choice).collect()
}

/// One connection to choose.
pub(super) struct ConnectionChoice {
    pub(super) id: Uuid,
    pub(super) name: String,
    /// The scope's word, where no more can be given there than that.
    pub(super) most: Option<&'static str>,
}

/// The connections within `rights`.
pub(super) fn places_of(app: &App, rights: &Rights) -> Vec<ConnectionChoice> {
    let place = |entry: Entry| {
        let scope = rights.scope_at(entry.id)?;
        let most = (scope < rights.widest()).then_some(scope.word());
        Some(ConnectionChoice { id: entry.id, name: entry.name.to_string(), most })
    };
    app.directory.list().into_iter().filter_map(place).collect()
}

#[derive(Template)]
#[template(path = "consent.html")]
struct Consent<'a> {
    ask: &'a AuthorizationRequest,
    visitor: &'a Visitor,
    scopes: Vec<ScopeChoice>,
    places: Vec<ConnectionChoice>,
    /// The whole request, which comes back with the decision.
    request: &'a str,
}

impl Consent<'_> {
    /// Where the application describes itself, if it does: its host is all that is certain.
    fn publisher(&self) -> Option<&str> {
        let client = &self.ask.client;
        (client.kind == ClientKind::Document).then(|| client.client_id.split('/').nth(2).unwrap_or_default())
    }

    fn is_registered(&self) -> bool {
        self.ask.client.kind == ClientKind::Registered
    }
}

/// The connections that can be given to this client.
fn places(app: &App, ask: &AuthorizationRequest, visitor: &Visitor) -> Vec<ConnectionChoice> {
    let mut places = places_of(app, &visitor.session.rights);
    places.retain(|place| ask.wanted.connection.is_none_or(|asked| asked == place.id));
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
        // Whose session has ended meanwhile, signs in and is asked once more.
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
        let scope = form.get("scope").and_then(Scope::from_word).filter(|scope| *scope <= most);
        let scope = scope.ok_or_else(|| Error::invalid("scope: choose one of those offered"))?;
        let connections = chosen(&form, &places(&app, &ask, &visitor))?;
        if connections.is_empty() {
            return Err(Error::invalid("choose at least one connection, or cancel").hint("go back and choose"));
        }
        let approval = Approval {
            client_id: ask.client.client_id,
            client_name: ask.client.name,
            redirect_uri: ask.answer.redirect_uri.clone(),
            challenge: ask.wanted.challenge,
            // What is ticked is given as far as the person goes there.
            rights: Rights::only(connections, scope).and(&visitor.session.rights),
            resource: ask.wanted.resource,
        };
        let code = visitor.people.approve(&visitor.secret, approval).await?;
        Ok(ask.answer.code(code.expose_secret()))
    })
    .await
}

/// The connections that a form names, each of which has to be among `offered`.
pub(super) fn chosen(form: &Form, offered: &[ConnectionChoice]) -> Result<Vec<Uuid>> {
    let mut chosen = Vec::new();
    for text in form.all("connection") {
        let id = Uuid::try_parse(text).ok().filter(|id| offered.iter().any(|place| place.id == *id));
        let id = id.ok_or_else(|| Error::invalid("connection: choose among those offered"))?;
        if !chosen.contains(&id) {
            chosen.push(id);
        }
    }
    Ok(chosen)
}
