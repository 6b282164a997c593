//! The cache key of an instructions text.

use std::sync::{Arc, Weak};

use portico_core::call::InstructionsOptions;
use portico_sources::Profile;

/// Everything that a text depends on: the caller's access, the tools offered, and when the source was read.
#[derive(Clone)]
pub(in crate::connection) struct InstructionsKey {
    refreshes: u64,
    profile: Weak<Profile>,
    role: Option<String>,
    may_write: bool,
    options: InstructionsOptions,
}

impl InstructionsKey {
    /// Makes the key for a caller with `role`; the source was read `refreshes` times and last returned `profile`.
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

    /// Returns the options of the protocol layer.
    pub(in crate::connection) fn options(&self) -> &InstructionsOptions {
        &self.options
    }

    /// Returns true if `newer` is equal, or this one is of an earlier reading of the source.
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
