//! Where names like one that a statement misspelt are looked for, and how they are offered.

use std::sync::Arc;
use std::time::Duration;

use portico_core::call::{Limits, MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::identity::AssumedIdentity;
use portico_core::near;
use portico_core::trace::TraceParent;
use portico_sources::texts;
use portico_sources::{Access, Plan, Source, Task};
use portico_sql::Dialect;

/// How long the source may take to list its names.
const PATIENCE: Duration = Duration::from_secs(2);
/// Names looked through for a near one.
const NEAR_CANDIDATES: usize = 5_000;
/// Said where a name is offered that means something else without its quotes.
pub(super) const QUOTES: &str = " A reserved word, or a name with capitals or spaces, needs its double quotes.";

/// Where similar names are searched, and for whom.
#[derive(Clone)]
pub(in crate::connection) struct Nearby {
    pub(in crate::connection) source: Arc<dyn Source>,
    /// The caller's identity: only names that this caller sees are suggested.
    pub(in crate::connection) identity: AssumedIdentity,
    pub(in crate::connection) trace: Option<TraceParent>,
    /// The schema in which an unqualified name is looked for first.
    pub(in crate::connection) default_schema: Option<String>,
    /// The caller's text.
    pub(in crate::connection) text: String,
    /// The SQL that it is written in.
    pub(in crate::connection) dialect: Dialect,
}

impl Nearby {
    /// Rows of a listing, as the caller sees them.
    pub(in crate::connection) async fn list(
        &self,
        metadata: MetadataKind,
        narrow: MetadataFilter,
    ) -> Result<Vec<Vec<Option<String>>>> {
        let plan = Plan {
            limits: Limits { timeout: PATIENCE, rows: None },
            identity: self.identity.clone(),
            trace: self.trace,
            ..Plan::alone(Task::Describe(metadata, narrow), Access::ReadOnly)
        };
        texts(self.source.run(plan).await?, NEAR_CANDIDATES).await
    }
}

/// A hint that offers `names`, as they are to be written.
pub(in crate::connection) fn offered(names: &[String]) -> Option<String> {
    let hint = near::did_you_mean(names)?;
    Some(if names.iter().any(|name| name.contains('"')) { hint + QUOTES } else { hint })
}

#[cfg(test)]
mod tests {
    use portico_sources::digest::quoted;

    use super::*;

    #[test]
    fn a_name_is_written_as_the_next_statement_needs_it() {
        assert_eq!(quoted("customer_id"), "customer_id");
        assert_eq!(quoted("customerId"), "\"customerId\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(quoted("order"), "\"order\"");
        let hint = offered(&["o.\"customerId\"".to_owned()]).unwrap();
        assert!(hint.starts_with("did you mean o.\"customerId\"?") && hint.contains("double quotes"), "{hint}");
        assert_eq!(offered(&[]), None);
    }
}
