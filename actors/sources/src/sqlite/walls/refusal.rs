//! Why the authorizer refused something.

/// Why the last statement was refused, in words for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It would write where only reading is allowed.
    Write,
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction,
    /// It would leave something in the session for the next caller.
    Session(&'static str),
    /// It would reach outside this database, or change how the engine works.
    Outside(String),
    /// It names a table or view that does not exist for its caller.
    NoTable(String),
    /// It would tell of what is hidden, or could read it.
    Unavailable(String),
}
