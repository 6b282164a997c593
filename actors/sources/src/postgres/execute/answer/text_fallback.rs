//! Answers of a CALL or a FETCH with columns that only the source can print. Such a statement cannot be wrapped in
//! one that casts its columns, and there is no decoder for its bytes. So it runs by the simple protocol, which
//! answers in the source's own text form; and the source parses that text back for the columns that are decoded
//! from bytes.
//!
//! The simple protocol has no parameters: values are bound one statement earlier, to settings of the session, and
//! the CALL reads them from there.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, SimpleQueryMessage};

use super::running::{Rows, Uncounted};
use crate::postgres::bind::argument::BoundValue;
use crate::postgres::decode::columns::ColumnDescription;
use crate::postgres::decode::decoder::{ColumnDecoder, is_true_array, printed};
use crate::postgres::execute::execution::FETCH_ALL;
use crate::postgres::quote::quoted;
use crate::postgres::session::handle::Session;
use portico_sql::Dialect;

/// Rows fetched at once at most.
const MOST_ROWS: usize = 256;
/// Octets that are fetched at once, give or take a row.
const OCTETS: usize = 256 * 1024;

type WireResult<T> = Result<T, tokio_postgres::Error>;

/// How a statement is run for the source's own text.
#[derive(Debug)]
pub(crate) struct TextFallback {
    /// The statement, its values read from settings.
    text: String,
    /// Binds the values to settings.
    binding: Option<(String, Vec<Type>)>,
    /// Reads the text of some rows back.
    reading: String,
    columns: usize,
    /// Whether it is a FETCH, which is repeated until it returns nothing.
    fetches: bool,
}

impl TextFallback {
    /// For the statement `text`, with parameters of these types.
    pub(crate) fn new(text: &str, parameters: &[Type], columns: &[ColumnDescription]) -> Self {
        let setting = |number: usize| format!("'portico.value_{number}'");
        let settings = parameters.iter().enumerate().map(|(index, type_)| {
            let (setting, value) = (setting(index + 1), format!("${}::{}", index + 1, name(type_)));
            // The empty text is NULL; the letter distinguishes an empty value from it.
            format!(
                "pg_catalog.set_config({setting}, \
                CASE WHEN {value} IS NULL THEN '' ELSE pg_catalog.concat('v', {value}) END, false)"
            )
        });
        let settings: Vec<String> = settings.collect();
        let binding = (!settings.is_empty()).then(|| (format!("SELECT {}", settings.join(", ")), parameters.to_vec()));
        let values: Vec<String> = (parameters.iter().enumerate())
            .map(|(index, type_)| {
                let setting = format!("pg_catalog.current_setting({})", setting(index + 1));
                format!("CAST(pg_catalog.substr(nullif({setting}, ''), 2) AS {})", name(type_))
            })
            .collect();
        let (mut shown, mut lists) = (Vec::new(), Vec::new());
        for (index, column) in columns.iter().enumerate() {
            let number = index + 1;
            lists.push(format!("pg_catalog.unnest(${number}::text[])"));
            shown.push(match ColumnDecoder::from_type(&column.type_) {
                Some(_) => format!("c{number}::{}", name(&column.type_)),
                None if is_true_array(&column.type_) => {
                    printed(&format!("c{number}::{}", name(&column.type_)), &column.type_).0
                }
                // No text is read as a value of these two, but as the texts of their elements.
                None if matches!(column.type_, Type::RECORD_ARRAY | Type::ANYARRAY) => {
                    printed(&format!("c{number}::text[]"), &column.type_).0
                }
                None => format!("c{number}"),
            });
        }
        let names: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
        Self {
            text: portico_sql::with_values(text, Dialect::POSTGRESQL, &values),
            binding,
            reading: format!(
                "SELECT {} FROM ROWS FROM ({}) AS printed({})",
                shown.join(", "),
                lists.join(", "),
                names.join(", ")
            ),
            columns: columns.len(),
            fetches: text.starts_with(FETCH_ALL),
        }
    }

    /// Runs the statement. Nothing else may be running on `session`.
    pub(crate) async fn run(self: Arc<Self>, session: Arc<Session>, bound: Vec<BoundValue>) -> WireResult<Rows> {
        if let Some((text, types)) = &self.binding {
            let values = bound.into_iter().zip(types.iter().cloned());
            session.query_typed_raw(text, values).await?.try_for_each(|_| async { Ok(()) }).await?;
        }
        if !self.fetches {
            let (printed, _) = self.printed(&session, &self.text).await?;
            return Ok(Uncounted::rows(stream::iter(self.read_back(&session, printed).await?).map(Ok)));
        }
        let pieces = stream::try_unfold((self, session, 1), |(fallback, session, count)| async move {
            let text = fallback.text.replacen(FETCH_ALL, &format!("FETCH {count} "), 1);
            let (printed, octets) = fallback.printed(&session, &text).await?;
            let rows = printed.first().map_or(0, Vec::len);
            if rows == 0 {
                return Ok(None);
            }
            let piece = fallback.read_back(&session, printed).await?;
            let count = (OCTETS / (octets / rows).max(1)).clamp(1, MOST_ROWS);
            WireResult::Ok(Some((stream::iter(piece).map(Ok), (fallback, session, count))))
        });
        Ok(Uncounted::rows(pieces.try_flatten()))
    }

    /// The texts of each column, and how many octets they are.
    async fn printed(&self, session: &Session, text: &str) -> WireResult<(Vec<Vec<Option<String>>>, usize)> {
        let mut printed = vec![Vec::new(); self.columns];
        let mut octets = 0;
        for message in session.simple_query(text).await? {
            let SimpleQueryMessage::Row(row) = message else { continue };
            for (index, texts) in printed.iter_mut().enumerate() {
                let text = row.try_get(index)?;
                octets += text.map_or(0, str::len);
                texts.push(text.map(str::to_owned));
            }
        }
        Ok((printed, octets))
    }

    async fn read_back(&self, session: &Session, printed: Vec<Vec<Option<String>>>) -> WireResult<Vec<Row>> {
        let values: Vec<(&(dyn ToSql + Sync), Type)> =
            printed.iter().map(|texts| (texts as &(dyn ToSql + Sync), Type::TEXT_ARRAY)).collect();
        session.query_typed(&self.reading, &values).await
    }
}

/// Returns a type's name as written in a statement.
fn name(type_: &Type) -> String {
    format!("{}.{}", quoted(type_.schema()), quoted(type_.name()))
}
