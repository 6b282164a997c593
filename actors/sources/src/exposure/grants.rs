//! The privileges of a source's own user, beside what a connection exposes: the statements that make the two agree,
//! and the differences found. The statements themselves are the driver's.

/// Which rights are asked for.
#[derive(Clone, Debug)]
pub struct GrantRequest {
    /// The role of the source that is to have them.
    pub role: String,
    /// Whether they are to be taken away again.
    pub revoke: bool,
    /// Whether privileges of PUBLIC beyond the configuration are revoked.
    pub revoke_public: bool,
}

/// The statements that grant the privileges.
#[derive(Clone, Debug, Default)]
pub struct GrantScript {
    /// The statements, in order, that run as one transaction.
    pub statements: Vec<String>,
    /// The statements that revoke from PUBLIC what the configuration does not expose. They are included in the
    /// statements only if that was requested.
    pub public: Vec<String>,
    /// Notes on what the statements do not cover.
    pub notes: Vec<String>,
    /// Steps that remain to be done by hand.
    pub next: Vec<String>,
    /// All of it as a text that the source's own client program runs.
    pub text: String,
}
