//! Errors in answers.

use portico_actors::error::Error;
use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Error")]
pub struct ErrorBody {
    /// The code of the table of errors.
    pub code: u16,
    /// What is wrong, with the source's own detail behind a colon and, at the end, where in the statement
    /// as it was sent: `(at position N)`, in characters from 1.
    pub message: String,
    /// The SQLSTATE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql_state: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The request, as in the header `X-Request-Id` and in the log.
    pub request_id: String,
}

/// Returns the error for an unexpected second result in a format with room for one. Its results are dropped, which
/// rolls the statement back.
pub(crate) fn surplus() -> Error {
    Error::invalid("Accept: this format has room for one result, and there is another one; nothing was kept")
        .hint("send Accept: application/json, which returns several results")
}
