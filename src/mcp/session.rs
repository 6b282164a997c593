//! The rim of the 2025 revisions: the handshake, and cancelling. The sessions themselves are in
//! `sessions/`; a request without one is served too.

use serde_json::{Value, json};

use super::envelope::{Failure, Standing};
use super::era::SESSION_VERSIONS;
use super::sessions::Session;
use super::{INSTRUCTIONS, PRODUCT, VERSION};
use crate::fields::Fields;

/// Bytes of a client's capabilities at most: they are kept as long as its session.
const LONGEST_CAPABILITIES: usize = 4 * 1024;

/// What a handshake comes to.
pub(super) struct Handshake {
    /// The version asked for if it is served, else our newest.
    pub(super) version: &'static str,
    /// What the client declares it can do, an object.
    pub(super) capabilities: Value,
    /// The result of `initialize`.
    pub(super) result: String,
}

/// `initialize`, where `offered` are the server's capabilities.
pub(super) fn initialize(params: Option<&str>, offered: Value) -> Result<Handshake, Failure> {
    let wrong = |error: portico_actors::error::Error| Failure::params(error.message, Standing::Answered);
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let asked = fields.required("protocolVersion").map_err(wrong)?;
    let newest = SESSION_VERSIONS[SESSION_VERSIONS.len() - 1];
    let version = SESSION_VERSIONS.iter().find(|version| **version == asked).unwrap_or(&newest);
    let result = json!({
        "protocolVersion": version,
        "capabilities": offered,
        "serverInfo": {"name": PRODUCT, "title": "Portico", "version": VERSION},
        "instructions": INSTRUCTIONS,
    });
    let declared = fields.take("capabilities");
    if declared.as_ref().is_some_and(|declared| declared.get().len() > LONGEST_CAPABILITIES) {
        return Err(Failure::params(
            format!(
                "capabilities: they are longer than {LONGEST_CAPABILITIES} bytes; declare what is used, without details"
            ),
            Standing::Answered,
        ));
    }
    let capabilities = declared.and_then(|declared| serde_json::from_str(declared.get()).ok());
    Ok(Handshake { version, capabilities: capabilities.unwrap_or_default(), result: result.to_string() })
}

/// `notifications/cancelled`: one that names no request of this session that runs is ignored, as
/// the specification says.
pub(super) fn cancel(session: &Session, params: Option<&str>) {
    let request = params.and_then(|params| Fields::parse(params, "params").ok()?.take("requestId"));
    if let Some(request) = request {
        session.cancel(request.get());
    }
}
