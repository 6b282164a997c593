//! `/account`: a person's own tokens and the applications that they gave access to.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::clock::{Clock, Timestamp};
use portico_actors::auth::oauth::authorization::Consent;
use portico_actors::auth::records::NewPat;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Rights, Scope};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::app::App;
use crate::http::pages::browser::Visitor;
use crate::http::pages::consent::{self, ConnectionChoice, ScopeChoice};
use crate::http::pages::form::Form;
use crate::http::pages::page::{self, State};

/// How long a new token may be valid: the form's word, its words for people, days.
const LIFETIMES: [(&str, &str, Option<u64>); 5] = [
    ("7", "7 days", Some(7)),
    ("30", "30 days", Some(30)),
    ("90", "90 days", Some(90)),
    ("365", "a year", Some(365)),
    ("never", "no end", None),
];
const USUAL_LIFETIME: &str = "90";

/// A secret that is shown this once.
pub(super) struct Fresh {
    /// What it is, for people.
    pub(super) what: String,
    /// Names and values, the secret among them.
    pub(super) values: Vec<(&'static str, String)>,
}

struct TokenRow {
    id: Uuid,
    name: String,
    scope: &'static str,
    reach: String,
    created: String,
    used: String,
    expires: String,
    expired: bool,
    /// Whether the session began with it.
    current: bool,
}

/// What a person has allowed an application.
pub(super) struct ApplicationRow {
    pub(super) id: Uuid,
    pub(super) email: String,
    pub(super) name: String,
    pub(super) client_id: String,
    pub(super) scope: &'static str,
    pub(super) reach: String,
    pub(super) used: String,
    pub(super) expires: String,
}

impl ApplicationRow {
    pub(super) fn of(app: &App, consent: Consent) -> Self {
        Self {
            id: consent.id,
            email: consent.email,
            name: consent.client_name,
            client_id: consent.client_id,
            scope: consent.rights.widest().word(),
            reach: describe(app, &consent.rights),
            used: consent.used_at.map_or_else(|| "never".to_owned(), when),
            expires: when(consent.expires_at),
        }
    }
}

struct Lifetime {
    word: &'static str,
    text: &'static str,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "account.html")]
struct Account<'a> {
    email: &'a str,
    scope: &'static str,
    whole: bool,
    by_token: Option<&'a str>,
    administers: bool,
    tokens: Vec<TokenRow>,
    applications: Vec<ApplicationRow>,
    scopes: Vec<ScopeChoice>,
    places: Vec<ConnectionChoice>,
    lifetimes: Vec<Lifetime>,
    fresh: Option<Fresh>,
    csrf: String,
}

/// `GET /account`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let Some(visitor) = Visitor::find(&request, &app).await? else {
            return Ok(page::go("/sign-in?next=/account", &[]));
        };
        recorder.note_session(&visitor.session);
        show(&app, &visitor, None).await
    })
    .await
}

/// `POST /account/tokens`: the answer shows the token, this once.
pub(super) async fn create(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let form = Form::read(&request, payload).await?;
        let visitor = Visitor::of_form(&request, &app, &form).await?;
        recorder.note_session(&visitor.session);
        let scope = form.need("scope")?;
        let scope = Scope::from_word(scope).ok_or_else(|| Error::invalid("scope: choose one of those offered"))?;
        visitor.session.must_be_whole()?;
        let own = visitor.session.rights.widest();
        // One with the person's own scope goes with the person.
        let most = match scope {
            scope if scope > own => return Err(Error::invalid("scope: choose one of those offered")),
            scope if scope == own => Scope::Admin,
            narrower => narrower,
        };
        let new = NewPat {
            name: Some(form.need("name")?.to_owned()),
            expires_at: lifetime(&form)?,
            rights: reach(&form, &places(&app, &visitor))?.up_to(most),
        };
        let (token, secret) = visitor.people.create_token(&visitor.secret, new).await?;
        let fresh = Fresh {
            what: format!("Your new token {:?}", token.name),
            values: vec![("Token", secret.expose_secret().to_owned())],
        };
        show(&app, &visitor, Some(fresh)).await
    })
    .await
}

/// `POST /account/tokens/revoke`.
pub(super) async fn revoke(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    change(request, payload, app, async |people, session, id| people.revoke_token(session, id).await.map(drop)).await
}

/// `POST /account/applications/revoke`.
pub(super) async fn revoke_application(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    change(request, payload, app, async |people, session, id| people.revoke_grant(session, id).await).await
}

async fn change(
    request: HttpRequest,
    payload: web::Payload,
    app: State,
    work: impl AsyncFnOnce(&Accounts, &SecretString, Uuid) -> Result<()>,
) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let form = Form::read(&request, payload).await?;
        let visitor = Visitor::of_form(&request, &app, &form).await?;
        recorder.note_session(&visitor.session);
        let id = Uuid::try_parse(form.need("id")?).map_err(|_| Error::invalid("id is no UUID"))?;
        work(&visitor.people, &visitor.secret, id).await?;
        Ok(page::go("/account", &[]))
    })
    .await
}

async fn show(app: &App, visitor: &Visitor, fresh: Option<Fresh>) -> Result<HttpResponse> {
    let session = &visitor.session;
    let now = app.config().tokens.clock().now();
    let tokens = app.people.tokens(&visitor.secret).await?;
    let grants = app.people.grants(&visitor.secret).await?;
    let tokens = tokens.into_iter().map(|token| TokenRow {
        id: token.id,
        scope: token.rights.widest().word(),
        reach: describe(app, &token.rights),
        created: when(token.created_at),
        used: token.last_used_at.map_or_else(|| "never".to_owned(), when),
        expires: token.expires_at.map_or_else(|| "never".to_owned(), when),
        expired: token.expires_at.is_some_and(|end| now.is_over(end)),
        current: session.token.as_ref() == Some(&token.name),
        name: token.name,
    });
    let applications = grants.into_iter().map(|consent| ApplicationRow::of(app, consent));
    let lifetimes = LIFETIMES.map(|(word, text, _)| Lifetime { word, text, chosen: word == USUAL_LIFETIME });
    let page = Account {
        email: &session.email,
        scope: session.rights.widest().word(),
        whole: session.whole,
        by_token: session.token.as_deref(),
        administers: session.administers(),
        tokens: tokens.collect(),
        applications: applications.collect(),
        scopes: consent::choices(session.rights.widest(), Scope::Read),
        places: places(app, visitor),
        lifetimes: lifetimes.into(),
        fresh,
        csrf: visitor.token(),
    };
    page::show(&page)
}

/// The connections that the person reaches.
pub(super) fn places(app: &App, visitor: &Visitor) -> Vec<ConnectionChoice> {
    consent::places_of(app, &visitor.session.rights)
}

/// All connections, or those that are ticked, up to whatever scope.
pub(super) fn reach(form: &Form, offered: &[ConnectionChoice]) -> Result<Rights> {
    if form.need("reach")? == "all" {
        return Ok(Rights::ALL);
    }
    let chosen = consent::chosen(form, offered)?;
    if chosen.is_empty() {
        return Err(Error::invalid("choose at least one connection, or all of them").hint("go back and choose"));
    }
    Ok(Rights::only(chosen, Scope::Admin))
}

fn lifetime(form: &Form) -> Result<Option<Timestamp>> {
    let asked = form.need("expires")?;
    let (_, _, days) = LIFETIMES
        .into_iter()
        .find(|(word, _, _)| *word == asked)
        .ok_or_else(|| Error::invalid("expires: choose one of those offered"))?;
    Ok(days.map(|days| Clock::system().now().time().after(Duration::from_secs(days * 86_400))))
}

/// A time to the minute, for people.
pub(super) fn when(time: Timestamp) -> String {
    let text = time.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text,
    }
}

/// The connections within `rights`, for people.
pub(super) fn describe(app: &App, rights: &Rights) -> String {
    let entries = app.directory.list();
    rights.describe(|id| {
        entries.iter().find(|entry| entry.id == id).map_or_else(|| id.to_string(), |it| it.name.to_string())
    })
}
