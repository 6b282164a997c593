//! `/users`: for administrators, with a tab for service accounts and one for users.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::AdminAction;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::{NewPat, NewServiceAccount, NewUser, ServiceAccount};
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;

use crate::app::App;
use crate::http::pages::account::{Fresh, describe, places, reach, when};
use crate::http::pages::browser::Visitor;
use crate::http::pages::consent::{self, ConnectionChoice, ScopeChoice};
use crate::http::pages::form::Form;
use crate::http::pages::page::{self, State};

/// How long the first token of a new user is valid: to sign in and make one of their own.
const FIRST_TOKEN: Duration = Duration::from_hours(7 * 24);

struct AccountRow {
    client_id: String,
    name: String,
    scope: &'static str,
    reach: String,
    created: String,
    rotated: String,
    /// What its secret opens, where that is not all that the account has.
    secret: Option<String>,
    disabled: bool,
}

struct UserRow {
    email: String,
    scope: &'static str,
    reach: String,
    created: String,
    disabled: bool,
    has_password: bool,
    myself: bool,
}

#[derive(Template)]
#[template(path = "users.html")]
struct Administration<'a> {
    email: &'a str,
    administers: bool,
    /// Which of the two tabs is shown.
    people: bool,
    accounts: Vec<AccountRow>,
    users: Vec<UserRow>,
    scopes: Vec<ScopeChoice>,
    places: Vec<ConnectionChoice>,
    /// Whether the administrator reaches some connections alone.
    confined: bool,
    fresh: Option<Fresh>,
    csrf: String,
}

/// `GET /users`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let Some(visitor) = Visitor::find(&request, &app).await? else {
            return Ok(page::go("/sign-in?next=/users", &[]));
        };
        recorder.note_session(&visitor.session);
        let people = Form::parse(request.query_string()).get("tab") == Some("people");
        show(&app, &visitor, people, None).await
    })
    .await
}

/// Runs the work behind a form of this page.
async fn of_form(
    request: HttpRequest,
    payload: web::Payload,
    app: State,
    work: impl AsyncFnOnce(&App, &Visitor, &Form) -> Result<HttpResponse>,
) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let form = Form::read(&request, payload).await?;
        let visitor = Visitor::of_form(&request, &app, &form).await?;
        recorder.note_session(&visitor.session);
        visitor.session.must_administer()?;
        work(&app, &visitor, &form).await
    })
    .await
}

/// `POST /users/accounts`: the answer shows the secret, this once.
pub(super) async fn create_account(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    of_form(request, payload, app, async |app, visitor, form| {
        let connections = consent::chosen(form, &places(app, visitor))?;
        if connections.is_empty() {
            return Err(Error::invalid("connection: a service account needs at least one").hint("go back and choose"));
        }
        let new = NewServiceAccount {
            name: form.need("name")?.to_owned(),
            rights: Rights::only(connections, scope(form)?).and(&visitor.session.rights),
        };
        let (account, secret) = visitor.people.create_account(&visitor.secret, new).await?;
        let what = format!("The new service account {:?}{}", account.name, ending_with(visitor));
        let fresh = secret_of(&what, &account.client_id, secret.expose_secret());
        show(app, visitor, false, Some(fresh)).await
    })
    .await
}

/// `POST /users/accounts/change`.
pub(super) async fn change_account(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    of_form(request, payload, app, async |app, visitor, form| {
        let id = form.need("id")?.to_owned();
        let change = match form.need("action")? {
            "rotate" => {
                let (account, secret) = visitor.people.rotate_account(&visitor.secret, id).await?;
                let what = format!("The new secret of {:?}{}", account.name, ending_with(visitor));
                let fresh = secret_of(&what, &account.client_id, secret.expose_secret());
                return show(app, visitor, false, Some(fresh)).await;
            }
            "disable" => AdminAction::DisableAccount(id),
            "enable" => AdminAction::EnableAccount(id),
            "remove" => AdminAction::RemoveAccount(id),
            _ => return Err(Error::invalid("action: one of rotate, disable, enable and remove")),
        };
        visitor.people.change(&visitor.secret, change).await?;
        Ok(page::go("/users", &[]))
    })
    .await
}

/// `POST /users/people`: the answer shows the user's first token, this once.
pub(super) async fn add_user(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    of_form(request, payload, app, async |app, visitor, form| {
        let asked = reach(form, &places(app, visitor))?.up_to(scope(form)?);
        // What is ticked is given as far as the administrator goes there.
        let rights = if asked.is_all() { asked } else { asked.and(&visitor.session.rights) };
        let new = NewUser { email: form.need("email")?.to_owned(), rights };
        let expires_at = Some(Clock::system().now().time().after(FIRST_TOKEN));
        let first = NewPat { name: Some("first sign-in".to_owned()), expires_at, ..NewPat::default() };
        let (user, secret) = visitor.people.add_user(&visitor.secret, new, first).await?;
        let fresh = Fresh {
            what: format!(
                "A first token for {}, to sign in with, valid for a week{}",
                user.email,
                ending_with(visitor)
            ),
            values: vec![("Address", user.email), ("Token", secret.expose_secret().to_owned())],
        };
        show(app, visitor, true, Some(fresh)).await
    })
    .await
}

/// `POST /users/people/change`.
pub(super) async fn change_user(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    of_form(request, payload, app, async |_, visitor, form| {
        let email = form.need("id")?.to_owned();
        let change = match form.need("action")? {
            "disable" => AdminAction::DisableUser(email),
            "enable" => AdminAction::EnableUser(email),
            "remove" => AdminAction::RemoveUser(email),
            _ => return Err(Error::invalid("action: one of disable, enable and remove")),
        };
        visitor.people.change(&visitor.secret, change).await?;
        Ok(page::go("/users?tab=people", &[]))
    })
    .await
}

/// What a secret that is made in this session ends with besides.
fn ending_with(visitor: &Visitor) -> String {
    let token = visitor.session.token.as_ref();
    token.map(|token| format!("; it ends with your token {token:?}, with which you signed in")).unwrap_or_default()
}

/// What the secret opens, where that is not all that the account has.
fn of_secret(app: &App, account: &ServiceAccount) -> Option<String> {
    if account.secret_ends_at.is_some_and(|end| end <= Clock::system().now().time()) {
        return Some("it has ended".to_owned());
    }
    let opens = &account.secret_opens;
    (*opens != account.rights).then(|| format!("it opens {} on {}", opens.widest().word(), describe(app, opens)))
}

fn scope(form: &Form) -> Result<Scope> {
    Scope::from_word(form.need("scope")?).ok_or_else(|| Error::invalid("scope: choose one of those offered"))
}

fn secret_of(what: &str, client_id: &str, secret: &str) -> Fresh {
    Fresh {
        what: what.to_owned(),
        values: vec![("Client id", client_id.to_owned()), ("Client secret", secret.to_owned())],
    }
}

async fn show(app: &App, visitor: &Visitor, people: bool, fresh: Option<Fresh>) -> Result<HttpResponse> {
    let directory = app.people.directory(&visitor.secret).await?;
    let accounts = directory.accounts.into_iter().map(|account| AccountRow {
        scope: account.rights.widest().word(),
        reach: describe(app, &account.rights),
        created: when(account.created_at),
        secret: of_secret(app, &account),
        rotated: account.rotated_at.map_or_else(|| "never".to_owned(), when),
        disabled: account.disabled_at.is_some(),
        client_id: account.client_id,
        name: account.name,
    });
    let users = directory.users.into_iter().map(|user| UserRow {
        scope: user.rights.widest().word(),
        reach: describe(app, &user.rights),
        created: when(user.created_at),
        disabled: user.disabled_at.is_some(),
        has_password: user.has_password,
        myself: user.email == visitor.session.email,
        email: user.email,
    });
    let page = Administration {
        email: &visitor.session.email,
        administers: visitor.session.administers(),
        people,
        accounts: accounts.collect(),
        users: users.collect(),
        scopes: consent::choices(visitor.session.rights.widest(), Scope::Read),
        confined: !visitor.session.rights.is_all(),
        places: places(app, visitor),
        fresh,
        csrf: visitor.token(),
    };
    page::show(&page)
}
