//! Whether the process serves, and whether it should be sent requests.

use actix_web::{HttpResponse, web};
use serde_json::{Value, json};

use super::error;
use crate::app::App;

/// `GET /healthz`.
pub(super) async fn alive() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// `GET /readyz`: ready once every connection had its first attempt, and until the service drains.
pub(super) async fn ready(app: web::Data<App>) -> HttpResponse {
    let ready = app.ready();
    let connections: Vec<Value> =
        app.directory.list().iter().map(|entry| json!({"name": entry.name, "status": entry.status()})).collect();
    let status = match (ready, app.draining()) {
        (true, _) => "ready",
        (false, true) => "draining",
        (false, false) => "starting",
    };
    error::readiness(ready).json(json!({"status": status, "connections": connections}))
}
