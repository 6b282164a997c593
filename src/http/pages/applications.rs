//! `/users/applications`: for administrators, what people have allowed applications.

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use portico_actors::error::Error;
use uuid::Uuid;

use crate::http::pages::account::ApplicationRow;
use crate::http::pages::browser::Visitor;
use crate::http::pages::form::Form;
use crate::http::pages::page::{self, State};

#[derive(Template)]
#[template(path = "applications.html")]
struct Applications<'a> {
    email: &'a str,
    administers: bool,
    rows: Vec<ApplicationRow>,
    csrf: String,
}

/// `GET /users/applications`.
pub(super) async fn get(request: HttpRequest, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let Some(visitor) = Visitor::find(&request, &app).await? else {
            return Ok(page::go("/sign-in?next=/users/applications", &[]));
        };
        recorder.note(|event| event.subject.clone_from(&visitor.session.email));
        let consents = visitor.people.consents(&visitor.secret).await?;
        let rows = consents.into_iter().map(|consent| ApplicationRow::of(&app, consent));
        page::show(&Applications {
            email: &visitor.session.email,
            administers: visitor.session.administers(),
            rows: rows.collect(),
            csrf: visitor.token(),
        })
    })
    .await
}

/// `POST /users/applications/revoke`.
pub(super) async fn revoke(request: HttpRequest, payload: web::Payload, app: State) -> HttpResponse {
    page::answer(&request, &app, async |recorder| {
        let form = Form::read(&request, payload).await?;
        let visitor = Visitor::of_form(&request, &app, &form).await?;
        recorder.note(|event| event.subject.clone_from(&visitor.session.email));
        let id = Uuid::try_parse(form.need("id")?).map_err(|_| Error::invalid("id: this is none"))?;
        visitor.people.revoke_consent(&visitor.secret, id).await?;
        Ok(page::go("/users/applications", &[]))
    })
    .await
}
