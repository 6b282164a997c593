//! Whose a session, a task or a recorded answer is.

use portico_actors::principal::Scope;
use uuid::Uuid;

/// Whose a session is: an id alone opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The principal's subject.
    pub subject: String,
    /// The connection.
    pub connection: Uuid,
    /// How far the principal went there.
    pub scope: Scope,
    /// What was known of the principal, by which a database's role is found.
    pub claims: String,
    /// How the connection was configured: what it is and what it offers.
    pub configuration: (u64, u64),
}

impl Owner {
    /// Whether `by` may go on with what this one began: the same principal, as whom databases know
    /// them, with no less.
    pub fn admits(&self, by: &Self) -> bool {
        self.subject == by.subject
            && self.connection == by.connection
            && self.scope <= by.scope
            && self.claims == by.claims
    }

    /// Whether `by` may see what was answered to this one: besides, the connection is still configured as it
    /// was, so that it would answer the same today.
    pub fn shares_with(&self, by: &Self) -> bool {
        self.admits(by) && self.configuration == by.configuration
    }

    /// One for tests.
    #[cfg(test)]
    pub(crate) fn new(subject: &str, connection: u128, scope: Scope) -> Self {
        Self {
            subject: subject.to_owned(),
            connection: Uuid::from_u128(connection),
            scope,
            claims: String::new(),
            configuration: (0, 0),
        }
    }
}
