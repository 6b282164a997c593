//! The browser's state: the session's cookie, and whether a form was sent from our own page. A form is accepted
//! only with the token of its session, in a request that the browser declares to be same-origin; and the cookie is
//! not sent with other sites' forms (`SameSite=Lax`).

use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::accounts::session::{self, Session};
use portico_actors::error::{Error, Kind, Result};
use secrecy::{ExposeSecret, SecretString};

use crate::app::App;
use crate::http::authenticated::SignedIn;
use crate::http::connections::peer;
use crate::http::form::Form;
use crate::http::middleware::recorder;

/// Tells `/` that there is a session, since the session's own cookie may not be sent there. It grants nothing.
const MARK: &str = "portico-signed-in";

/// Whether the browser has had a session that it may still have.
pub(super) fn is_marked(request: &HttpRequest) -> bool {
    cookies(request).any(|(name, value)| name == MARK && value == "1")
}

/// The name and the value of each cookie that the browser sent.
fn cookies(request: &HttpRequest) -> impl Iterator<Item = (&str, &str)> {
    let headers = request.headers().get_all(header::COOKIE).filter_map(|value| value.to_str().ok());
    headers.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The purpose of a cookie.
#[derive(Clone, Copy)]
pub(super) enum Cookie {
    /// The secret of a session.
    Session,
    /// The secret of a visit without one: it ties the sign-in form to the browser that asked for it.
    Visit,
}

impl Cookie {
    /// `__Host-`: set by this very host over TLS, and by no neighbouring host (RFC 6265bis §4.1.3.2).
    fn name(self, app: &App) -> &'static str {
        match (self, secure(app)) {
            (Self::Session, true) => "__Host-portico",
            (Self::Session, false) => "portico",
            (Self::Visit, true) => "__Host-portico-visit",
            (Self::Visit, false) => "portico-visit",
        }
    }

    /// The paths that it is sent to. `__Host-` wants them all.
    fn paths(self, app: &App) -> &'static [&'static str] {
        match (self, secure(app)) {
            (_, true) => &["/"],
            (Self::Session, false) => &["/account", "/authorize", "/sign-in", "/sign-out", "/users"],
            (Self::Visit, false) => &["/authorize", "/sign-in"],
        }
    }

    /// Returns the values of `Set-Cookie` for that secret. It ends with the browser; the session's own end is kept
    /// here. Browsers send cookies of plain http to every program at this host, whatever its port: so it is sent
    /// only to the paths that need it.
    pub(super) fn set(self, app: &App, secret: &SecretString) -> Vec<String> {
        let begin = self.paths(app).iter().map(|path| self.value(app, secret.expose_secret(), path, ""));
        // An earlier release set one for every path. Two of a name count as none.
        let before = (!secure(app)).then(|| self.value(app, "", "/", "; Max-Age=0"));
        before.into_iter().chain(begin).chain(self.mark(app, "1", "")).collect()
    }

    /// The values of `Set-Cookie` that take it away.
    pub(super) fn clear(self, app: &App) -> Vec<String> {
        let end = self.paths(app).iter().map(|path| self.value(app, "", path, "; Max-Age=0"));
        end.chain(self.mark(app, "", "; Max-Age=0")).collect()
    }

    /// Returns the mark of a session whose cookie is not sent to `/`.
    fn mark(self, app: &App, value: &str, more: &str) -> Option<String> {
        let needed = matches!(self, Self::Session) && !secure(app);
        needed.then(|| format!("{MARK}={value}; Path=/{more}; HttpOnly; SameSite=Lax"))
    }

    fn value(self, app: &App, value: &str, path: &str, more: &str) -> String {
        let tls = if secure(app) { "; Secure" } else { "" };
        format!("{}={value}; Path={path}{more}; HttpOnly; SameSite=Lax{tls}", self.name(app))
    }

    /// Returns the cookie that the browser sent. Of two with one name at least one is not ours: then there is none.
    pub(super) fn read(self, request: &HttpRequest, app: &App) -> Option<SecretString> {
        let name = self.name(app);
        let mut found = cookies(request).filter(|(known, value)| *known == name && !value.is_empty());
        let (_, value) = found.next()?;
        found.next().is_none().then(|| SecretString::from(value))
    }
}

fn secure(app: &App) -> bool {
    app.config().server.public_url.starts_with("https://")
}

/// The browser sent an ended or unknown session: its cookie is deleted.
pub(super) struct Ended;

/// A signed-in person's browser.
pub(super) struct Visitor {
    /// The session's secret.
    pub(super) secret: SecretString,
    /// The session.
    pub(super) session: Session,
    /// The person's operations: changes are recorded as theirs.
    pub(super) people: Accounts,
}

impl Visitor {
    /// The visitor of this request, if there is a session.
    pub(super) async fn find(request: &HttpRequest, app: &App) -> Result<Option<Self>> {
        let Some(secret) = Cookie::Session.read(request, app) else { return Ok(None) };
        let found = app.people.session(&secret, peer::client(request, app)).await;
        match &found {
            Ok(Some(session)) => drop(request.extensions_mut().insert(SignedIn(session.clone()))),
            Err(error) if error.kind != Kind::Busy => {}
            _ => drop(request.extensions_mut().insert(Ended)),
        }
        let session = found?;
        Ok(session.map(|session| {
            let people = app.people.at(recorder::audit_context(request, app, Some(&session.email)));
            Self { secret, session, people }
        }))
    }

    /// Returns the visitor who sent this form from our own page.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`](portico_actors::error::Kind::Unauthenticated) without a session,
    /// [`Kind::Forbidden`](portico_actors::error::Kind::Forbidden) for a form from elsewhere.
    pub(super) async fn of_form(request: &HttpRequest, app: &App, form: &Form) -> Result<Self> {
        check_origin(request, app)?;
        let visitor = Self::find(request, app).await?;
        let visitor = visitor.ok_or_else(|| Error::unauthenticated("your session has ended; sign in again"))?;
        check_token(&visitor.secret, form)?;
        Ok(visitor)
    }

    /// The token for this visitor's forms.
    pub(super) fn token(&self) -> String {
        session::form_token(&self.secret)
    }
}

/// Refuses a form without the token of its session or visit.
pub(super) fn check_token(secret: &SecretString, form: &Form) -> Result<()> {
    if form.get("csrf").is_some_and(|shown| session::form_token_fits(secret, shown)) {
        Ok(())
    } else {
        Err(from_elsewhere())
    }
}

/// Refuses a form that the browser declares to be from another site. Our pages send no referrer, so browsers send
/// the origin `null`; then `Sec-Fetch-Site` decides. Over plain http to another machine browsers send neither, and
/// cookie and token must suffice.
pub(super) fn check_origin(request: &HttpRequest, app: &App) -> Result<()> {
    let headers = request.headers();
    let own = |origin: &str| origin.eq_ignore_ascii_case(&app.config().server.public_url);
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes() == b"same-origin");
    let from_here = headers.get_all(header::ORIGIN).all(|origin| match (origin.to_str(), site) {
        (Ok("null"), None) => !secure(app),
        (Ok("null"), Some(same)) => same,
        (Ok(origin), _) => own(origin),
        (Err(_), _) => false,
    });
    if from_here && site != Some(false) { Ok(()) } else { Err(from_elsewhere()) }
}

fn from_elsewhere() -> Error {
    Error::forbidden("this form was not sent from a page of this service, or the page is too old")
        .hint("go back, load the page again, and send the form once more")
}
