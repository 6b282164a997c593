//! What a text of instructions depends on, which says how long it is kept.

use std::sync::{Arc, Weak};

use portico_core::call::InstructionsOptions;
use portico_sources::Profile;

/// Everything that a text depends on: what the caller may see and do, what it is offered, and when the source was read.
#[derive(Clone)]
pub(in crate::connection) struct InstructionsKey {
    refreshes: u64,
    profile: Weak<Profile>,
    role: Option<String>,
    may_write: bool,
    options: InstructionsOptions,
}

impl InstructionsKey {
    /// Of a caller with `role`, who may write or not; the source was read so often, and said `profile` last.
    pub(in crate::connection) fn new(
        refreshes: u64,
        profile: &Arc<Profile>,
        role: Option<&str>,
        may_write: bool,
        options: &InstructionsOptions,
    ) -> Self {
        let (profile, role) = (Arc::downgrade(profile), role.map(str::to_owned));
        Self { refreshes, profile, role, may_write, options: options.clone() }
    }

    /// What the front has said of the tools.
    pub(in crate::connection) fn options(&self) -> &InstructionsOptions {
        &self.options
    }

    /// Whether `newer` stands for the same, or this one is of what the source said before.
    pub(in crate::connection) fn is_replaced_by(&self, newer: &Self) -> bool {
        self == newer || self.refreshes != newer.refreshes || !Weak::ptr_eq(&self.profile, &newer.profile)
    }
}

impl PartialEq for InstructionsKey {
    fn eq(&self, other: &Self) -> bool {
        self.refreshes == other.refreshes
            && Weak::ptr_eq(&self.profile, &other.profile)
            && self.role == other.role
            && self.may_write == other.may_write
            && self.options == other.options
    }
}
