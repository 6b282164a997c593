//! Caches what the driver knows of its source, so that most statements need no catalogue query: version, search
//! path, routines and custom types.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::catalog::relations::{self, Relations, TableLookup};
use crate::postgres::catalog::routines::{self, KnownRoutines, RoutineLookup};
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::session::custom_types::CustomTypes;
use crate::postgres::session::housekeeping::Housekeeping;
use crate::postgres::ttl_cache::TtlCache;
use crate::postgres::walls::check::Walls;
use crate::postgres::{failure, grants};
use crate::{Profile, Settings};
use portico_core::error::{Error, Kind, Result};
use portico_core::finding::Finding;

/// How long a statement waits for catalogue data that it can do without.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the shortest question may take before the source counts as away.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// All questions of one ping together, beyond the time to connect.
const PING_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximal number of statements of a connection whose tables are cached.
const MOST_STATEMENTS: usize = 4_096;

const STUCK: &str = "SELECT COALESCE(state LIKE 'idle%' OR wait_event = 'ClientWrite', false) \
    FROM pg_catalog.pg_stat_activity WHERE pid = $1";

/// Everything remembered.
pub(crate) struct CatalogCache {
    housekeeping: Arc<Housekeeping>,
    types: Arc<CustomTypes>,
    /// Which tables the columns of statements came from lately, to ask for them before the next one answers.
    recent_tables: TtlCache<QueryFingerprint, Arc<[Oid]>>,
    routines: ArcSwap<KnownRoutines>,
    stale: AtomicBool,
    /// The roles that callers may have, as a part of a query; absent if they have none.
    roles: Option<&'static str>,
    walls: Arc<Walls>,
    /// Whether the server, as one before 17, knows no infinite intervals.
    finite_intervals: AtomicBool,
}

impl CatalogCache {
    /// Makes an empty cache.
    pub(crate) fn new(
        housekeeping: Arc<Housekeeping>,
        types: Arc<CustomTypes>,
        roles: Option<&'static str>,
        walls: Arc<Walls>,
    ) -> Self {
        Self {
            housekeeping,
            types,
            recent_tables: TtlCache::new(Duration::MAX, MOST_STATEMENTS),
            routines: ArcSwap::default(),
            stale: AtomicBool::new(false),
            roles,
            walls,
            finite_intervals: AtomicBool::new(false),
        }
    }

    /// `forms` as this server's values have them.
    pub(crate) fn forms(&self, forms: Vec<ColumnDecoder>) -> Arc<[ColumnDecoder]> {
        let finite = self.finite_intervals.load(Ordering::Relaxed);
        forms.into_iter().map(|form| if finite { form.finite() } else { form }).collect()
    }

    /// Asks the source for everything anew.
    pub(crate) async fn refresh(&self) -> Result<Profile> {
        let client = self.housekeeping.client().await?;
        // A change during the query makes the result stale again.
        self.stale.store(false, Ordering::Release);
        let answer = in_time(self.ask(&client)).await;
        if answer.is_err() {
            self.stale.store(true, Ordering::Release);
            self.housekeeping.forget();
        }
        answer.map_err(|error| if client.is_closed() { failure::unavailable(&error) } else { error })
    }

    /// Refreshes what one of our statements may have changed; a failure is left to the next ping.
    pub(crate) async fn freshen(&self) {
        if self.stale.load(Ordering::Acquire) {
            let _ = Box::pin(timeout(PATIENCE, self.refresh())).await;
        }
    }

    /// Records that one of our statements may have changed types, tables or routines, so that they are read again.
    pub(crate) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
        self.walls.forget();
    }

    /// Returns the walls that check statements.
    pub(crate) fn walls(&self) -> &Arc<Walls> {
        &self.walls
    }

    /// The routines as last read.
    pub(crate) fn routines(&self) -> Arc<KnownRoutines> {
        self.routines.load_full()
    }

    /// Whether a name means the routines that it meant when they were last read.
    pub(crate) async fn is_current(&self, lookup: &RoutineLookup) -> Result<bool> {
        let client = self.housekeeping.client().await?;
        lookup.is_current(&client, self.roles).await
    }

    /// Starts to look up `tables`, which a statement uses.
    pub(crate) fn ask_of(&self, tables: Vec<Oid>) -> TableLookup {
        TableLookup::beside(&self.housekeeping, tables)
    }

    /// Starts to look up the tables of a statement of this shape, if the shape was seen before.
    pub(crate) fn prefetch(&self, fingerprint: &QueryFingerprint) -> Option<TableLookup> {
        Some(TableLookup::before(&self.housekeeping, self.recent_tables.get(fingerprint)?.to_vec()))
    }

    /// Returns what the catalogue says of `tables`, from which a statement has just started to answer. A lookup
    /// that was started earlier is used if it covers these tables.
    pub(crate) async fn relations(
        &self,
        asked: Option<TableLookup>,
        fingerprint: Option<QueryFingerprint>,
        tables: Vec<Oid>,
    ) -> Relations {
        if let Some(asked) = asked.filter(|asked| asked.is_of(&tables)) {
            return asked.answer().await;
        }
        if let Some(fingerprint) = fingerprint {
            self.recent_tables.insert(fingerprint, tables.as_slice().into());
        }
        self.ask_of(tables).answer().await
    }

    /// Whether a session that is silent towards us has in truth answered: it waits for us to read
    /// on, or has already finished.
    pub(crate) async fn is_stuck(&self, process: i32) -> bool {
        let asked = timeout(PATIENCE, async {
            let client = self.housekeeping.client().await.ok()?;
            let row = client.query_typed_opt(STUCK, &[(&process, Type::INT4)]).await.ok()??;
            row.try_get(0).ok()
        });
        asked.await.ok().flatten().unwrap_or(false)
    }

    /// Returns what the connection's user can do beyond what is exposed.
    pub(crate) async fn reach(&self, settings: &Settings) -> Result<Vec<Finding>> {
        let client = self.housekeeping.client().await?;
        in_time(grants::reach(&client, settings, None)).await
    }

    /// Lets go of the housekeeping session.
    pub(crate) fn close(&self) {
        self.housekeeping.forget();
    }

    async fn ask(&self, client: &Client) -> Result<Profile> {
        let identity = format!(
            "SELECT pg_catalog.current_setting('server_version'), pg_catalog.current_schema()::text, {}",
            routines::PATH
        );
        let identity = timeout(SIGN_OF_LIFE, client.query_typed_one(&identity, &[])).await;
        let identity = identity
            .map_err(|_| failure::unavailable("the source did not respond"))?
            .map_err(|error| failure::connecting(&error))?;
        let version: String = identity.try_get(0).map_err(Error::internal)?;
        let default_schema: Option<String> = identity.try_get(1).map_err(Error::internal)?;
        // Distributors append their own words to the version.
        let number = version.split_whitespace().next().unwrap_or_default();
        let digits = number.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(number.len());
        let before_17 =
            number.get(..digits).and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 17);
        self.finite_intervals.store(before_17, Ordering::Relaxed);

        self.types.refresh(client).await?;
        let path: Vec<String> = identity.try_get(2).map_err(Error::internal)?;
        let routines = routines::read(client, self.roles).await?;
        let procedures = routines.iter().map(|routine| routine.procedure.clone()).collect();
        let schemas = path.clone().into();
        self.routines.store(Arc::new(KnownRoutines { routines, path }));
        let tables = relations::definitions(client, self.roles).await?;
        Ok(Profile { product: format!("PostgreSQL {number}"), default_schema, path: schemas, procedures, tables })
    }
}

async fn in_time<T>(asking: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(PING_TIMEOUT, asking)
        .await
        .unwrap_or_else(|_| Err(Error::new(Kind::TimedOut, "the catalogue could not be read in time")))
}
