//! Whether the process serves, and whether it should be sent requests.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::health::STUCK_AFTER;
use crate::http::error;

/// Whether the process serves.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Health {
    /// `ok` or `stuck`.
    pub(in crate::http) status: &'static str,
    /// Which threads are stuck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::http) threads: Vec<Arc<str>>,
}

/// Whether requests should be sent.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Readiness {
    /// `ready`, `starting`, `draining` or `unavailable`.
    pub(in crate::http) status: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) reason: Option<String>,
    pub(in crate::http) connections: Vec<State>,
}

/// A connection's state.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConnectionState")]
pub(in crate::http) struct State {
    pub(in crate::http) name: Arc<str>,
    /// One word: `idle`, `connecting`, `up`, `down`, `restarting` or `failed`.
    pub(in crate::http) status: &'static str,
}

/// `GET /healthz`: whether each thread turns.
pub(in crate::http) async fn alive(app: web::Data<App>) -> HttpResponse {
    // Threads that end while the service stops are not stuck.
    let threads = app.stuck(STUCK_AFTER);
    let status = if threads.is_empty() { "ok" } else { "stuck" };
    error::readiness(threads.is_empty()).json(Health { status, threads })
}

/// `GET /readyz`: whether a call would be taken.
pub(in crate::http) async fn ready(app: web::Data<App>) -> HttpResponse {
    let takes = app.takes_calls();
    let entries = app.directory.list();
    let connections =
        entries.iter().map(|entry| State { name: Arc::clone(&entry.name), status: entry.status() }).collect();
    let (status, reason) = match &takes {
        Ok(()) => ("ready", None),
        Err(why) => (why.as_str(), Some(why.to_string())),
    };
    error::readiness(takes.is_ok()).json(Readiness { status, reason, connections })
}
