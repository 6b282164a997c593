//! The stream of a result: its columns, its rows as they arrive, its end. What it needs to know of the statement
//! was determined in `execute/statement.rs`.

use std::sync::Arc;

use futures_util::stream;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::response::{Progress, Response, finish};
use super::running::{RowBatch, RunningStatement};
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::catalog::metadata::MetadataRows;
use crate::postgres::catalog::relations;
use crate::postgres::catalog::relations::Relations;
use crate::postgres::decode::cells::{Raw, decode};
use crate::postgres::decode::columns::ColumnDescription;
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::decode::types;
use crate::postgres::execute::execution::{Execution, FETCH_ALL, Values};
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::{Access, catalog};
use portico_core::call::MetadataKind;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Column, Part, Results};
use portico_sql::Class;

/// The maximal number of cursors that are read; a session has few of them open.
const MOST_CURSORS: usize = 1_000;

/// The results of `execution`, which has begun to answer.
pub(crate) async fn results(
    answer: Response,
    execution: Execution,
    context: CallContext,
    connection: &str,
    cache: Arc<CatalogCache>,
) -> Results {
    let reading = ResultReader::begin(answer, execution, context, connection, cache).await;
    let writes = reading.execution.options.access == Access::ReadWrite;
    Results::new(
        writes,
        stream::unfold(reading, |mut reading| async move { reading.next().await.map(|part| (part, reading)) }),
    )
}

/// A result's columns in the terms of the wire.
pub(crate) fn columns(
    seen: &[ColumnDescription],
    text: &str,
    connection: &str,
    relations: &Relations,
) -> Arc<[Column]> {
    // A cursor's own query is not seen.
    let may_be_outer = text.starts_with(FETCH_ALL) || widens(text);
    seen.iter().map(|seen| describe(seen, relations, connection, may_be_outer)).collect()
}

/// A result while it is read.
pub(crate) struct ResultReader {
    columns: Option<Arc<[Column]>>,
    batch: Option<RowBatch>,
    /// Absent behind the end.
    stage: Option<Progress>,
    forms: Arc<[ColumnDecoder]>,
    metadata: Option<MetadataKind>,
    has_rows: bool,
    sent: SentText,
    execution: Execution,
    context: CallContext,
    cache: Arc<CatalogCache>,
    /// The session, if the statement's transaction continues after it.
    session: Option<Arc<Session>>,
    /// The columns that contain names of cursors, whose rows are further results; and the names so far.
    cursor_columns: Vec<usize>,
    cursors: Vec<String>,
}

impl ResultReader {
    /// The result of `execution`, which has begun to answer.
    pub(crate) async fn begin(
        answer: Response,
        execution: Execution,
        context: CallContext,
        connection: &str,
        cache: Arc<CatalogCache>,
    ) -> Self {
        let metadata = match &execution.values {
            Values::Metadata(metadata, _) => Some(*metadata),
            Values::Inferred(_) => None,
        };
        let columns = match metadata {
            Some(metadata) => catalog::columns(metadata),
            None => {
                let relations = match relations::tables(&answer.columns) {
                    tables if execution.options.describes && !tables.is_empty() => {
                        cache.relations(answer.asked, answer.fingerprint, tables).await
                    }
                    _ => Relations::new(),
                };
                columns(&answer.columns, &execution.text, connection, &relations)
            }
        };
        let is_cursor = |(number, seen): (usize, &ColumnDescription)| (seen.type_ == Type::REFCURSOR).then_some(number);
        let cursor_columns =
            answer.columns.iter().enumerate().filter(|_| execution.opens_cursors).filter_map(is_cursor).collect();
        let reading = Self {
            has_rows: !columns.is_empty(),
            columns: Some(columns),
            batch: answer.first,
            stage: Some(answer.progress),
            forms: cache.forms(answer.forms),
            sent: answer.sent,
            metadata,
            execution,
            context,
            cache,
            session: None,
            cursor_columns,
            cursors: Vec::new(),
        };
        reading.note_change();
        reading
    }

    /// Returns the session of a transaction that continues, and the cursors that the rows named.
    pub(crate) fn into_rest(self) -> (Option<Arc<Session>>, Vec<String>) {
        (self.session, self.cursors)
    }

    /// Returns true if the rows contain only names of cursors, which are of no use to a caller.
    pub(crate) fn only_names_cursors(&self) -> bool {
        !self.cursor_columns.is_empty() && self.cursor_columns.len() == self.forms.len()
    }

    /// Returns the next part; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Result<Part>> {
        if let Some(columns) = self.columns.take() {
            return Some(Ok(Part::Columns(columns)));
        }
        if let Some(rows) = self.batch.take() {
            self.note_cursors(&rows);
            return Some(Ok(self.part(rows)));
        }
        // After any error below no part follows; dropping the stage cancels the rest.
        match self.stage.take()? {
            Progress::Over(affected, session) => {
                self.session = session;
                Some(Ok(self.done(affected)))
            }
            Progress::RunningStatement(running) => Some(self.read_on(running).await),
        }
    }

    async fn read_on(&mut self, mut running: RunningStatement) -> Result<Part> {
        let failed = |error| self.context.judge(self.execution.failure(&error, &self.sent));
        if let Some(rows) = self.context.bound(running.batch()).await?.map_err(failed)? {
            self.stage = Some(Progress::RunningStatement(running));
            self.note_cursors(&rows);
            return Ok(self.part(rows));
        }
        let (affected, session) = finish(running, &self.context, self.execution.position).await?.map_err(failed)?;
        self.session = session;
        self.note_change();
        Ok(self.done(affected))
    }

    fn note_cursors(&mut self, rows: &[Row]) {
        for row in rows.iter().take(MOST_CURSORS.saturating_sub(self.cursors.len())) {
            for column in &self.cursor_columns {
                if let Ok(Raw(Some(name))) = row.try_get(*column) {
                    self.cursors.push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
    }

    fn part(&self, rows: RowBatch) -> Part {
        let rows = Rows { rows, forms: Arc::clone(&self.forms) };
        Part::Rows(match self.metadata {
            Some(metadata) => Box::new(MetadataRows { rows, metadata }),
            None => Box::new(rows),
        })
    }

    fn done(&self, affected: u64) -> Part {
        Part::Done { affected: self.execution.affected(affected, self.has_rows) }
    }

    /// Marks cached tables, types and routines as stale if the statement may have changed them.
    fn note_change(&self) {
        if self.execution.options.access == Access::ReadWrite
            && matches!(self.execution.class, Class::Ddl | Class::Call | Class::Other)
        {
            self.cache.mark_stale();
        }
    }
}

/// Rows in the wire's own octets.
pub(crate) struct Rows {
    pub(crate) rows: RowBatch,
    /// One for each column.
    pub(crate) forms: Arc<[ColumnDecoder]>,
}

impl Batch for Rows {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn octets(&self) -> usize {
        self.rows.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let out_of_range = || Error::internal(format!("bug: there is no cell at row {row}, column {column}"));
        let row_ = self.rows.get(row).ok_or_else(out_of_range)?;
        let Raw(raw) = row_.try_get(column).map_err(Error::internal)?;
        match raw {
            None => Ok(Cell::Null),
            // Hidden columns of metadata have no form of their own in the descriptors.
            Some(raw) => {
                let form = self.forms.get(column).ok_or_else(out_of_range)?;
                decode(form, raw).map_err(|malformed| Error::internal(format!("malformed {}", malformed.0)))
            }
        }
    }
}

fn describe(seen: &ColumnDescription, relations: &Relations, connection: &str, may_be_outer: bool) -> Column {
    let traits = types::traits(&seen.type_, seen.modifier);
    let relation = seen.table.and_then(|table| relations.get(&table));
    let underlying = relation.zip(seen.attribute).and_then(|(r, attribute)| r.columns.get(&attribute));
    Column {
        name: underlying.map_or_else(|| seen.label.clone(), |column| column.name.clone()),
        label: seen.label.clone(),
        table: relation.map(|relation| relation.name.clone()),
        schema: relation.map(|relation| relation.schema.clone()),
        catalog: relation.map(|_| connection.to_owned()),
        data_type: traits.data_type,
        length: traits.length,
        precision: traits.precision,
        scale: traits.scale,
        enforced: true,
        zoned: types::is_zoned(&seen.type_),
        text: types::text_type(&seen.type_),
        nullable: may_be_outer || !underlying.is_some_and(|column| column.not_null),
        key: underlying.map(|column| column.key),
        collation: underlying.map(|column| column.collation).unwrap_or_default(),
    }
}

/// Returns true if NULL may occur although the underlying column has none: the source does not distinguish outer
/// joins, grouping sets and the two sides of a change from the column itself. Keywords can only be written with
/// their letters, names also with `U&`: a word that does not occur in the text is not in the statement.
fn widens(text: &str) -> bool {
    const WORDS: [&str; 5] = ["join", "rollup", "cube", "grouping", "merge"];
    const SIDES: [&str; 3] = ["old", "new", "u&"];
    let text = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    has(&WORDS) || (text.contains("returning") && has(&SIDES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_put_null_in_a_column_is_found_in_any_spelling() {
        let sides = ["old . id", "\"old\".id", "OLD/**/.id", "WITH (OLD  AS o) o.id", "U&\"\\006fld\".id", "new.id"];
        for side in sides {
            assert!(widens(&format!("UPDATE t SET n = 1 RETURNING {side}")), "{side}");
        }
        assert!(widens("SELECT a FROM t lefT/**/joIn u ON true") && widens("SELECT a FROM t GROUP BY ROLLUP (a)"));
        assert!(!widens("INSERT INTO t VALUES (1) RETURNING id") && !widens("SELECT old.id FROM t AS old"));
    }
}
