//! A source of which callers see a part: what its lists hide is in no listing, no profile and no
//! hint, and a statement or call that names it is told that there is no such thing. Which names
//! are hidden is in `exposure`.
//!
//! Names in a statement are all that is looked at, and so a statement that could do more than its
//! names show is refused. What a function, a view or a procedure of the source reads on its own is
//! not looked at: there the grants of the database itself are the wall.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, ready};
use futures_util::{FutureExt, StreamExt};

use super::exposure::Exposure;
use super::{Access, Finding, Invocation, Plan, Pool, Procedure, Profile, Source, Task};
use crate::call::{Facet, Limits, Narrow};
use crate::error::{Error, Kind, Result};
use crate::near;
use crate::reply::{Batch, Cell, Part, Results};
use crate::sql::{Class, Dialect, Named, Statement, opaque, reads_unnamed};

/// Shows of `source` what `exposure` lets pass.
pub fn narrow(source: Arc<dyn Source>, exposure: Exposure, dialect: Dialect) -> Arc<dyn Source> {
    if exposure.is_everything() {
        return source;
    }
    Arc::new(Exposed(Arc::new(Shared { source, exposure: Arc::new(exposure), dialect, profile: Mutex::default() })))
}

struct Exposed(Arc<Shared>);

struct Shared {
    source: Arc<dyn Source>,
    exposure: Arc<Exposure>,
    dialect: Dialect,
    /// The source's own, whole.
    profile: Mutex<Arc<Profile>>,
}

impl Source for Exposed {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.ping().await })
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.run(plan).await })
    }

    fn reach(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        self.0.source.reach()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.0.source.close()
    }

    fn pool(&self) -> Option<Pool> {
        self.0.source.pool()
    }
}

impl Shared {
    async fn ping(&self) -> Result<Profile> {
        let whole = self.source.ping().await?;
        let shown = whole.procedures.iter().filter(|procedure| self.shows(procedure)).cloned().collect();
        let tables = whole.tables.iter().filter(|table| self.exposure.shows_table(&table.schema, &table.name));
        let narrowed = Profile { procedures: shown, tables: tables.cloned().collect(), ..whole.clone() };
        *self.profile.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(whole);
        Ok(narrowed)
    }

    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn shows(&self, procedure: &Procedure) -> bool {
        self.exposure.shows_procedure(&procedure.schema, &procedure.name)
    }

    async fn run(&self, mut plan: Plan) -> Result<Results> {
        // What the source says may name what is hidden.
        plan.notices = None;
        match &mut plan.task {
            Task::Describe(facet, _) => {
                let facet = *facet;
                Ok(self.narrowed(facet, self.source.run(plan).await?))
            }
            Task::Statement(_) | Task::Statements(_) | Task::Columns(_) | Task::Batch(_) => {
                self.check_all(&plan).await?;
                let results = self.source.run(plan).await;
                if self.dialect == Dialect::Sqlite {
                    // Its driver names nothing hidden.
                    return results;
                }
                // Of a script also those of its later statements.
                Ok(results.map_err(without_names)?.mend(|error| ready(without_names(error)).boxed()))
            }
            Task::Procedure(invocation) => {
                self.settle(invocation).await?;
                let refused = self.no_procedure(invocation);
                let answer = self.source.run(plan).await;
                answer.map_err(|error| if error.kind == Kind::NotFound { refused } else { error })
            }
        }
    }

    /// The rows of a listing that callers may see.
    fn narrowed(&self, facet: Facet, results: Results) -> Results {
        let (exposure, dialect) = (Arc::clone(&self.exposure), self.dialect);
        let parts = results.map(move |part| match part? {
            Part::Rows(batch) => {
                let mut kept = Vec::with_capacity(batch.rows());
                for row in 0..batch.rows() {
                    if is_shown(&exposure, dialect, facet, batch.as_ref(), row)? {
                        kept.push(row);
                    }
                }
                Ok(Part::Rows(Box::new(Kept { batch, rows: kept })))
            }
            part => Ok(part),
        });
        // A batch without rows is none.
        let parts =
            parts.filter(|part| std::future::ready(!matches!(part, Ok(Part::Rows(batch)) if batch.rows() == 0)));
        Results::new(false, parts)
    }

    /// Refuses a plan whose statements name what is hidden.
    async fn check_all(&self, plan: &Plan) -> Result<()> {
        if self.dialect == Dialect::PostgreSql {
            // The driver judges by what the server understood.
            return Ok(());
        }
        let prepared = match &plan.task {
            Task::Statement(prepared) => std::slice::from_ref(prepared),
            Task::Statements(all) | Task::Columns(all) => all.as_slice(),
            Task::Batch(batch) => return self.check(&batch.statement, batch.default_schema.as_ref(), plan).await,
            Task::Describe(..) | Task::Procedure(_) => &[],
        };
        // What an administrator wrote may read what callers do not see.
        for prepared in prepared.iter().filter(|prepared| !prepared.by_administrator) {
            self.check(&prepared.statement, prepared.default_schema.as_ref(), plan).await?;
        }
        Ok(())
    }

    /// Refuses a statement that names what is hidden.
    async fn check(&self, statement: &Statement, default_schema: Option<&String>, plan: &Plan) -> Result<()> {
        if let Some(schema) = default_schema
            && !self.exposure.shows_schema(schema)
        {
            return Err(Error::not_found(format!("defaultSchema: there is no schema {schema}")).sqlstate("3F000"));
        }
        // The engine itself tells its driver what a statement uses.
        if self.dialect == Dialect::Sqlite {
            return Ok(());
        }
        if let Some(what) = opaque(statement, self.dialect).or_else(|| reads_unnamed(statement, self.dialect)) {
            return Err(Error::forbidden(format!("{what} is not available on this connection"))
                .sqlstate("42501")
                .hint("write the statement itself, with the names of its tables"));
        }
        let profile = self.profile();
        let hidden = LazyCell::new(|| self.hidden_routines(&profile));
        for name in &statement.names {
            if name.parts.iter().any(|part| part.starts_with("u&\"") || part.starts_with("U&\"")) {
                return Err(Error::invalid("query: write names without U& escapes on this connection"));
            }
            if (name.called && hides_routine(&hidden, name)) || self.is_catalogue(name) {
                return Err(self.no_such(name, statement.class));
            }
        }
        let tables: Vec<&Named> = statement.names.iter().filter(|name| !name.called).collect();
        if tables.is_empty() {
            return Ok(());
        }
        let first = default_schema.or(profile.default_schema.as_ref());
        let wanted: HashSet<String> =
            tables.iter().flat_map(|name| name.parts.iter()).map(|part| part.to_lowercase()).collect();
        let known = by_name(self.tables(&wanted, plan).await?);
        for name in tables {
            if self.hides_table(name, &known, first.map(String::as_str)) {
                return Err(self.no_such(name, statement.class));
            }
        }
        Ok(())
    }

    /// Schema and name of the source's own tables of these names.
    async fn tables(&self, wanted: &HashSet<String>, asking: &Plan) -> Result<Vec<(String, String)>> {
        let plan = Plan {
            task: Task::Describe(Facet::Tables, Narrow::default()),
            access: Access::ReadOnly,
            limits: Limits { rows: None, ..asking.limits },
            abandoned: asking.abandoned.clone(),
            dry_run: false,
            notices: None,
            identity: asking.identity.clone(),
            trace: None,
        };
        let mut results = self.source.run(plan).await?;
        let mut found = Vec::new();
        while let Some(part) = results.next().await {
            let Part::Rows(batch) = part? else { continue };
            for row in 0..batch.rows() {
                let (schema, table) = (text(batch.as_ref(), row, 1)?, text(batch.as_ref(), row, 2)?);
                if wanted.contains(&table.to_lowercase()) {
                    found.push((schema, table));
                }
            }
        }
        Ok(found)
    }

    fn hides_table(&self, name: &Named, known: &Known, first: Option<&str>) -> bool {
        let (schema, table) = match name.parts.as_slice() {
            [table] => (None, table),
            [schema, table, ..] => (Some(schema), table),
            [] => return false,
        };
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let Some(found) = known.get(&table.to_lowercase()) else { return false };
        let hidden = |(schema, table): &(String, String)| !self.exposure.shows_table(schema, table);
        if let Some(schema) = schema {
            return found.iter().any(|found| same(&found.0, schema) && hidden(found));
        }
        // The first schema on the path decides; what is in others may be on the path too.
        match found.iter().find(|(schema, _)| first.is_some_and(|first| same(schema, first))) {
            Some(found) => hidden(found),
            None => found.iter().any(hidden),
        }
    }

    /// The routines that callers do not see.
    fn hidden_routines(&self, profile: &Profile) -> Known {
        let hidden = profile.procedures.iter().filter(|known| !self.shows(known));
        by_name(hidden.map(|known| (known.schema.clone(), known.name.clone())))
    }

    /// The engine's own catalogue knows everything, and so tells what is hidden.
    fn is_catalogue(&self, name: &Named) -> bool {
        let starts =
            |part: &str, prefix: &str| part.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
        match self.dialect {
            Dialect::PostgreSql => match name.parts.as_slice() {
                [relation] => !name.called && starts(relation, "pg_"),
                [schema, ..] => !name.called && is_engine_schema(schema),
                [] => false,
            },
            Dialect::Sqlite => name.parts.iter().any(|part| starts(part, "sqlite_") && !name.called),
        }
    }

    /// What the source itself says of a name that it does not know.
    fn no_such(&self, name: &Named, class: Class) -> Error {
        let shown = name.parts.join(".");
        let error = match (name.called, self.dialect) {
            // Of the kind of what is not there at all.
            (true, _) => Error::new(Kind::Rejected, format!("function {shown} does not exist")).sqlstate("42883"),
            (false, Dialect::PostgreSql) => {
                Error::not_found(format!("relation \"{shown}\" does not exist")).sqlstate("42P01")
            }
            (false, Dialect::Sqlite) => Error::not_found(format!("no such table: {shown}")).sqlstate("42P01"),
        };
        // PostgreSQL tells the place in what it plans.
        let planned = matches!(class, Class::Select | Class::Insert | Class::Update);
        if self.dialect == Dialect::PostgreSql && planned { error.position(name.position) } else { error }
    }

    /// Makes the call name a procedure that callers may see, with its schema.
    async fn settle(&self, invocation: &mut Invocation) -> Result<()> {
        if !self.find(invocation) {
            // It may have been made since we last asked.
            self.ping().await?;
            if !self.find(invocation) {
                return Err(self.no_procedure(invocation));
            }
        }
        Ok(())
    }

    fn find(&self, invocation: &mut Invocation) -> bool {
        let profile = self.profile();
        let named = |known: &&Procedure| {
            known.name.eq_ignore_ascii_case(&invocation.name)
                && invocation.schema.as_ref().is_none_or(|schema| known.schema.eq_ignore_ascii_case(schema))
                && self.shows(known)
        };
        let firsts = [invocation.default_schema.as_ref(), profile.default_schema.as_ref()];
        let shown: Vec<&Procedure> = profile.procedures.iter().filter(named).collect();
        let first = firsts.into_iter().flatten().find_map(|first| shown.iter().find(|known| known.schema == *first));
        let Some(found) = first.or(shown.first()) else { return false };
        invocation.schema = Some(found.schema.clone());
        true
    }

    fn no_procedure(&self, invocation: &Invocation) -> Error {
        let profile = self.profile();
        let error =
            Error::not_found(format!("there is no procedure or function {}", invocation.name)).sqlstate("42883");
        let shown = profile.procedures.iter().filter(|known| self.shows(known)).map(|known| known.name.as_str());
        match near::did_you_mean(&near::nearest(&invocation.name, shown)) {
            Some(hint) => error.hint(hint),
            None => error
                .hint("no procedure or function has a name like it: look for the right one in the list of procedures"),
        }
    }
}

/// Schema and name of things by their name in small letters: a statement may have very many names.
type Known = HashMap<String, Vec<(String, String)>>;

fn by_name(all: impl IntoIterator<Item = (String, String)>) -> Known {
    let mut known = Known::new();
    for (schema, name) in all {
        known.entry(name.to_lowercase()).or_default().push((schema, name));
    }
    known
}

fn hides_routine(hidden: &Known, name: &Named) -> bool {
    let (schema, routine) = match name.parts.as_slice() {
        [routine] => (None, routine),
        [schema, routine, ..] => (Some(schema), routine),
        [] => return false,
    };
    let mut found = hidden.get(&routine.to_lowercase()).into_iter().flatten();
    found.any(|(known, _)| schema.is_none_or(|schema| known.eq_ignore_ascii_case(schema)))
}

/// A source's own hint may name what is hidden.
fn without_names(error: Error) -> Error {
    if !matches!(error.get_sqlstate(), Some("42P01" | "42703" | "42883")) || error.get_hint().is_none() {
        return error;
    }
    let bare = Error::new(error.kind, error.message.clone()).sqlstate(error.get_sqlstate().unwrap_or_default());
    match error.get_position() {
        Some(position) => bare.position(position),
        None => bare,
    }
}

fn is_engine_schema(schema: &str) -> bool {
    schema.eq_ignore_ascii_case("information_schema") || schema.to_ascii_lowercase().starts_with("pg_")
}

fn is_shown(exposure: &Exposure, dialect: Dialect, facet: Facet, batch: &dyn Batch, row: usize) -> Result<bool> {
    if facet == Facet::Catalogs {
        return Ok(true);
    }
    let schema = text(batch, row, 1)?;
    if dialect == Dialect::PostgreSql && is_engine_schema(&schema) {
        return Ok(false);
    }
    Ok(match facet {
        Facet::Catalogs | Facet::Schemas => exposure.shows_schema(&schema),
        Facet::Tables | Facet::Columns | Facet::PrimaryKeys | Facet::Indexes => {
            exposure.shows_table(&schema, &text(batch, row, 2)?)
        }
        // A foreign key tells of two tables.
        Facet::ImportedKeys | Facet::ExportedKeys => {
            exposure.shows_table(&schema, &text(batch, row, 2)?)
                && exposure.shows_table(&text(batch, row, 5)?, &text(batch, row, 6)?)
        }
        Facet::Procedures | Facet::ProcedureParameters => exposure.shows_procedure(&schema, &text(batch, row, 2)?),
    })
}

fn text(batch: &dyn Batch, row: usize, column: usize) -> Result<String> {
    Ok(match batch.cell(row, column)? {
        Cell::Text(text) => text.into_owned(),
        _ => String::new(),
    })
}

/// Some rows of a batch.
struct Kept {
    batch: Box<dyn Batch>,
    rows: Vec<usize>,
}

impl Batch for Kept {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let row = self.rows.get(row).copied().ok_or_else(|| Error::internal("a row beyond the batch"))?;
        self.batch.cell(row, column)
    }
}
