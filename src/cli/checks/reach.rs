//! What `check` and `doctor` report of a connection that is up: what its database user can do beyond what is
//! exposed, and protections that are weaker than possible.

use portico_actors::finding::{Finding, FindingSeverity};
use portico_actors::source::Source;
use serde_json::{Value, json};

use crate::cli::common::error_words;
use crate::cli::output::say;

/// Everything there is to say about `source`, the weightiest first. A further kind of finding is added here.
pub(in crate::cli) async fn findings(source: &dyn Source) -> Vec<Finding> {
    let mut findings = source.excess_privileges().await.unwrap_or_else(|error| {
        let message =
            format!("what its user can do could not be compared with what is exposed: {}", error_words(&error));
        vec![Finding::new(FindingSeverity::Warning, message, "try again; the log of the service has it too")]
    });
    findings.sort_by_key(|finding| finding.grade != FindingSeverity::Warning);
    findings
}

/// One finding for people, below its connection.
pub(in crate::cli) fn print(finding: &Finding) {
    say(format_args!("  {}: {}", finding.grade.as_str(), finding.words()));
    if !finding.remedy.is_empty() {
        say(format_args!("    -> {}", finding.remedy));
    }
}

/// One finding for programs, in the words of `doctor`.
pub(in crate::cli) fn describe(finding: &Finding) -> Value {
    let mut value = json!({"grade": finding.grade.as_str(), "message": finding.words()});
    if !finding.remedy.is_empty() {
        value["remedy"] = Value::from(finding.remedy.as_str());
    }
    value
}
