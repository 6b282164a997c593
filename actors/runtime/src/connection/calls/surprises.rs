//! What a caller may not expect of a statement, told with its result.

use super::runner::Runner;
use portico_sources::Task;
use portico_sql::{Class, makes_temporary, names_session_user};

/// Said of a temporary table that a call makes.
const ENDS_WITH_CALL: &str = "a temporary table or view ends with its call: write WITH in the statement that reads it";

/// Said of a query that names the session's role.
const IS_ROLE: &str = "user without quotes is the role of the session here: a column of that name is written \"user\"";

impl Runner {
    /// Returns what is told of `task` beside its result.
    pub(super) fn surprise(&self, task: &Task) -> Option<&'static str> {
        let Task::Statement(prepared) = task else { return None };
        let dialect = self.description.connection.driver.dialect;
        let text = &prepared.statement.text;
        match prepared.statement.class {
            Class::Ddl if makes_temporary(text, dialect) => Some(ENDS_WITH_CALL),
            Class::Select if !prepared.by_administrator && names_session_user(text, dialect) => Some(IS_ROLE),
            _ => None,
        }
    }
}
