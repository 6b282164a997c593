//! Signing in and out.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::accounts::session;
use portico_actors::auth::records::{LONGEST_EMAIL, is_usual_address};
use portico_actors::error::{Error, Kind, Result};
use secrecy::SecretString;

use crate::app::App;
use crate::http::form::Form;
use crate::http::pages::browser::{Cookie, Visitor, check_origin, check_token};
use crate::http::pages::page::{self, State};
use crate::http::{connections::peer, error};

/// The default page after signing in.
const HOME: &str = "/account";
/// Octets of an address to go on to at most.
const LONGEST_NEXT: usize = 16 * 1024;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    /// The client that sent the person here.
    client: Option<&'a str>,
    next: &'a str,
    email: &'a str,
    csrf: String,
    failure: Option<&'a str>,
}

/// The sign-in page's address that leads on to `next`.
pub(super) fn path(next: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    format!("/sign-in?{query}")
}

/// The sign-in page; `next` is where it leads.
pub(super) fn show(
    request: &HttpRequest,
    app: &App,
    next: &str,
    client: Option<&str>,
    email: &str,
    failure: Option<(Kind, &str)>,
) -> Result<HttpResponse> {
    // Kept over several pages, so that two tabs do not spoil each other's form.
    let (visit, cookies) = match Cookie::Visit.read(request, app) {
        Some(visit) => (visit, Vec::new()),
        None => {
            let visit = session::new_visit()?;
            let cookies = Cookie::Visit.set(app, &visit);
            (visit, cookies)
        }
    };
    let csrf = session::form_token(&visit);
    let page = SignIn { client, next, email, csrf, failure: failure.map(|(_, message)| message) };
    let status = failure.map_or(error::OK, |(kind, _)| error::status(kind));
    page::show_as(status, &page, "", &cookies)
}

/// `GET /sign-in`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::answer(&request, &app, async |_| {
        let query = Form::parse(request.query_string());
        let next = own_path(query.exact("next"));
        if Visitor::find(&request, &app).await?.is_some() {
            return Ok(page::go(next, &[]));
        }
        show(&request, &app, next, None, "", None)
    })
    .await
}

/// `POST /sign-in`: begins a new session, whatever the browser had before.
pub(super) async fn post(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    let mut is_too_long = false;
    let mut response = page::answer(&request, &app, async |recorder| {
        check_origin(&request, &app)?;
        let form = Form::read(&request, payload).await?;
        let next = own_path(form.exact("next"));
        let (email, secret) = (form.get("email").unwrap_or_default(), form.exact("secret").unwrap_or_default());
        is_too_long = email.chars().count() > LONGEST_EMAIL;
        if is_too_long {
            return Err(Error::invalid(format!("email: an address has at most {LONGEST_EMAIL} characters")));
        }
        // Other input may be a password in the wrong field: it is recorded only if it is a user's address.
        if is_usual_address(email) {
            recorder.note_claim(email);
        }
        // A form without its visit is another site's: it would sign a person in as somebody else.
        match Cookie::Visit.read(&request, &app) {
            Some(visit) => check_token(&visit, &form)?,
            None => {
                let message = "This browser sent no cookie. Allow cookies for this site and try again.";
                // The page is shown all the same; the sign-in has failed.
                recorder.finish(0, Some(&Error::forbidden("the browser sent no cookie with the form")));
                return show(&request, &app, next, None, "", Some((Kind::Forbidden, message)));
            }
        }
        let from = peer::client(&request, &app);
        match app.people.sign_in(email.to_owned(), SecretString::from(secret), from).await {
            Ok((session, own)) => {
                recorder.note(|event| event.subject = own);
                // The browser's former session is ended, whoever placed it there.
                if let Some(old) = Cookie::Session.read(&request, &app) {
                    app.people.sign_out(&old, false).await?;
                }
                let cookies = [Cookie::Session.set(&app, &session), Cookie::Visit.clear(&app)].concat();
                Ok(page::go(next, &cookies))
            }
            Err(failure) if failure.kind == Kind::Unauthenticated => {
                recorder.finish(0, Some(&failure));
                let message = "That address and that password or token do not belong together.";
                show(&request, &app, next, None, email, Some((failure.kind, message)))
            }
            Err(failure) => Err(failure),
        }
    })
    .await;
    if is_too_long {
        // The connection's buffer, which contains the password, is dropped with it.
        error::close(&mut response);
    }
    response
}

/// `POST /sign-out`: with `everywhere`, every session of the person.
pub(super) async fn out(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        let everywhere = form.get("everywhere").is_some();
        if everywhere {
            visitor.session.must_be_whole()?;
        }
        app.people.sign_out(&visitor.secret, everywhere).await?;
        Ok(page::go("/sign-in", &Cookie::Session.clear(&app)))
    })
    .await
}

/// Returns a path of ours to continue to, never one that leads elsewhere.
fn own_path(asked: Option<&str>) -> &str {
    let known = |path: &&str| {
        let plain = path.len() <= LONGEST_NEXT && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let stem = path.split('?').next().unwrap_or_default();
        plain && matches!(stem, "/authorize" | "/account" | "/users")
    };
    asked.filter(known).unwrap_or(HOME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_only_led_to_our_own_pages() {
        for good in ["/account", "/users?tab=people", "/authorize?client_id=x&redirect_uri=https%3A%2F%2Fevil.example"]
        {
            assert_eq!(own_path(Some(good)), good);
        }
        for bad in [
            "https://evil.example/account",
            "//evil.example",
            "/\\evil.example",
            "/account/../../x",
            "/sign-out",
            "account",
            "/account\r\nX: y",
            "/account?x y",
            "javascript:alert(1)",
            "",
        ] {
            assert_eq!(own_path(Some(bad)), HOME, "{bad}");
        }
    }
}
