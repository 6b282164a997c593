//! `/authorize`: shows a client's request to the signed-in person, or asks to sign in first. The decision is
//! handled in `consent`.

use actix_web::{HttpRequest, HttpResponse, web};

use crate::client_metadata::Documents;
use crate::http::form::Form;
use crate::http::pages::authorization_request::again;
use crate::http::pages::browser::Visitor;
use crate::http::pages::page::{self, State};
use crate::http::pages::{consent, sign_in};

/// `GET /authorize`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let visitor = Visitor::find(&request, &app).await?;
        if let Some(visitor) = &visitor {
            recorder.note_session(&visitor.session);
        }
        let form = Form::parse(request.query_string());
        let next = format!("/authorize?{}", form.encode());
        // Nothing is fetched for strangers: the client's address is resolved once a person has signed in.
        if visitor.is_none() && form.exact("client_id").is_some_and(Documents::is_address) {
            return sign_in::show(&request, &app, &next, None, "", None);
        }
        let ask = match again(&request, request.query_string(), &app, visitor.as_ref()).await? {
            Ok(ask) => ask,
            Err(response) => return Ok(response),
        };
        match visitor {
            Some(visitor) => consent::show(&app, &ask, &visitor, request.query_string()),
            None => sign_in::show(&request, &app, &next, Some(&ask.client.name), "", None),
        }
    })
    .await
}

/// `POST /authorize`: the same by GET, where the browser sends its cookie along.
pub(super) async fn post(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::answer(&request, &app, async |_| {
        let form = Form::read(&request, payload).await?;
        Ok(page::go(&format!("/authorize?{}", form.encode()), &[]))
    })
    .await
}
