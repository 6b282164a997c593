//! Runs one statement on a session: compiled, checked, bound, streamed, and committed or undone.
//! Threads and switches are in `session/`, values in `decode/rows`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::digest::quoted;
use crate::sqlite::catalog::metadata;
use crate::sqlite::connect::open::{OpenDatabase, SessionKind};
use crate::sqlite::decode::columns::{Described, describe};
use crate::sqlite::decode::rows::BatchBuilder;
use crate::sqlite::execute::step::Step;
use crate::sqlite::failure::{read_only, translate, unavailable_here};
use crate::sqlite::session::cancel_flag::CancelFlag;
use crate::sqlite::session::channel::Sender;
use crate::sqlite::walls::authorizer::{Authorizer, HiddenUse, is_reserved, reserved};
use crate::sqlite::walls::visible_schema::{CheckFailure, VisibleSchema};
use crate::{Access, Exposure, Repeated};
use portico_core::budget::Budget;
use portico_core::effects::Effects;
use portico_core::error::{Error, Kind, Result};
use portico_core::near;
use portico_core::reply::{Column, Part};

/// How the statements of an order are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// One statement, once: in a transaction only if it writes.
    Once,
    /// All in one transaction.
    Together,
    /// Never: only their columns are described.
    Never,
}

/// Statements with everything they need.
pub(crate) struct Execution {
    pub(crate) steps: Vec<Step>,
    pub(crate) runs: RunMode,
    pub(crate) access: Access,
    /// The reader stops after so many rows.
    pub(crate) rows: Option<u64>,
    /// The connection's name.
    pub(crate) catalog: Arc<str>,
    /// Whether everything is undone at the end.
    pub(crate) dry_run: bool,
    /// The memory budget of its large rows, shared with others.
    pub(crate) budget: Budget,
    /// What is exposed to its caller, if less than the connection exposes.
    pub(crate) exposure: Option<Exposure>,
    /// Notes what of it may stand.
    pub(crate) effects: Effects,
}

impl Execution {
    /// How many results it has.
    pub(crate) fn results(&self) -> usize {
        if self.runs == RunMode::Never { self.steps.len() } else { self.steps.iter().map(|step| step.sets.len()).sum() }
    }
}

/// A statement without effect: the engine reserves such names.
const DROP_NOTHING: &str = "DROP TABLE IF EXISTS main.sqlite_portico_nothing";

/// Runs `execution`, sending its parts to `sender`.
///
/// # Errors
/// SQLite's error, in our words; all changes are then rolled back.
pub(crate) fn run(
    opened: &mut OpenDatabase,
    cancel: &CancelFlag,
    sender: &Sender,
    execution: &Execution,
) -> Result<()> {
    let before = opened.mirrored();
    let result = carry_out(opened, cancel, sender, execution);
    if (result.is_err() || execution.dry_run) && opened.mirrored() != before {
        opened.forget_mirror();
    }
    result
}

fn carry_out(opened: &OpenDatabase, cancel: &CancelFlag, sender: &Sender, execution: &Execution) -> Result<()> {
    let (connection, authorizer) = (&opened.connection, &opened.authorizer);
    // A refusal that did not fail an earlier statement is not the reason of this one.
    let _stale = authorizer.refusal();
    let mut run = Run { opened, cancel, sender, execution, visible_schema: None, reach: Cell::default() };
    let mut open = match execution.runs {
        RunMode::Together => Some(Transaction::begin(connection, authorizer, cancel, opened.role)?),
        RunMode::Once | RunMode::Never => None,
    };
    let last = execution.steps.len().saturating_sub(1);
    for (number, step) in execution.steps.iter().enumerate() {
        // Prepared only now: it may need what earlier statements created.
        run.visible_schema =
            opened.visible_schema(execution.exposure.as_ref()).map_err(|error| cancel.verdict().unwrap_or(error))?;
        let mut prepared = run.compile(step)?;
        if execution.runs == RunMode::Never {
            let columns = run.describe(step, &prepared, None)?.columns;
            sender.send(Part::Columns(columns))?;
            sender.send(Part::Done { affected: -1 })?;
            continue;
        }
        let reads = run.admit(step, &prepared)?;
        if !reads && open.is_none() {
            open = Some(Transaction::begin(connection, authorizer, cancel, opened.role)?);
        }
        let last_set = step.sets.len().saturating_sub(1);
        for (set, values) in step.sets.iter().enumerate() {
            let named = |error| if step.repeats { Repeated::failure(set, error) } else { error };
            let end = run.step(step, &mut prepared, values, reads).map_err(named)?;
            if (number, set) == (last, last_set) {
                drop(prepared);
                if let Some(open) = open.take() {
                    if execution.dry_run { open.try_out(cancel)? } else { open.commit(cancel, &execution.effects)? }
                }
                return end.send(sender);
            }
            end.send(sender)?;
        }
    }
    Ok(())
}

/// One order on its session.
struct Run<'a> {
    opened: &'a OpenDatabase,
    cancel: &'a CancelFlag,
    sender: &'a Sender,
    execution: &'a Execution,
    /// Present where something is hidden.
    visible_schema: Option<Rc<VisibleSchema>>,
    /// How the running statement uses hidden objects.
    reach: Cell<HiddenUse>,
}

/// The end of a statement, reported once it is certain.
struct End {
    columns: Option<Arc<[Column]>>,
    affected: i64,
}

impl End {
    fn send(self, sender: &Sender) -> Result<()> {
        if let Some(columns) = self.columns {
            sender.send(Part::Columns(columns))?;
        }
        sender.send(Part::Done { affected: self.affected })
    }
}

impl<'a> Run<'a> {
    /// Compiles a statement: if something is hidden, first against the visible schema.
    fn compile(&self, step: &Step) -> Result<rusqlite::Statement<'a>> {
        let opened = self.opened;
        let internal = |error: rusqlite::Error| self.explain(step, &error);
        opened.like_as_ever().map_err(internal)?;
        let _earlier = opened.authorizer.likes();
        let prepared = self.compile_once(step)?;
        if !opened.authorizer.likes() {
            return Ok(prepared);
        }
        let explains = prepared.is_explain() != 0;
        let values = step.sets.first().map_or([].as_slice(), Vec::as_slice);
        let changed = opened.authorizer.trusting(|| opened.like_by_index(&step.statement.text, values, explains));
        // The functions changed under the statement.
        if changed.map_err(internal)? { self.compile_once(step) } else { Ok(prepared) }
    }

    fn compile_once(&self, step: &Step) -> Result<rusqlite::Statement<'a>> {
        let (text, by_caller) = (&step.statement.text, !step.by_administrator);
        let compile = || self.opened.connection.prepare(text);
        let Some(visible_schema) = &self.visible_schema else {
            return compile().map_err(|error| self.explain(step, &error));
        };
        self.reach.set(HiddenUse::default());
        if by_caller {
            let idle =
                visible_schema.check(text).map_err(|objection| self.objected(visible_schema, step, objection))?;
            if idle && step.statement.verb == "DROP" {
                // The object that it would drop does not exist, or is hidden from its caller.
                return self.opened.connection.prepare(DROP_NOTHING).map_err(|error| self.explain(step, &error));
            }
        }
        let (prepared, reach) = self.opened.authorizer.scoped(&visible_schema.hiding, by_caller, compile);
        self.reach.set(reach);
        let prepared = prepared.map_err(|error| {
            // Its own names were resolved: the failure is in a view or a trigger.
            let unasked = reach.uses && error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown);
            visible_schema.hiding.withhold(self.explain(step, &error), reach.uses, unasked)
        })?;
        if reach.uses && by_caller && prepared.is_explain() != 0 {
            return Err(unavailable_here("EXPLAIN of a statement that uses what is not exposed"));
        }
        Ok(prepared)
    }

    fn objected(&self, visible_schema: &VisibleSchema, step: &Step, objection: CheckFailure) -> Error {
        let error = match objection {
            CheckFailure::Refused(refusal) => refusal,
            CheckFailure::Engine(error) => translate(&error, Some(&step.statement), self.cancel),
        };
        suggest(&visible_schema.connection, &self.opened.authorizer, error)
    }

    fn explain(&self, step: &Step, error: &rusqlite::Error) -> Error {
        let authorizer = &self.opened.authorizer;
        let refusal = authorizer.refusal();
        let error = refusal.unwrap_or_else(|| translate(error, Some(&step.statement), self.cancel));
        let Some(visible_schema) = &self.visible_schema else {
            return suggest(&self.opened.connection, authorizer, error);
        };
        // A CHECK is reported by its own text, which names no table.
        let unasked = self.reach.get().changes && error.get_sqlstate() == Some("23514");
        let uses = self.reach.get().uses;
        visible_schema.hiding.withhold(suggest(&visible_schema.connection, authorizer, error), uses, unasked)
    }

    fn describe(
        &self,
        step: &Step,
        prepared: &rusqlite::Statement<'_>,
        first: Option<&rusqlite::Row<'_>>,
    ) -> Result<Described> {
        let hiding = self.visible_schema.as_ref().map(|visible_schema| &*visible_schema.hiding);
        let told = (prepared, step.statement.text.as_str());
        describe(&self.opened.connection, &self.opened.authorizer, told, first, &self.execution.catalog, hiding)
    }

    /// Refuses what may not run here. Returns true if the statement only reads.
    fn admit(&self, step: &Step, prepared: &rusqlite::Statement<'_>) -> Result<bool> {
        if step.sets.iter().any(|values| prepared.parameter_count() != values.len()) {
            return Err(Error::invalid("placeholders are written as @name, each with a value in `parameters`"));
        }
        // The engine reports some PRAGMAs as writing, however they are called; the authorizer refuses every one
        // that sets anything.
        let reads = prepared.readonly() || prepared.is_explain() != 0 || step.statement.verb == "PRAGMA";
        if !reads && (self.execution.access == Access::ReadOnly || self.opened.role == SessionKind::Reader) {
            return Err(read_only());
        }
        Ok(reads)
    }

    /// Refuses a table that was given a name of the engine's own.
    fn admit_names(&self) -> Result<()> {
        let connection = &self.opened.connection;
        let names = self.opened.authorizer.trusting(|| {
            let mut named =
                connection.prepare("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")?;
            named.query_map((), |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let names = names.map_err(|error| translate(&error, None, self.cancel))?;
        if names.iter().any(|name| is_reserved(name)) { Err(reserved()) } else { Ok(()) }
    }

    /// Runs a statement to its end. Returns the end, to be reported later.
    fn step(&self, step: &Step, prepared: &mut rusqlite::Statement<'_>, values: &[Value], reads: bool) -> Result<End> {
        let (connection, sender) = (&self.opened.connection, self.sender);
        let changed = connection.total_changes();
        for (at, value) in values.iter().enumerate() {
            prepared.raw_bind_parameter(at + 1, value).map_err(|error| self.explain(step, &error))?;
        }
        let mut builder: Option<BatchBuilder> = None;
        let mut rows = prepared.raw_query();
        let mut count = 0_u64;
        let failure = loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break None,
                Err(error) => break Some(self.explain(step, &error)),
            };
            let builder = if let Some(builder) = &mut builder {
                builder
            } else {
                let described = self.describe(step, row.as_ref(), Some(row))?;
                sender.send(Part::Columns(described.columns))?;
                builder.insert(BatchBuilder::new(described.forms))
            };
            builder.push(row, |octets| sender.borrow(&self.execution.budget, octets))?;
            if let Some(batch) = builder.full() {
                sender.send_rows(batch)?;
            }
            count += 1;
            // One row beyond the limit shows the reader that there were more.
            if reads && self.execution.rows.is_some_and(|most| count > most) {
                break None;
            }
        };
        drop(rows);
        if let Some(failure) = failure {
            // Rows that were read are valid; writes are rolled back.
            if let Some(batch) = builder.as_mut().filter(|_| reads).and_then(BatchBuilder::rest) {
                sender.send(Part::Rows(Box::new(batch)))?;
            }
            return Err(failure);
        }
        if self.opened.authorizer.alters() && !reads {
            self.admit_names()?;
        }
        let affected = if !step.statement.counts {
            step.statement.class.uncounted(prepared.column_count() > 0)
        } else if connection.total_changes() == changed {
            // `changes` would still return the count of an earlier statement.
            0
        } else {
            i64::try_from(connection.changes()).unwrap_or(i64::MAX)
        };
        if let Some(batch) = builder.as_mut().and_then(BatchBuilder::rest) {
            sender.send_rows(batch)?;
        }
        let columns = match builder {
            Some(_) => None,
            None => Some(self.describe(step, prepared, None)?.columns),
        };
        Ok(End { columns, affected })
    }
}

/// Adds near names to a failure about a name.
fn suggest(connection: &Connection, authorizer: &Authorizer, failure: Error) -> Error {
    let subject = failure.message.rsplit_once(": ").map(|(_, name)| name.rsplit('.').next().unwrap_or(name).to_owned());
    let (Some(wrong), Some(sqlstate)) = (subject, failure.get_sqlstate()) else {
        return failure;
    };
    let names = match sqlstate {
        "42P01" => authorizer.trusting(|| metadata::table_names(connection)),
        "42703" => authorizer.trusting(|| metadata::column_names(connection)),
        _ => return failure,
    };
    // Another schema was named.
    let same = names.iter().find(|name| name.eq_ignore_ascii_case(&wrong));
    let near = same.map_or_else(|| near::nearest(&wrong, names.iter().map(String::as_str)), |same| vec![same.as_str()]);
    let near: Vec<_> = near.into_iter().map(quoted).collect();
    failure.with(near::did_you_mean(&near), Error::hint)
}

fn is_forbidden_commit(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_COMMITHOOK)
}

/// A transaction that is undone unless it is committed.
struct Transaction<'a> {
    connection: &'a Connection,
    authorizer: &'a Authorizer,
}

impl<'a> Transaction<'a> {
    /// A writing transaction takes the lock at once: later statements then cannot fail to get it.
    fn begin(
        connection: &'a Connection,
        authorizer: &'a Authorizer,
        cancel: &CancelFlag,
        role: SessionKind,
    ) -> Result<Self> {
        let begin = if role == SessionKind::Writer { "BEGIN IMMEDIATE" } else { "BEGIN" };
        authorizer.trusting(|| connection.execute_batch(begin)).map_err(|error| {
            let failure = translate(&error, None, cancel);
            if failure.kind == Kind::Conflict {
                Error::new(Kind::Busy, "another process is writing to the database")
                    .retry_after(Duration::from_secs(1))
                    .because(error)
            } else {
                failure
            }
        })?;
        Ok(Self { connection, authorizer })
    }

    fn commit(self, cancel: &CancelFlag, effects: &Effects) -> Result<()> {
        // In this order: a call that is told that nothing was committed is over before it can be.
        effects.commits();
        cancel.settle().inspect_err(|_| effects.undone())?;
        let committed = self.authorizer.trusting(|| self.connection.execute_batch("COMMIT"));
        committed.map_err(|error| {
            let failure = translate(&error, None, cancel);
            // What a file holds that could not be written shows when it is opened again.
            if !matches!(failure.kind, Kind::Unavailable | Kind::Internal) {
                effects.undone();
            }
            failure
        })
    }

    /// Undoes it, or fails as its commit would.
    fn try_out(self, cancel: &CancelFlag) -> Result<()> {
        cancel.settle()?;
        let committed = self.authorizer.forbidding_commits(|| self.connection.execute_batch("COMMIT"));
        match committed {
            // Deferred constraints are checked before the engine asks whether it may commit.
            Err(error) if is_forbidden_commit(&error) => Ok(()),
            Err(error) => Err(translate(&error, None, cancel)),
            // Nothing was written.
            Ok(()) => Ok(()),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // If even this fails, the session throws its connection away.
            let _undone = self.authorizer.trusting(|| self.connection.execute_batch("ROLLBACK"));
        }
    }
}
