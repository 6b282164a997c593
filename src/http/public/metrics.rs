//! `GET /metrics`: for callers who may see it.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Endpoint, Scope};

use crate::app::App;
use crate::config::MetricsAccess;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::public::fallback;
use crate::http::{caller, error};
use crate::observe::metrics::CONTENT_TYPE;

/// `GET /metrics`.
pub(in crate::http) async fn metrics(request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    if app.config().server.metrics == MetricsAccess::Off {
        return fallback::no_such_path(request).await;
    }
    let mut recorder = CallRecorder::begin(&request, &app);
    match render(&request, &app, &mut recorder).await {
        Ok(text) => {
            // Asked for every few seconds: no line of the log for each.
            recorder.forget();
            HttpResponse::Ok().insert_header((header::CONTENT_TYPE, CONTENT_TYPE)).body(text)
        }
        Err(refusal) => {
            recorder.finish(0, Some(&refusal));
            let challenge = caller::api_challenge(&request, &app);
            error::api(&refusal, recorder::request_id(&request), Some(&challenge))
        }
    }
}

async fn render(request: &HttpRequest, app: &web::Data<App>, recorder: &mut CallRecorder) -> Result<String> {
    if app.config().server.metrics == MetricsAccess::Admin {
        let by = caller::authenticate(request, app, Endpoint::Api).await?;
        recorder.note(|event| event.subject.clone_from(&by.subject));
        // The metrics cover every connection.
        let every = app.directory.list().iter().all(|entry| by.rights.scope_at(entry.id) == Some(Scope::Admin));
        if !(every && by.rights.administer()) {
            return Err(Error::forbidden("metrics are for administrators of every connection")
                .hint("use a token of a user who was added with --admin, or set server.metrics")
                .needs(Scope::Admin.as_str()));
        }
    }
    let app = app.clone();
    let told = web::block(move || {
        let standing = [app.active_calls(), app.tasks.running(), app.budget.lent()];
        app.metrics.encode(&app.directory, app.takes_calls().is_ok(), standing)
    });
    told.await.map_err(Error::internal)?.map_err(Error::internal)
}
