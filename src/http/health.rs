//! Whether the process serves, and whether it should be sent requests.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;

use super::error;
use crate::app::App;

/// That the process serves.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// `ok`.
    pub(super) status: &'static str,
}

/// Whether requests should be sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Readiness {
    /// `ready`, `starting` or `draining`.
    pub(super) status: &'static str,
    pub(super) connections: Vec<State>,
}

/// A connection's state.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectionState")]
pub(super) struct State {
    pub(super) name: Arc<str>,
    /// One word: `idle`, `connecting`, `up`, `down`, `restarting` or `failed`.
    pub(super) status: &'static str,
}

/// `GET /healthz`.
pub(super) async fn alive() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// `GET /readyz`: ready once every connection had its first attempt, and until the service drains.
pub(super) async fn ready(app: web::Data<App>) -> HttpResponse {
    let ready = app.ready();
    let entries = app.directory.list();
    let connections =
        entries.iter().map(|entry| State { name: Arc::clone(&entry.name), status: entry.status() }).collect();
    let status = match (ready, app.draining()) {
        (true, _) => "ready",
        (false, true) => "draining",
        (false, false) => "starting",
    };
    error::readiness(ready).json(Readiness { status, connections })
}
