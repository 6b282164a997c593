//! A source of which callers see a part. Hidden names are in no listing, no profile and no hint; a call of a hidden
//! procedure fails as if it did not exist. Which names are hidden is decided in `exposure`. Statements are checked
//! by the drivers, which ask their databases what a statement uses.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;

use crate::digest;
use crate::driver::Driver;
use crate::exposure::names::Exposure;
use crate::exposure::rows::{self, text};
use crate::{Invocation, Plan, Pool, Procedure, Profile, Source, Task};
use portico_core::call::MetadataKind;
use portico_core::error::{Error, Kind, Result};
use portico_core::finding::Finding;
use portico_core::mutex::lock;
use portico_core::reply::{Batch, Results};

/// Restricts `source` to what `exposure` shows.
pub fn narrow(source: Arc<dyn Source>, exposure: Exposure, driver: &'static Driver) -> Arc<dyn Source> {
    if exposure.is_everything() {
        return source;
    }
    Arc::new(ExposedSource(Arc::new(Shared {
        source,
        exposure: Arc::new(exposure),
        driver,
        profile: Mutex::default(),
    })))
}

struct ExposedSource(Arc<Shared>);

struct Shared {
    source: Arc<dyn Source>,
    exposure: Arc<Exposure>,
    driver: &'static Driver,
    /// The source's own, whole.
    profile: Mutex<Arc<Profile>>,
}

impl Source for ExposedSource {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.ping().await })
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.run(plan).await })
    }

    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        self.0.source.excess_privileges()
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
        *lock(&self.profile) = Arc::new(whole);
        Ok(narrowed)
    }

    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&lock(&self.profile))
    }

    fn shows(&self, procedure: &Procedure) -> bool {
        self.exposure.shows_procedure(&procedure.schema, &procedure.name)
    }

    async fn run(&self, mut plan: Plan) -> Result<Results> {
        // Notices of the source may mention hidden names.
        plan.notices = None;
        match &mut plan.task {
            Task::Describe(metadata, _) => {
                let metadata = *metadata;
                Ok(self.narrowed(metadata, self.source.run(plan).await?))
            }
            Task::Statement(_) | Task::Statements(_) | Task::Columns(_) | Task::Batch(_) => {
                self.check_schemas(&plan.task)?;
                self.source.run(plan).await
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
    fn narrowed(&self, metadata: MetadataKind, results: Results) -> Results {
        let (exposure, driver) = (Arc::clone(&self.exposure), self.driver);
        rows::chosen(results, move |batch, row| told(&exposure, driver, metadata, batch, row))
    }

    /// Refuses a `defaultSchema` that is hidden from callers. Drivers that check statements by the server's own
    /// analysis check this as well.
    fn check_schemas(&self, task: &Task) -> Result<()> {
        if self.driver.capabilities.judges_schemas {
            return Ok(());
        }
        let prepared = match task {
            Task::Statement(prepared) => std::slice::from_ref(prepared),
            Task::Statements(all) | Task::Columns(all) => all.as_slice(),
            Task::Batch(_) | Task::Describe(..) | Task::Procedure(_) => &[],
        };
        // An administrator's statement may use what is hidden from callers.
        let of_callers = prepared.iter().filter(|prepared| !prepared.by_administrator);
        let batch = match task {
            Task::Batch(batch) => batch.default_schema.as_ref(),
            _ => None,
        };
        let mut schemas = of_callers.filter_map(|prepared| prepared.default_schema.as_ref()).chain(batch);
        match schemas.find(|schema| !self.exposure.shows_schema(schema)) {
            Some(schema) => {
                Err(Error::not_found(format!("defaultSchema: there is no schema {schema}")).sqlstate("3F000"))
            }
            None => Ok(()),
        }
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

    /// Puts the name of a procedure that callers may see, in full and exactly, in the place of the caller's: nothing
    /// that looks it up later can take it for another one.
    fn find(&self, invocation: &mut Invocation) -> bool {
        let profile = self.profile();
        let [written, folded] = invocation.spellings();
        let is_named = [
            |known: &str, written: &str, _: &str| known == written,
            |known: &str, _: &str, folded: &str| known == folded,
            |known: &str, written: &str, _: &str| known.eq_ignore_ascii_case(written),
        ];
        let is_in_reach = |known: &&Procedure| {
            invocation.schema.as_ref().is_none_or(|schema| known.schema.eq_ignore_ascii_case(schema))
        };
        let in_reach = || profile.procedures.iter().filter(|known| self.shows(known)).filter(is_in_reach);
        let found = is_named.iter().find_map(|is_named| {
            let mut named = in_reach().filter(|known| is_named(&known.name, &written, &folded));
            match invocation.schema {
                Some(_) => named.next(),
                None => (invocation.schemas(&profile.path))
                    .find_map(|schema| named.clone().find(|known| known.schema == *schema)),
            }
        });
        let Some(found) = found else { return false };
        (invocation.schema, invocation.name) = (Some(found.schema.clone()), found.name.clone());
        true
    }

    fn no_procedure(&self, invocation: &Invocation) -> Error {
        let profile = self.profile();
        let error =
            Error::not_found(format!("there is no procedure or function {}", invocation.name)).sqlstate("42883");
        let shown = profile.procedures.iter().filter(|known| self.shows(known));
        let names: Vec<(&str, &str)> = shown.map(|known| (known.schema.as_str(), known.name.as_str())).collect();
        let near = digest::did_you_mean(invocation.schema.as_deref(), &invocation.name, &names);
        error.hint(near.unwrap_or_else(|| {
            "no procedure or function has a name like it: look for the right one in the list of procedures".to_owned()
        }))
    }
}

/// Returns the cells to remove from a row that callers may see; `None` for a hidden row.
fn told(
    exposure: &Exposure,
    driver: &Driver,
    metadata: MetadataKind,
    batch: &dyn Batch,
    row: usize,
) -> Result<Option<Range<usize>>> {
    if metadata == MetadataKind::Catalogs {
        return Ok(Some(0..0));
    }
    let schema = text(batch, row, 1)?;
    if (driver.is_system_schema)(&schema) {
        return Ok(None);
    }
    let is_shown = match metadata {
        MetadataKind::Catalogs | MetadataKind::Schemas => exposure.shows_schema(&schema),
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => {
            exposure.shows_procedure(&schema, &text(batch, row, 2)?)
        }
        _ => return rows::of_tables(batch, row, metadata, |schema, table| exposure.shows_table(schema, table)),
    };
    Ok(is_shown.then_some(0..0))
}
