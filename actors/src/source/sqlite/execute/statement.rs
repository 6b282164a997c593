//! Runs one statement on a session: compiled, checked, bound, streamed, and committed or undone.
//! Threads and switches are in `session` and `halt`, values in `rows`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::budget::Budget;
use crate::error::{Error, Kind, Result};
use crate::near;
use crate::reply::{Column, Part};
use crate::source::sqlite::catalog::facets;
use crate::source::sqlite::connect::open::{Opened, Role};
use crate::source::sqlite::decode::columns::{Described, describe};
use crate::source::sqlite::decode::rows::Filling;
use crate::source::sqlite::execute::check::asks;
use crate::source::sqlite::execute::step::Step;
use crate::source::sqlite::failure::{Circumstances, read_only, translate, unavailable_here};
use crate::source::sqlite::lexer::tokens;
use crate::source::sqlite::session::channel::Outlet;
use crate::source::sqlite::session::halt::Halt;
use crate::source::sqlite::walls::authorizer::{Reach, Warden};
use crate::source::sqlite::walls::mirror::{Mirror, Objection};
use crate::source::{Access, Repeated};

/// How the statements of an order are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// One statement, once: in a transaction only if it writes.
    Once,
    /// All in one transaction.
    Together,
    /// Not at all: only their columns are told.
    Never,
}

/// Statements with everything they need.
pub(crate) struct Order {
    pub(crate) steps: Vec<Step>,
    pub(crate) runs: Runs,
    pub(crate) access: Access,
    /// The reader stops after so many rows.
    pub(crate) rows: Option<u64>,
    /// The connection's name.
    pub(crate) catalog: Arc<str>,
    /// Whether everything is undone at the end.
    pub(crate) dry_run: bool,
    /// What its large rows share with others.
    pub(crate) budget: Budget,
}

impl Order {
    /// How many results it has.
    pub(crate) fn results(&self) -> usize {
        if self.runs == Runs::Never { self.steps.len() } else { self.steps.iter().map(|step| step.sets.len()).sum() }
    }
}

/// Drops nothing: the engine keeps such names for itself.
const DROP_NOTHING: &str = "DROP TABLE IF EXISTS main.sqlite_portico_nothing";

/// Runs `order`, sending its parts to `outlet`.
///
/// # Errors
/// What SQLite said, in our words; everything it changed is then undone.
pub(crate) fn run(opened: &mut Opened, halt: &Halt, outlet: &Outlet, order: &Order) -> Result<()> {
    let before = opened.mirrored();
    let result = carry_out(opened, halt, outlet, order);
    if (result.is_err() || order.dry_run) && opened.mirrored() != before {
        opened.forget_mirror();
    }
    result
}

fn carry_out(opened: &Opened, halt: &Halt, outlet: &Outlet, order: &Order) -> Result<()> {
    let (connection, warden) = (&opened.connection, &opened.warden);
    // What an earlier statement was refused without failing is not this one's reason.
    let _stale = warden.refusal();
    let mut run = Run { opened, halt, outlet, order, mirror: None, reach: Cell::default() };
    let mut open = match order.runs {
        Runs::Together => Some(Transaction::begin(connection, warden, halt, opened.role)?),
        Runs::Once | Runs::Never => None,
    };
    let last = order.steps.len().saturating_sub(1);
    for (number, step) in order.steps.iter().enumerate() {
        // Prepared only now: it may need what those before it made.
        run.mirror = opened.mirror().map_err(|error| halt.verdict().unwrap_or(error))?;
        let mut prepared = run.compile(step)?;
        if order.runs == Runs::Never {
            let columns = run.describe(step, &prepared, None)?.columns;
            outlet.send(Part::Columns(columns))?;
            outlet.send(Part::Done { affected: -1 })?;
            continue;
        }
        let reads = run.admit(step, &prepared)?;
        if !reads && open.is_none() {
            open = Some(Transaction::begin(connection, warden, halt, opened.role)?);
        }
        let last_set = step.sets.len().saturating_sub(1);
        for (set, values) in step.sets.iter().enumerate() {
            let named = |error| if step.repeats { Repeated::failure(set, error) } else { error };
            let end = run.step(step, &mut prepared, values, reads).map_err(named)?;
            if (number, set) == (last, last_set) {
                drop(prepared);
                if let Some(open) = open.take() {
                    if order.dry_run { open.try_out(halt)? } else { open.commit(halt)? }
                }
                return end.tell(outlet);
            }
            end.tell(outlet)?;
        }
    }
    Ok(())
}

/// One order on its session.
struct Run<'a> {
    opened: &'a Opened,
    halt: &'a Halt,
    outlet: &'a Outlet,
    order: &'a Order,
    /// Present where something is hidden.
    mirror: Option<Rc<Mirror>>,
    /// What the statement at work does to that.
    reach: Cell<Reach>,
}

/// What is told of a statement's end, once it is certain.
struct End {
    columns: Option<Arc<[Column]>>,
    affected: i64,
}

impl End {
    fn tell(self, outlet: &Outlet) -> Result<()> {
        if let Some(columns) = self.columns {
            outlet.send(Part::Columns(columns))?;
        }
        outlet.send(Part::Done { affected: self.affected })
    }
}

impl<'a> Run<'a> {
    /// Compiles a statement: where something is hidden, first against what is not.
    fn compile(&self, step: &Step) -> Result<rusqlite::Statement<'a>> {
        let opened = self.opened;
        let internal = |error: rusqlite::Error| self.explain(step, &error);
        opened.like_as_ever().map_err(internal)?;
        let _earlier = opened.warden.likes();
        let prepared = self.compile_once(step)?;
        if !opened.warden.likes() {
            return Ok(prepared);
        }
        let explains = prepared.is_explain() != 0;
        let values = step.sets.first().map_or([].as_slice(), Vec::as_slice);
        let changed = opened.warden.trusting(|| opened.like_by_index(&step.statement.text, values, explains));
        // The functions changed under the statement.
        if changed.map_err(internal)? { self.compile_once(step) } else { Ok(prepared) }
    }

    fn compile_once(&self, step: &Step) -> Result<rusqlite::Statement<'a>> {
        let (text, by_caller) = (&step.statement.text, !step.by_administrator);
        let compile = || self.opened.connection.prepare(text);
        let Some(mirror) = &self.mirror else { return compile().map_err(|error| self.explain(step, &error)) };
        self.reach.set(Reach::default());
        if by_caller {
            let idle = mirror.check(text).map_err(|objection| self.objected(mirror, step, objection))?;
            if idle && tokens(text).find(|token| !token.is_comment()).is_some_and(|first| first.is_word("DROP")) {
                // What it would drop if it were there is not, or is not for its caller.
                return self.opened.connection.prepare(DROP_NOTHING).map_err(|error| self.explain(step, &error));
            }
        }
        let (prepared, reach) = self.opened.warden.scoped(&mirror.hiding, by_caller, compile);
        self.reach.set(reach);
        let prepared = prepared.map_err(|error| {
            // Its own names were understood: what fails is in a view or a trigger.
            let unasked = reach.uses && error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown);
            mirror.hiding.withhold(self.explain(step, &error), unasked)
        })?;
        if reach.uses && by_caller && prepared.is_explain() != 0 {
            return Err(unavailable_here("EXPLAIN of a statement that uses what is not exposed"));
        }
        Ok(prepared)
    }

    fn objected(&self, mirror: &Mirror, step: &Step, objection: Objection) -> Error {
        let (refusal, error) = match objection {
            Objection::Refused(refusal) => (Some(refusal), rusqlite::Error::InvalidQuery),
            Objection::Engine(error) => (None, error),
        };
        let circumstances = Circumstances { statement: Some(&step.statement), refusal, halt: self.halt };
        suggest(&mirror.connection, &self.opened.warden, translate(&error, circumstances))
    }

    fn explain(&self, step: &Step, error: &rusqlite::Error) -> Error {
        let warden = &self.opened.warden;
        let circumstances =
            Circumstances { statement: Some(&step.statement), refusal: warden.refusal(), halt: self.halt };
        let error = translate(error, circumstances);
        let Some(mirror) = &self.mirror else { return suggest(&self.opened.connection, warden, error) };
        // A CHECK is told in its own words, which name no table.
        let unasked = self.reach.get().changes && error.get_sqlstate() == Some("23514");
        mirror.hiding.withhold(suggest(&mirror.connection, warden, error), unasked)
    }

    fn describe(
        &self,
        step: &Step,
        prepared: &rusqlite::Statement<'_>,
        first: Option<&rusqlite::Row<'_>>,
    ) -> Result<Described> {
        let hiding = self.mirror.as_ref().map(|mirror| &*mirror.hiding);
        let told = (prepared, step.statement.text.as_str());
        describe(&self.opened.connection, &self.opened.warden, told, first, &self.order.catalog, hiding)
    }

    /// Refuses what may not run here; whether the statement only reads.
    fn admit(&self, step: &Step, prepared: &rusqlite::Statement<'_>) -> Result<bool> {
        if step.sets.iter().any(|values| prepared.parameter_count() != values.len()) {
            return Err(Error::invalid("placeholders are written as @name, each with a value in `parameters`"));
        }
        let reads = prepared.readonly() || prepared.is_explain() != 0 || asks(&step.statement.text);
        if !reads && (self.order.access == Access::ReadOnly || self.opened.role == Role::Reader) {
            return Err(read_only());
        }
        Ok(reads)
    }

    /// Runs a statement to its end, which is left to be told.
    fn step(&self, step: &Step, prepared: &mut rusqlite::Statement<'_>, values: &[Value], reads: bool) -> Result<End> {
        let (connection, outlet) = (&self.opened.connection, self.outlet);
        let changed = connection.total_changes();
        for (at, value) in values.iter().enumerate() {
            prepared.raw_bind_parameter(at + 1, value).map_err(|error| self.explain(step, &error))?;
        }
        let mut filling: Option<Filling> = None;
        let mut rows = prepared.raw_query();
        let mut count = 0_u64;
        let failure = loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break None,
                Err(error) => break Some(self.explain(step, &error)),
            };
            let filling = if let Some(filling) = &mut filling {
                filling
            } else {
                let described = self.describe(step, row.as_ref(), Some(row))?;
                outlet.send(Part::Columns(described.columns))?;
                filling.insert(Filling::new(described.forms))
            };
            filling.push(row, |octets| outlet.borrow(&self.order.budget, octets))?;
            if let Some(batch) = filling.full() {
                outlet.send_rows(batch)?;
            }
            count += 1;
            // One row past the bound, by which the reader sees that there were more.
            if reads && self.order.rows.is_some_and(|most| count > most) {
                break None;
            }
        };
        drop(rows);
        if let Some(failure) = failure {
            // What was read is true; what was written is undone.
            if let Some(batch) = filling.as_mut().filter(|_| reads).and_then(Filling::rest) {
                outlet.send(Part::Rows(Box::new(batch)))?;
            }
            return Err(failure);
        }
        let affected = if !step.statement.counts {
            if reads { -1 } else { 0 }
        } else if connection.total_changes() == changed {
            // `changes` would still tell of an earlier statement.
            0
        } else {
            i64::try_from(connection.changes()).unwrap_or(i64::MAX)
        };
        if let Some(batch) = filling.as_mut().and_then(Filling::rest) {
            outlet.send_rows(batch)?;
        }
        let columns = match filling {
            Some(_) => None,
            None => Some(self.describe(step, prepared, None)?.columns),
        };
        Ok(End { columns, affected })
    }
}

/// Adds near names to a failure about a name.
fn suggest(connection: &Connection, warden: &Warden, failure: Error) -> Error {
    let subject = failure.message.rsplit_once(": ").map(|(_, name)| name.rsplit('.').next().unwrap_or(name).to_owned());
    let (Some(wrong), Some(sqlstate)) = (subject, failure.get_sqlstate()) else {
        return failure;
    };
    let names = match sqlstate {
        "42P01" => warden.trusting(|| facets::table_names(connection)),
        "42703" => warden.trusting(|| facets::column_names(connection)),
        _ => return failure,
    };
    match near::did_you_mean(&near::nearest(&wrong, names.iter().map(String::as_str))) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn is_forbidden_commit(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_COMMITHOOK)
}

/// A transaction that is undone unless it is committed.
struct Transaction<'a> {
    connection: &'a Connection,
    warden: &'a Warden,
}

impl<'a> Transaction<'a> {
    /// A writer takes the lock at once: what fails later cannot fail for want of it.
    fn begin(connection: &'a Connection, warden: &'a Warden, halt: &Halt, role: Role) -> Result<Self> {
        let begin = if role == Role::Writer { "BEGIN IMMEDIATE" } else { "BEGIN" };
        warden.trusting(|| connection.execute_batch(begin)).map_err(|error| {
            let failure = translate(&error, Circumstances { statement: None, refusal: None, halt });
            if failure.kind == Kind::Conflict {
                Error::new(Kind::Busy, "another process is writing to the database")
                    .retry_after(Duration::from_secs(1))
                    .because(error)
            } else {
                failure
            }
        })?;
        Ok(Self { connection, warden })
    }

    fn commit(self, halt: &Halt) -> Result<()> {
        halt.settle()?;
        let committed = self.warden.trusting(|| self.connection.execute_batch("COMMIT"));
        committed.map_err(|error| translate(&error, Circumstances { statement: None, refusal: None, halt }))
    }

    /// Undoes it, or fails as its commit would.
    fn try_out(self, halt: &Halt) -> Result<()> {
        halt.settle()?;
        let committed = self.warden.forbidding_commits(|| self.connection.execute_batch("COMMIT"));
        match committed {
            // Deferred constraints are checked before the engine asks whether it may commit.
            Err(error) if is_forbidden_commit(&error) => Ok(()),
            Err(error) => Err(translate(&error, Circumstances { statement: None, refusal: None, halt })),
            // Nothing was written.
            Ok(()) => Ok(()),
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // If even this fails, the session throws its connection away.
            let _undone = self.warden.trusting(|| self.connection.execute_batch("ROLLBACK"));
        }
    }
}
