//! The sources' estimates of row counts. A source takes up to milliseconds to estimate a join, most of the planning
//! time; so estimates are cached for a short while. They only determine the order in which tables are read, never
//! the result, and each statement is estimated with its caller's rights.

use std::hash::Hasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use quick_cache::sync::Cache;

use crate::connections::Connections;
use crate::push::SharedGroups;
use crate::run::leaf::LeafTable;
use crate::statement::Deadline;
use portico_core::call::{Mode, Op, Sql};
use portico_core::keyed::KeyedHash;
use portico_core::reply::{Cell, Part, Results};

/// How long an estimate holds. Sources look at their tables for it about once a minute themselves.
const LIFETIME: Duration = Duration::from_secs(30);
/// Estimates that are remembered at most, each of some tens of octets.
const MOST: usize = 4_096;
/// Groups that are kept for several leaves that read them, at most.
const MOST_KEPT: f64 = 50_000.0;

/// Recent estimates, by the caller, the connection and the statement.
#[derive(Debug)]
pub(crate) struct Estimates(Cache<KeyedHash, (Instant, u64)>);

impl Default for Estimates {
    fn default() -> Self {
        Self(Cache::new(MOST))
    }
}

/// The caller and the deadline of estimates.
pub(crate) struct Estimating<'a> {
    pub(crate) estimates: &'a Estimates,
    pub(crate) principal: &'a str,
    pub(crate) connections: &'a dyn Connections,
    pub(crate) deadline: Deadline,
}

impl Estimating<'_> {
    /// Returns those of these groups that are so few that they are all fetched and kept, rather than computed again
    /// for each leaf that reads them.
    pub(crate) async fn small(&self, groups: Vec<SharedGroups>) -> Vec<SharedGroups> {
        join_all(groups.iter().map(|groups| self.expect(groups.leaf()))).await;
        groups.into_iter().filter(|groups| groups.leaf().expected().is_some_and(|rows| rows <= MOST_KEPT)).collect()
    }

    /// Asks the sources for estimates if there is more than one side to choose from; and for the number of rows
    /// without conditions if that determines the join order.
    pub(crate) async fn all(&self, leaves: &[Arc<LeafTable>], is_chosen: bool) {
        if leaves.len() < 2 {
            return;
        }
        join_all(leaves.iter().map(|leaf| async move {
            let whole = async {
                let statement = leaf.unconditional().filter(|_| is_chosen)?;
                leaf.expect_whole(self.rows(leaf, &statement).await?);
                Some(())
            };
            join(self.expect(leaf), whole).await
        }))
        .await;
    }

    /// Asks the source of `leaf` how many rows it expects to send, where that is not known.
    async fn expect(&self, leaf: &LeafTable) {
        if leaf.expected().is_none()
            && let Some(rows) = self.rows(leaf, &leaf.sent()).await
        {
            leaf.expect(rows);
        }
    }

    /// How many rows the source of `leaf` expects of `statement`.
    async fn rows(&self, leaf: &LeafTable, statement: &str) -> Option<u64> {
        let member = self.connections.members().get(leaf.connection())?;
        let key = KeyedHash::new(|hasher| {
            for part in [self.principal.as_bytes(), member.id.as_bytes(), statement.as_bytes()] {
                hasher.write_usize(part.len());
                hasher.write(part);
            }
        });
        if let Some((asked, rows)) = self.estimates.0.get(&key)
            && asked.elapsed() < LIFETIME
        {
            return Some(rows);
        }
        let estimate = member.driver.pushdown?.row_estimate.as_ref()?;
        let sql = Sql { text: (estimate.question)(statement), rows_alone: true, ..Sql::default() };
        let op = Op::Script(Mode::Run, sql);
        let results = self.connections.ask(leaf.connection(), op, self.deadline.limits().ok()?).await.ok()?;
        let rows = (estimate.rows)(&first(results).await?)?;
        self.estimates.0.insert(key, (Instant::now(), rows));
        Some(rows)
    }
}

/// Returns the first value of the first row. Reads to the end: unread rows would be cancelled at the source.
async fn first(mut results: Results) -> Option<String> {
    let mut first = None;
    while let Some(part) = results.next().await {
        if let Part::Rows(rows) = part.ok()?
            && first.is_none()
            && let Cell::Text(text) | Cell::Json(text) = rows.cell(0, 0).ok()?
        {
            first = Some(text.into_owned());
        }
    }
    first
}
