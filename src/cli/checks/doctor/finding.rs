//! The result of a check.

use serde::Serialize;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckStatus {
    /// All is well.
    Ok,
    /// The service runs, but not as it should.
    Warning,
    /// The service does not run, or not safely.
    Problem,
}

impl CheckStatus {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CheckResult {
    /// The subject of the check, in one word.
    pub(super) subject: &'static str,
    pub(super) grade: CheckStatus,
    pub(super) message: String,
    /// What to do; empty if all is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) remedy: String,
}

impl CheckResult {
    pub(super) fn ok(subject: &'static str, message: impl Into<String>) -> Self {
        Self { subject, grade: CheckStatus::Ok, message: message.into(), remedy: String::new() }
    }

    pub(super) fn warning(subject: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, grade: CheckStatus::Warning, message: message.into(), remedy: remedy.into() }
    }

    pub(super) fn problem(subject: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, grade: CheckStatus::Problem, message: message.into(), remedy: remedy.into() }
    }
}
