//! Sends pages: their headers, their errors, and the two files that they may fetch.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder, web};
use askama::Template;
use portico_actors::backoff;
use portico_actors::error::{Error, Kind, Result};

use crate::app::App;
use crate::http::authenticated::SignedIn;
use crate::http::error;
use crate::http::form::Form;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::pages::browser::{Cookie, Ended, Visitor};

const STYLESHEET: &str = include_str!("../../../templates/portico.css");
const ICON: &str = include_str!("../../../templates/icon.svg");

/// A failure, for people.
#[derive(Template)]
#[template(path = "error.html")]
struct Failed<'a> {
    title: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
    /// The host of a waiting application, and the address that sends it the error.
    onward: Option<(&'a str, &'a str)>,
    request: String,
}

/// The headers of every page: no caching, no framing, no external content. `destination` is where the page's form
/// may lead besides this service.
fn headers(response: &mut HttpResponseBuilder, destination: &str, cookies: &[String]) {
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'{destination}; frame-ancestors 'none'"
    );
    response
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header(("cross-origin-opener-policy", "same-origin"))
        .insert_header((header::CACHE_CONTROL, "no-store"));
    for cookie in cookies {
        response.append_header((header::SET_COOKIE, cookie.as_str()));
    }
}

/// The answer of a page: its template as HTML.
pub(super) fn show(template: &impl Template) -> Result<HttpResponse> {
    show_as(error::OK, template, "", &[])
}

/// A page with a status, a destination of its form (see [`headers`]), and cookies.
pub(super) fn show_as(
    status: StatusCode,
    template: &impl Template,
    destination: &str,
    cookies: &[String],
) -> Result<HttpResponse> {
    let html = template.render().map_err(Error::internal)?;
    let mut response = HttpResponse::build(status);
    headers(&mut response, destination, cookies);
    Ok(response.content_type("text/html; charset=utf-8").body(html))
}

/// Redirects the browser, always with GET (RFC 9700 §4.12).
pub(super) fn go(location: &str, cookies: &[String]) -> HttpResponse {
    let mut response = HttpResponse::SeeOther();
    headers(&mut response, "", cookies);
    response.insert_header((header::LOCATION, location)).finish()
}

/// The OAuth error that a response sends to its client, for the records of the request.
#[derive(Clone, Copy)]
pub(super) struct Refused {
    pub(super) kind: Kind,
    pub(super) code: &'static str,
}

impl Refused {
    fn error(self) -> Error {
        Error::new(self.kind, self.code)
    }
}

/// Runs the work behind a page, records its end once, and shows its error.
pub(super) async fn answer(
    request: &HttpRequest,
    app: &App,
    work: impl AsyncFnOnce(&mut CallRecorder) -> Result<HttpResponse>,
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(request, app);
    let mut response = match work(&mut recorder).await {
        Ok(response) => {
            let refused = response.extensions().get::<Refused>().copied();
            if let Some(Refused { code, .. }) = refused {
                recorder.record(|request| request.code = Some(code.to_owned()));
            }
            recorder.finish(0, refused.map(Refused::error).as_ref());
            response
        }
        Err(failure) => {
            // The person in session is known, although their form is refused.
            if let Some(SignedIn(session)) = request.extensions().get::<SignedIn>() {
                recorder.note_session(session);
            }
            recorder.finish(0, Some(&failure));
            // Without a session the person is asked to sign in, and starts again.
            if failure.kind == Kind::Unauthenticated { go("/sign-in", &[]) } else { failed(request, &failure) }
        }
    };
    if request.extensions().get::<Ended>().is_some() {
        let cleared = Cookie::Session.clear(app).into_iter().filter_map(|value| HeaderValue::try_from(value).ok());
        cleared.for_each(|value| response.headers_mut().append(header::SET_COOKIE, value));
    }
    response
}

/// Runs the work behind a page for signed-in people. Others sign in first, and come back to `path`.
pub(super) async fn signed_in(
    request: &HttpRequest,
    app: &App,
    path: &str,
    work: impl AsyncFnOnce(&Visitor) -> Result<HttpResponse>,
) -> HttpResponse {
    answer(request, app, async |recorder| {
        let Some(visitor) = Visitor::find(request, app).await? else {
            return Ok(go(&format!("/sign-in?next={path}"), &[]));
        };
        recorder.note_session(&visitor.session);
        work(&visitor).await
    })
    .await
}

/// Runs the work behind a form that a signed-in person has sent from our own page.
pub(super) async fn of_form(
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
    work: impl AsyncFnOnce(&Visitor, &Form) -> Result<HttpResponse>,
) -> HttpResponse {
    answer(request, app, async |recorder| {
        let form = Form::read(request, payload).await?;
        let visitor = Visitor::of_form(request, app, &form).await?;
        recorder.note_session(&visitor.session);
        work(&visitor, &form).await
    })
    .await
}

fn failed(request: &HttpRequest, failure: &Error) -> HttpResponse {
    let title = match failure.kind {
        Kind::Forbidden => "This is not open to you",
        Kind::NotFound => "There is no such thing",
        Kind::Busy => "Not so fast",
        Kind::Internal | Kind::Unavailable => "Something went wrong",
        _ => "This request does not work",
    };
    let id = recorder::request_id(request);
    let (message, hint) = (&failure.message, failure.get_hint());
    let page = Failed { title, message, hint, onward: None, request: id.to_string() };
    match show_as(error::status(failure.kind), &page, "", &[]) {
        Ok(mut response) => {
            if let Some(delay) = failure.get_retry_after() {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(backoff::seconds(delay)));
            }
            response
        }
        Err(broken) => error::api(&broken, id, None),
    }
}

/// Tells the person why an unvouched application gets no answer. The person decides whether to continue to
/// `address`, at `host`.
pub(super) fn unanswered(
    request: &HttpRequest,
    status: StatusCode,
    message: &str,
    (host, address): (&str, &str),
) -> Result<HttpResponse> {
    let request = recorder::request_id(request).to_string();
    let title = "The application was not answered";
    show_as(status, &Failed { title, message, hint: None, onward: Some((host, address)), request }, "", &[])
}

fn file(media: &str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(media)
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(text)
}

/// `GET /assets/portico.css`.
pub(super) async fn stylesheet() -> HttpResponse {
    file("text/css; charset=utf-8", STYLESHEET)
}

/// `GET /assets/icon.svg`.
pub(super) async fn icon() -> HttpResponse {
    file("image/svg+xml", ICON)
}

/// The state of the service, as handlers take it.
pub(super) type State = web::Data<App>;
