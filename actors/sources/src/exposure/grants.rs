//! The rights that a source's own user has there, beside what a connection exposes: the statements
//! that make the two agree, and what is found where they do not. Which statements these are is the
//! driver's business.

/// Which rights are asked for.
#[derive(Clone, Debug)]
pub struct GrantRequest {
    /// The role of the source that is to have them.
    pub role: String,
    /// Whether they are to be taken away again.
    pub revoke: bool,
    /// Whether what everybody may do beyond the configuration is to be taken away.
    pub revoke_public: bool,
}

/// What it takes to give them.
#[derive(Clone, Debug, Default)]
pub struct GrantScript {
    /// The statements, in order, that run as one transaction.
    pub statements: Vec<String>,
    /// Those that would take from everybody what the configuration does not expose. They are among the
    /// statements only if that was asked for.
    pub public: Vec<String>,
    /// What no statement says.
    pub notes: Vec<String>,
    /// What is left to be done by hand.
    pub next: Vec<String>,
    /// All of it as a text that the source's own client program runs.
    pub text: String,
}
