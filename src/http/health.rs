//! Whether the process serves, and whether it should be sent requests.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;

use super::error;
use crate::app::App;
use crate::condition::STUCK_AFTER;

/// Whether the process serves.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// `ok` or `stuck`.
    pub(super) status: &'static str,
    /// Which threads are stuck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) threads: Vec<Arc<str>>,
}

/// Whether requests should be sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Readiness {
    /// `ready`, `starting`, `draining` or `unavailable`.
    pub(super) status: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
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

/// `GET /healthz`: whether each thread turns.
pub(super) async fn alive(app: web::Data<App>) -> HttpResponse {
    // Threads that end while the service stops are not stuck.
    let threads = app.stuck(STUCK_AFTER);
    let status = if threads.is_empty() { "ok" } else { "stuck" };
    error::readiness(threads.is_empty()).json(Health { status, threads })
}

/// `GET /readyz`: whether a call would be taken.
pub(super) async fn ready(app: web::Data<App>) -> HttpResponse {
    let takes = app.takes_calls();
    let entries = app.directory.list();
    let connections =
        entries.iter().map(|entry| State { name: Arc::clone(&entry.name), status: entry.status() }).collect();
    let (status, reason) = match &takes {
        Ok(()) => ("ready", None),
        Err(why) => (why.word(), Some(why.to_string())),
    };
    error::readiness(takes.is_ok()).json(Readiness { status, reason, connections })
}
