//! `/users/applications`: for administrators, people's consents to applications.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::auth::oauth::authorization::Consent;

use crate::http::pages::page::{self, State};
use crate::http::pages::view::View;

#[derive(Template)]
#[template(path = "applications.html")]
struct Applications<'a> {
    view: View<'a>,
    consents: Vec<Consent>,
}

/// `GET /users/applications`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::signed_in(&request, &app, "/users/applications", async |visitor| {
        let consents = visitor.people.consents(&visitor.secret).await?;
        page::show(&Applications { view: View { app: &app, visitor }, consents })
    })
    .await
}

/// `POST /users/applications/revoke`.
pub(super) async fn revoke(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::of_form(&request, payload, &app, async |visitor, form| {
        visitor.people.revoke_consent(&visitor.secret, form.id()?).await?;
        Ok(page::go("/users/applications", &[]))
    })
    .await
}
