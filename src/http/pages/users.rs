//! `/users`: for administrators, with a tab for service accounts and one for users.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::{AdminAction, Directory};
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::{NewPat, NewServiceAccount, NewUser, ServiceAccount, User};
use portico_actors::error::{Error, Result};
use secrecy::ExposeSecret;

use crate::app::App;
use crate::http::form::Form;
use crate::http::pages::browser::Visitor;
use crate::http::pages::page::{self, State};
use crate::http::pages::view::{self, OneTimeSecret, View};

/// How long the first token of a new user is valid: to sign in and make one of their own.
const FIRST_TOKEN: Duration = Duration::from_hours(7 * 24);

#[derive(Template)]
#[template(path = "users.html")]
struct Administration<'a> {
    view: View<'a>,
    /// Which of the two tabs is shown.
    people: bool,
    accounts: Vec<ServiceAccount>,
    users: Vec<User>,
    fresh: Option<OneTimeSecret>,
}

impl Administration<'_> {
    /// Describes the rights of the secret, if they are less than the account's.
    fn of_secret(&self, account: &ServiceAccount) -> Option<String> {
        if account.secret_ends_at.is_some_and(|end| end <= Clock::system().now().time()) {
            return Some("it has ended".to_owned());
        }
        let opens = &account.secret_opens;
        (*opens != account.rights)
            .then(|| format!("it opens {} on {}", opens.widest().as_str(), self.view.describe_rights(opens)))
    }
}

/// `GET /users`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::signed_in(&request, &app, "/users", async |visitor| {
        let people = Form::parse(request.query_string()).get("tab") == Some("people");
        show(&app, visitor, people, None).await
    })
    .await
}

/// `POST /users/accounts`: the answer shows the secret, this once.
pub(super) async fn create_account(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.session.must_administer()?;
        let chosen = View { app: &app, visitor }.places().chosen(form, view::scope(form)?)?;
        if chosen.is_empty() {
            return Err(Error::invalid("a service account needs at least one connection or workspace")
                .hint("go back and choose"));
        }
        let new = NewServiceAccount {
            name: form.need("name")?.to_owned(),
            rights: chosen.intersection(&visitor.session.rights),
        };
        let (account, secret) = visitor.people.create_account(&visitor.secret, new).await?;
        let what = format!("The new service account {:?}{}", account.name, ending_with(visitor));
        let fresh = secret_of(&what, &account.client_id, secret.expose_secret());
        show(&app, visitor, false, Some(fresh)).await
    })
    .await
}

/// `POST /users/accounts/change`.
pub(super) async fn change_account(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.session.must_administer()?;
        let id = form.need("id")?.to_owned();
        let change = match form.need("action")? {
            "rotate" => {
                let (account, secret) = visitor.people.rotate_account(&visitor.secret, id).await?;
                let what = format!("The new secret of {:?}{}", account.name, ending_with(visitor));
                let fresh = secret_of(&what, &account.client_id, secret.expose_secret());
                return show(&app, visitor, false, Some(fresh)).await;
            }
            "disable" => AdminAction::DisableAccount(id),
            "enable" => AdminAction::EnableAccount(id),
            "remove" => AdminAction::RemoveAccount(id),
            _ => return Err(Error::invalid("action: give one of rotate, disable, enable and remove")),
        };
        visitor.people.change(&visitor.secret, change).await?;
        Ok(page::go("/users", &[]))
    })
    .await
}

/// `POST /users/people`: the answer shows the user's first token, this once.
pub(super) async fn add_user(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.session.must_administer()?;
        let asked = view::rights_from_form(form, &View { app: &app, visitor }.places())?.up_to(view::scope(form)?);
        // The choice is limited to the administrator's own rights.
        let rights = if asked.is_all() { asked } else { asked.intersection(&visitor.session.rights) };
        let new = NewUser { email: form.need("email")?.to_owned(), rights };
        let expires_at = Some(Clock::system().now().time().after(FIRST_TOKEN));
        let first = NewPat { name: Some("first sign-in".to_owned()), expires_at, ..NewPat::default() };
        let (user, secret) = visitor.people.add_user(&visitor.secret, new, first).await?;
        let fresh = OneTimeSecret {
            what: format!(
                "A first token for {}, to sign in with, valid for a week{}",
                user.email,
                ending_with(visitor)
            ),
            values: vec![("Address", user.email), ("Token", secret.expose_secret().to_owned())],
        };
        show(&app, visitor, true, Some(fresh)).await
    })
    .await
}

/// `POST /users/people/change`.
pub(super) async fn change_user(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.session.must_administer()?;
        let email = form.need("id")?.to_owned();
        let change = match form.need("action")? {
            "disable" => AdminAction::DisableUser(email),
            "enable" => AdminAction::EnableUser(email),
            "remove" => AdminAction::RemoveUser(email),
            _ => return Err(Error::invalid("action: give one of disable, enable and remove")),
        };
        visitor.people.change(&visitor.secret, change).await?;
        Ok(page::go("/users?tab=people", &[]))
    })
    .await
}

/// Describes what else ends a secret that is made in this session.
fn ending_with(visitor: &Visitor) -> String {
    let token = visitor.session.token.as_ref();
    token.map(|token| format!("; it ends with your token {token:?}, with which you signed in")).unwrap_or_default()
}

fn secret_of(what: &str, client_id: &str, secret: &str) -> OneTimeSecret {
    OneTimeSecret {
        what: what.to_owned(),
        values: vec![("Client id", client_id.to_owned()), ("Client secret", secret.to_owned())],
    }
}

async fn show(app: &App, visitor: &Visitor, people: bool, fresh: Option<OneTimeSecret>) -> Result<HttpResponse> {
    let Directory { users, accounts } = app.people.directory(&visitor.secret).await?;
    page::show(&Administration { view: View { app, visitor }, people, accounts, users, fresh })
}
