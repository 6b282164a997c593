//! The rim of the 2025 revisions: the handshake, and cancelling. The sessions themselves are in
//! `sessions/`; a request without one is served too.

use serde_json::json;

use super::envelope::{Failure, Standing};
use super::era::SESSION_VERSIONS;
use super::sessions::Session;
use super::{INSTRUCTIONS, PRODUCT, VERSION};
use crate::fields::Fields;

/// The version and the result of `initialize`: the version asked for if it is served, else our
/// newest.
pub(super) fn initialize(params: Option<&str>) -> Result<(&'static str, String), Failure> {
    let wrong = |error: portico_actors::error::Error| Failure::params(error.message, Standing::Answered);
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let asked = fields.required("protocolVersion").map_err(wrong)?;
    let newest = SESSION_VERSIONS[SESSION_VERSIONS.len() - 1];
    let version = SESSION_VERSIONS.iter().find(|version| **version == asked).unwrap_or(&newest);
    let result = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {}},
        "serverInfo": {"name": PRODUCT, "title": "Portico", "version": VERSION},
        "instructions": INSTRUCTIONS,
    });
    Ok((version, result.to_string()))
}

/// `notifications/cancelled`: one that names no request of this session that runs is ignored, as
/// the specification says.
pub(super) fn cancel(session: &Session, params: Option<&str>) {
    let request = params.and_then(|params| Fields::parse(params, "params").ok()?.take("requestId"));
    if let Some(request) = request {
        session.cancel(request.get());
    }
}
