//! `/account`: what a person can use and how, their own tokens, and the applications with access.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::clock::{Clock, Timestamp};
use portico_actors::auth::oauth::authorization::Consent;
use portico_actors::auth::records::{NewPat, PersonalAccessToken};
use portico_actors::error::{Error, Result};
use portico_actors::principal::Scope;
use secrecy::ExposeSecret;

use crate::app::App;
use crate::http::form::Form;
use crate::http::pages::browser::Visitor;
use crate::http::pages::connect::Connecting;
use crate::http::pages::page::{self, State};
use crate::http::pages::view::{self, OneTimeSecret, View};

/// How long a new token may be valid: the form's word, its words for people, days.
const LIFETIMES: [(&str, &str, Option<u64>); 5] = [
    ("7", "7 days", Some(7)),
    ("30", "30 days", Some(30)),
    ("90", "90 days", Some(90)),
    ("365", "a year", Some(365)),
    ("never", "no end", None),
];
const USUAL_LIFETIME: &str = "90";

#[derive(Template)]
#[template(path = "account.html")]
struct Account<'a> {
    view: View<'a>,
    connecting: Connecting,
    tokens: Vec<PersonalAccessToken>,
    applications: Vec<Consent>,
    fresh: Option<OneTimeSecret>,
}

impl Account<'_> {
    fn has_expired(&self, token: &PersonalAccessToken) -> bool {
        let now = self.view.app.config().tokens.clock().now();
        token.expires_at.is_some_and(|end| now.is_over(end))
    }

    /// Whether the session began with it.
    fn is_current(&self, token: &PersonalAccessToken) -> bool {
        self.view.visitor.session.token.as_ref() == Some(&token.name)
    }

    /// The form's words for each lifetime, those for people, and whether it is the default.
    fn lifetimes(&self) -> [(&'static str, &'static str, bool); 5] {
        LIFETIMES.map(|(word, text, _)| (word, text, word == USUAL_LIFETIME))
    }
}

/// `GET /account`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::signed_in(&request, &app, "/account", async |visitor| show(&request, &app, visitor, None).await).await
}

/// `POST /account/tokens`: the answer shows the token, this once.
pub(super) async fn create(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        let scope = view::scope(form)?;
        visitor.session.must_be_whole()?;
        let own = visitor.session.rights.widest();
        // A token with the person's own scope follows changes of that scope.
        let most = match scope {
            scope if scope > own => return Err(Error::invalid("scope: choose one of those offered")),
            scope if scope == own => Scope::Admin,
            narrower => narrower,
        };
        let new = NewPat {
            name: Some(form.need("name")?.to_owned()),
            expires_at: lifetime(form)?,
            rights: view::rights_from_form(form, &View { app: &app, visitor }.places())?.up_to(most),
        };
        let (token, secret) = visitor.people.create_token(&visitor.secret, new).await?;
        let fresh = OneTimeSecret {
            what: format!("Your new token {:?}", token.name),
            values: vec![("Token", secret.expose_secret().to_owned())],
        };
        show(&request, &app, visitor, Some(fresh)).await
    })
    .await
}

/// `POST /account/tokens/revoke`.
pub(super) async fn revoke(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.people.revoke_token(&visitor.secret, form.id()?).await?;
        Ok(page::go("/account", &[]))
    })
    .await
}

/// `POST /account/applications/revoke`.
pub(super) async fn revoke_application(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.people.revoke_own_consent(&visitor.secret, form.id()?).await?;
        Ok(page::go("/account", &[]))
    })
    .await
}

/// Shows the page of the signed-in person.
pub(super) async fn show(
    request: &HttpRequest,
    app: &App,
    visitor: &Visitor,
    fresh: Option<OneTimeSecret>,
) -> Result<HttpResponse> {
    let tokens = app.people.tokens(&visitor.secret).await?;
    let applications = app.people.grants(&visitor.secret).await?;
    let connecting = Connecting::new(request, app, &visitor.session.rights);
    page::show(&Account { view: View { app, visitor }, connecting, tokens, applications, fresh })
}

fn lifetime(form: &Form) -> Result<Option<Timestamp>> {
    let asked = form.need("expires")?;
    let (_, _, days) = LIFETIMES
        .into_iter()
        .find(|(word, _, _)| *word == asked)
        .ok_or_else(|| Error::invalid("expires: choose one of those offered"))?;
    Ok(days.map(|days| Clock::system().now().time().after(Duration::from_secs(days * 86_400))))
}
