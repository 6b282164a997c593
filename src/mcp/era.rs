//! The only function that distinguishes the two eras of the protocol.

/// How a request is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28: every request carries its version and capabilities.
    #[default]
    Stateless,
    /// 2025-03-26 to 2025-11-25: a handshake first, then requests.
    Session,
}

/// The revision served statelessly.
pub const STATELESS_VERSION: &str = "2026-07-28";

/// The revisions that begin with a handshake, the newest last.
pub const SESSION_VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// Returns stateless if the body's `_meta` names a version, or if the header names one that is not of the
/// handshake's (MCP 2026-07-28, basic/versioning §Backward Compatibility).
pub fn decide(header: Option<&str>, meta_names_version: bool) -> Era {
    if meta_names_version || header.is_some_and(|version| !SESSION_VERSIONS.contains(&version)) {
        Era::Stateless
    } else {
        Era::Session
    }
}
