//! Whose a session, a task or a recorded answer is.

use portico_actors::principal::Rights;

use crate::mcp::target::TargetId;

/// Whose a session is: an id alone opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The principal's subject.
    pub subject: String,
    /// What its address stands for.
    pub target: TargetId,
    /// How far the principal went there.
    pub rights: Rights,
    /// What was known of the principal, by which a database's role is found.
    pub claims: String,
    /// How its connections were configured: what they are and what they offer.
    pub configuration: (u64, u64),
}

impl Owner {
    /// Whether `by` may go on with what this one began: the same principal, as whom databases know
    /// them, with no less.
    pub fn admits(&self, by: &Self) -> bool {
        self.subject == by.subject
            && self.target == by.target
            && by.rights.contains(&self.rights)
            && self.claims == by.claims
    }

    /// Whether `by` may see what was answered to this one: besides, the connections are still the same and configured
    /// as they were, so that they would answer the same today.
    pub fn shares_with(&self, by: &Self) -> bool {
        self.admits(by) && self.configuration == by.configuration
    }

    /// One for tests.
    #[cfg(test)]
    pub(crate) fn new(subject: &str, connection: u128, scope: portico_actors::principal::Scope) -> Self {
        Self {
            subject: subject.to_owned(),
            target: TargetId::Connection(uuid::Uuid::from_u128(connection)),
            rights: Rights::all(scope),
            claims: String::new(),
            configuration: (0, 0),
        }
    }
}
