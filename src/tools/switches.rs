//! What an administrator has disabled on a connection: types, operations, single tools. What a caller's scope
//! forbids is decided elsewhere.

use super::kind::{Operation, Type};

/// Switched off, and so unknown to every caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Types.
    pub types: Vec<Type>,
    /// Operations.
    pub operations: Vec<Operation>,
    /// Single tools, by name.
    pub tools: Vec<String>,
}

impl Switches {
    /// Returns true if a tool is enabled.
    pub fn pass(&self, kind: Type, operation: Operation, name: &str) -> bool {
        !self.types.contains(&kind)
            && !self.operations.contains(&operation)
            && !self.tools.iter().any(|disabled| disabled == name)
    }
}
