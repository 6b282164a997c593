//! The owner of a session, a task or a recorded answer.

use portico_actors::principal::Rights;

use crate::mcp::target::TargetId;

/// Why an answer is not told to whom it was made for. It may have changed data, so that nobody is advised to call again
/// without a look.
pub const NOT_SHARED: &str = "the settings of its connection have changed since it began, and its result is not told any \
                              more; look at what it did, and call again";

/// The owner of a session: knowing its id is not enough.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The principal's subject.
    pub subject: String,
    /// The target of its address.
    pub target: TargetId,
    /// How far the principal went there.
    pub rights: Rights,
    /// The principal's claims, which determine the database's role.
    pub claims: String,
    /// What its connections are started with, and what its workspaces reach: a digest of each, in order.
    pub configuration: Vec<u64>,
}

impl Owner {
    /// Returns true if `by` may continue what this owner started: the same principal with the same identity in
    /// databases, and at least the same rights.
    pub fn admits(&self, by: &Self) -> bool {
        self.subject == by.subject
            && self.target == by.target
            && by.rights.contains(&self.rights)
            && self.claims == by.claims
    }

    /// Returns true if `by` may see this owner's answers: in addition, the connections, and what they are started
    /// with, are there unchanged, so that nothing is told that would be hidden today. Others may have come.
    pub fn shares_with(&self, by: &Self) -> bool {
        self.admits(by) && self.configuration.iter().all(|each| by.configuration.binary_search(each).is_ok())
    }

    /// One for tests.
    #[cfg(test)]
    pub(crate) fn new(subject: &str, connection: u128, scope: portico_actors::principal::Scope) -> Self {
        Self {
            subject: subject.to_owned(),
            target: TargetId::Connection(uuid::Uuid::from_u128(connection)),
            rights: Rights::all(scope),
            claims: String::new(),
            configuration: Vec::new(),
        }
    }
}
