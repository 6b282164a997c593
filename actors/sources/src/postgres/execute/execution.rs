//! One statement for the server, and its failures in the caller's terms.

use tokio_postgres::error::DbError;

use crate::Access;
use crate::postgres::advice::{advise, advise_value};
use crate::postgres::bind::argument_types::kind;
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::execute::envelope::identity;
use crate::postgres::execute::envelope::options::{ExecOptions, TransactionMode, TransactionPosition};
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::failure;
use crate::postgres::quote::quoted;
use crate::postgres::walls::admitted_statements::ExecutionHints;
use crate::postgres::walls::names::hiding;
use crate::postgres::walls::policy::PendingCheck;
use crate::statements::bindings;
use portico_core::call::{Argument, MetadataKind};
use portico_core::error::{Error, Kind};
use portico_core::identity::AssumedIdentity;
use portico_core::trace::TraceParent;
use portico_sql::{Class, Statement};

/// How the statement begins that reads a cursor to its end.
pub(crate) const FETCH_ALL: &str = "FETCH ALL ";

/// One statement for the source.
pub(crate) struct Execution {
    pub(crate) text: String,
    pub(crate) class: Class,
    /// Whether it may return rows.
    pub(crate) returns_rows: bool,
    pub(crate) options: ExecOptions,
    pub(crate) values: Values,
    /// In front of the search path, for this statement alone.
    pub(crate) default_schema: Option<String>,
    /// The caller's statement, for positions in it.
    pub(crate) origin: Option<Statement>,
    /// Its position in its transaction.
    pub(crate) position: TransactionPosition,
    /// Whether the values of type refcursor that it answers with are results of their own.
    pub(crate) opens_cursors: bool,
    /// Whether it calls a routine whose overload the server chooses.
    pub(crate) is_overloaded: bool,
    /// The identity that it runs as, if callers have identities at the source.
    pub(crate) identity: AssumedIdentity,
    /// What must be checked before it runs.
    pub(crate) guarded: Option<PendingCheck>,
    /// What it can run without.
    pub(crate) admission: ExecutionHints,
}

/// The values bound to a statement's parameters.
pub(crate) enum Values {
    /// A metadata query of our own; its parameters are texts.
    Metadata(MetadataKind, Vec<Option<String>>),
    /// A caller's values, for types that the source infers.
    Inferred(Vec<Argument>),
}

impl Execution {
    /// Returns the kind of its transaction.
    pub(crate) fn mode(&self) -> TransactionMode {
        match self.options.mode() {
            TransactionMode::ReadWrite if self.class == Class::Call && self.position == TransactionPosition::ALONE => {
                TransactionMode::Unattended
            }
            mode => mode,
        }
    }

    /// Returns true if it can be sent without preparing it: it has no values to bind, and either nothing to decode
    /// or no effect that could not be repeated.
    pub(crate) fn goes_direct(&self) -> bool {
        match (&self.values, self.options.access) {
            _ if self.position != TransactionPosition::ALONE => false,
            (Values::Metadata(..), _) => true,
            (Values::Inferred(values), Access::ReadOnly) => values.is_empty(),
            (Values::Inferred(values), Access::ReadWrite) => {
                let no_rows = !self.returns_rows && matches!(self.class, Class::Insert | Class::Update | Class::Ddl);
                values.is_empty() && no_rows
            }
        }
    }

    /// Returns true if it has no side effect on its session, and needs no transaction.
    pub(crate) fn may_autocommit(&self) -> bool {
        self.admission.autocommit
            && self.position == TransactionPosition::ALONE
            && self.options.access == Access::ReadOnly
            && self.identity.is_none()
            && self.default_schema.is_none()
            && !self.opens_cursors
    }

    /// Returns a fingerprint in which every character of the text counts, and the kinds of the values.
    pub(crate) fn exact(&self) -> QueryFingerprint {
        let schema = self.default_schema.as_deref().unwrap_or_default();
        let role = self.identity.as_ref().map_or("", |identity| identity.role.as_str());
        let means = match (self.means_literals(), self.is_overloaded) {
            (true, true) => "literals of a call",
            (true, false) => "literals",
            (false, _) => "",
        };
        QueryFingerprint::exact(&[self.text.as_str(), schema, role, means], self.arguments().iter().flat_map(kind))
    }

    /// Returns the key by which the tables of its columns are predicted, if the caller is told of them.
    pub(crate) fn fingerprint(&self) -> Option<QueryFingerprint> {
        let is_told = self.options.describes && self.returns_rows && matches!(self.values, Values::Inferred(_));
        let role = self.identity.as_ref().map_or("", |identity| identity.role.as_str());
        let text = TraceParent::uncommented(&self.text).unwrap_or(&self.text);
        is_told.then(|| QueryFingerprint::new(text, &[self.default_schema.as_deref().unwrap_or_default(), role]))
    }

    /// Returns true if its tables must be looked up in its own transaction: behind a pooler a session of our own is
    /// another connection, and earlier statements may have changed the tables.
    pub(crate) fn asks_within(&self) -> bool {
        self.position.pooled || (!self.position.begins && self.options.access == Access::ReadWrite)
    }

    /// The rows of a cursor that the transaction has open.
    pub(crate) fn fetching(cursor: &str, options: ExecOptions) -> Self {
        let text = format!("{FETCH_ALL}FROM {}", quoted(cursor));
        let values = Values::Inferred(Vec::new());
        Self { position: TransactionPosition::WITHIN, ..Self::of_ours(text, Class::Session, options, values) }
    }

    /// Makes a statement of our own, with a transaction of its own.
    pub(crate) fn of_ours(text: String, class: Class, options: ExecOptions, values: Values) -> Self {
        Self {
            text,
            class,
            returns_rows: true,
            options,
            values,
            default_schema: None,
            origin: None,
            position: TransactionPosition::ALONE,
            opens_cursors: false,
            is_overloaded: false,
            identity: None,
            guarded: None,
            admission: ExecutionHints::default(),
        }
    }

    /// Returns the statement, which was judged already, with other values.
    pub(crate) fn again(&self, values: Vec<Argument>, begins: bool) -> Self {
        Self {
            text: self.text.clone(),
            values: Values::Inferred(values),
            default_schema: self.default_schema.clone(),
            origin: self.origin.clone(),
            position: TransactionPosition { begins, ..self.position },
            identity: self.identity.clone(),
            guarded: None,
            ..*self
        }
    }

    /// Returns true if no earlier statement of its transaction can change the meaning of its names.
    pub(crate) fn is_judged_beforehand(&self) -> bool {
        self.guarded.as_ref().is_none_or(PendingCheck::is_alone)
    }

    /// Returns the number of changed rows to report for the source's `count`: −1 for a statement that returns rows
    /// of its own, which the source counts too.
    pub(crate) fn affected(&self, count: u64, has_rows: bool) -> i64 {
        if self.origin.as_ref().is_some_and(|statement| statement.counts) {
            i64::try_from(count).unwrap_or(i64::MAX)
        } else {
            self.class.uncounted(has_rows)
        }
    }

    /// The caller's values.
    pub(crate) fn arguments(&self) -> &[Argument] {
        match &self.values {
            Values::Metadata(..) => &[],
            Values::Inferred(values) => values,
        }
    }

    /// Returns true if a value means what the same literal would: in a caller's own statement, and if values choose
    /// the overload.
    pub(crate) fn means_literals(&self) -> bool {
        self.origin.is_some() || self.is_overloaded
    }

    /// Returns the argument bound to the parameter of this number, from 1.
    fn argument(&self, number: usize, sent: &SentText) -> Option<&Argument> {
        let index = number.checked_sub(1)?;
        match sent.split() {
            Some(split) => split.arguments(self.arguments()).get(index).copied(),
            None => self.arguments().get(index),
        }
    }

    /// Rewrites an error about a parameter in a position that takes no value, with the caller's name of the
    /// parameter.
    fn misplaced(&self, mut failure: Error, error: &tokio_postgres::Error, sent: &SentText) -> Error {
        let Some(number) = failure::misplaced_parameter(error, sent.split().map_or(&self.text, |split| split.text()))
        else {
            return failure;
        };
        let name = self.argument(number, sent).map(|argument| bindings::name_without_at(&argument.name));
        let Some(name) = name.filter(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        else {
            return failure;
        };
        failure.message = failure.message.replacen(&format!("${number}"), &format!("@{name}"), 1);
        failure.hint(format!(
            "@{name} stands for one value, where an expression may stand: names, keywords and definitions are written \
             out, and one of a list is = ANY(@{name}) with an array"
        ))
    }

    /// Returns the source's error in the caller's terms.
    pub(crate) fn failure(&self, error: &tokio_postgres::Error, sent: &SentText) -> Error {
        if let Some(identity) = self.identity.as_ref().filter(|identity| identity.is_refused()) {
            return identity::refused(identity, error);
        }
        let mut failure = failure::statement(error, self.origin.as_ref(), sent);
        // Behind a pooler it cannot be run in earnest either, and the hint says so.
        let alone = self.options.dry_run && !self.position.pooled;
        if alone && failure.get_sqlstate() == Some(failure::ENDS_TRANSACTION) {
            failure.message = format!("dryRun: {}; what ends its own transaction cannot be undone", failure.message);
            return failure.hint("nothing was changed; leave dryRun out to run it");
        }
        let refused = failure::refused_parameter(error).and_then(|number| self.argument(number, sent));
        if let Some(argument) = refused.filter(|_| failure.kind == Kind::Rejected) {
            failure.kind = Kind::Invalid;
            failure.message = format!("parameter @{}: {}", bindings::name_without_at(&argument.name), failure.message);
        }
        let site = failure.get_site().cloned().unwrap_or_default();
        if !site.raised && !site.within {
            failure = self.misplaced(failure, error, sent);
        }
        if !site.within && self.guarded.as_ref().is_some_and(PendingCheck::hides) {
            failure = hiding::uttered(failure);
        }
        let routine = error.as_db_error().and_then(DbError::routine);
        match &self.origin {
            _ if site.raised => failure,
            Some(statement) => advise(failure, statement, routine),
            None if failure.kind == Kind::Invalid => advise_value(failure, routine),
            None => failure,
        }
    }
}
