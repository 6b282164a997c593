//! What the transaction around a statement is, and where the statement stands in it.

use crate::Access;

/// How a statement's transaction is opened and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionMode {
    ReadOnly,
    ReadWrite,
    /// Writes, and is undone at its end whatever comes of it.
    DryRun,
    /// A CALL that may write has no transaction around it: the procedure may commit by itself.
    Unattended,
}

/// On which terms statements are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecOptions {
    pub(crate) access: Access,
    /// Whether everything is undone at the end.
    pub(crate) dry_run: bool,
    /// Whether it is told which columns of which tables the results' columns are.
    pub(crate) describes: bool,
    /// Whether its rows are a plan that the service alone reads.
    pub(crate) estimates: bool,
}

impl ExecOptions {
    /// What the transaction is.
    pub(crate) const fn mode(self) -> TransactionMode {
        match (self.access, self.dry_run) {
            (Access::ReadOnly, _) => TransactionMode::ReadOnly,
            (Access::ReadWrite, true) => TransactionMode::DryRun,
            (Access::ReadWrite, false) => TransactionMode::ReadWrite,
        }
    }
}

/// Where a statement stands in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionPosition {
    /// Nothing was run before it.
    pub(crate) begins: bool,
    /// Nothing comes after it.
    pub(crate) ends: bool,
    /// Its session is a pooler's, and the server's is another in the next transaction.
    pub(crate) pooled: bool,
}

impl TransactionPosition {
    /// A statement with a transaction of its own.
    pub(crate) const ALONE: Self = Self { begins: true, ends: true, pooled: false };
    /// A statement with others before and after it.
    pub(crate) const WITHIN: Self = Self { begins: false, ends: false, pooled: false };
}
