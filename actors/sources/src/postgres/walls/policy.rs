//! What must be checked of a statement, and why.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::Exposure;
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::walls::refusal::refused;
use portico_core::error::Result;
use portico_sql::{Class, Statement, StatementForm};

/// Which walls stand around a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CheckPolicy {
    /// Something is hidden on this connection.
    pub(crate) hides: bool,
    /// Callers have roles of their own.
    pub(crate) identity: bool,
    /// The statement may not write.
    pub(crate) read_only: bool,
}

impl CheckPolicy {
    /// How many there are.
    pub(crate) const KINDS: usize = 8;

    pub(crate) fn stands(self) -> bool {
        self.hides || self.identity || self.read_only
    }
}

/// What is done with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementUse {
    /// The statement runs by itself.
    Alone,
    /// The statement runs after others in one transaction, none of which can have changed the meaning of names.
    AmongQueries,
    /// The statement runs after others in one transaction.
    Among,
    /// The statement runs once for each set of values.
    Repeated,
    /// The columns are described, and the statement does not run.
    Described,
}

/// A statement that has to be judged before it runs.
pub(crate) struct PendingCheck {
    pub(crate) guard: CheckPolicy,
    pub(crate) form: StatementForm,
    /// Its text as it will be sent, but for a trace behind it.
    pub(crate) text: String,
    /// The key for caching the verdict, if that is allowed.
    pub(crate) fingerprint: Option<(QueryFingerprint, u64)>,
    /// Whether our parser understood it, and its class.
    pub(crate) understood: bool,
    pub(crate) class: Class,
    /// Whether only hints are to be found: an administrator wrote it, and it is never refused.
    pub(crate) advisory: bool,
    /// Whether its rows are a plan that the service alone reads.
    pub(crate) estimates: bool,
    /// What is done with it.
    pub(crate) extent: StatementUse,
    /// What is exposed to its caller, if less than the connection exposes.
    pub(crate) within: Option<Arc<Exposure>>,
    /// Set if its plan may contain hidden names: conditions and columns are then removed.
    pub(crate) brief: OnceLock<()>,
}

impl PendingCheck {
    /// Makes the check of `statement`, which has the form `form`.
    pub(crate) fn new(
        statement: &Statement,
        form: StatementForm,
        guard: CheckPolicy,
        fingerprint: Option<(QueryFingerprint, u64)>,
    ) -> Self {
        Self {
            guard,
            form,
            text: statement.text.clone(),
            fingerprint,
            understood: statement.understood,
            class: statement.class,
            advisory: false,
            estimates: false,
            extent: StatementUse::Alone,
            within: None,
            brief: OnceLock::new(),
        }
    }

    /// A part of its text.
    pub(crate) fn part(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Returns true if no earlier statement of its transaction can change the meaning of its names.
    pub(crate) fn is_alone(&self) -> bool {
        self.fingerprint.is_some()
    }

    /// Returns true if something is hidden.
    pub(crate) fn hides(&self) -> bool {
        self.guard.hides
    }

    /// Returns true if the server resolves its names only when it runs.
    pub(crate) fn is_definition(&self) -> bool {
        self.form == StatementForm::Definition
    }

    /// Returns true if it creates or changes a named object.
    pub(crate) fn makes(&self) -> bool {
        matches!(
            self.form,
            StatementForm::Definition | StatementForm::CreateAs { .. } | StatementForm::SelectInto { .. }
        )
    }

    /// Returns true if only the nodes of its plan are shown.
    pub(crate) fn is_brief(&self) -> bool {
        self.brief.get().is_some()
    }

    /// Marks that the plan may contain hidden names. Fails for formats that are one value, which cannot be
    /// filtered.
    pub(crate) fn tell_briefly(&self) -> Result<()> {
        let Some(options) = self.explain_options() else { return Ok(()) };
        if !self.estimates && ["JSON", "XML", "YAML"].iter().any(|format| options.contains(format)) {
            let what = "EXPLAIN in this format, with SETTINGS or of what reads something through a view, a policy or a \
                function,";
            return Err(refused(what).hint("leave FORMAT out: the nodes of the plan are then shown as text"));
        }
        self.brief.get_or_init(|| ());
        Ok(())
    }

    /// Returns the text before the query of an EXPLAIN, in upper case.
    pub(crate) fn explain_options(&self) -> Option<String> {
        let StatementForm::Explain { query, .. } = &self.form else { return None };
        Some(self.part(0..query.start).to_ascii_uppercase())
    }
}
