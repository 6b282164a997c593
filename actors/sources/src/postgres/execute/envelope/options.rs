//! The kind of a statement's transaction, and the statement's position in it.

use crate::Access;

/// How a statement's transaction is opened and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionMode {
    ReadOnly,
    ReadWrite,
    /// Writes, and is always rolled back.
    DryRun,
    /// A CALL that may write runs without a transaction: the procedure may commit.
    Unattended,
}

/// On which terms statements are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecOptions {
    pub(crate) access: Access,
    /// Whether everything is undone at the end.
    pub(crate) dry_run: bool,
    /// Whether the caller is told which tables the results' columns originate from.
    pub(crate) describes: bool,
    /// Whether its rows are a plan that the service alone reads.
    pub(crate) estimates: bool,
}

impl ExecOptions {
    /// Returns the kind of the transaction.
    pub(crate) const fn mode(self) -> TransactionMode {
        match (self.access, self.dry_run) {
            (Access::ReadOnly, _) => TransactionMode::ReadOnly,
            (Access::ReadWrite, true) => TransactionMode::DryRun,
            (Access::ReadWrite, false) => TransactionMode::ReadWrite,
        }
    }
}

/// The position of a statement in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionPosition {
    /// The statement is the first one.
    pub(crate) begins: bool,
    /// The statement is the last one.
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
