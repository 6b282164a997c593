//! A statement that is prepared before it runs: its parameters' types are asked for, its values
//! bound, and columns that only the source can print are asked for as text.

use crate::postgres::execute::envelope::transaction::begun;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join3};
use tokio::sync::oneshot;
use tokio_postgres::Statement;
use tokio_postgres::types::Oid;

use crate::postgres::bind::argument::BoundValue;
use crate::postgres::bind::attempts::Inferred;
use crate::postgres::bind::inference::inferred;
use crate::postgres::bind::values;
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::catalog::relations;
use crate::postgres::catalog::relations::{Relations, TableLookup};
use crate::postgres::decode::columns::{ColumnDescription, descriptions};
use crate::postgres::decode::decoder::{ColumnDecoder, printed};
use crate::postgres::execute::answer::response::{Progress, Response, finish};
use crate::postgres::execute::answer::running;
use crate::postgres::execute::answer::running::{Rows, RunningStatement};
use crate::postgres::execute::answer::text_fallback::TextFallback;
use crate::postgres::execute::envelope::autocommit::keep_if_it_comes_again;
use crate::postgres::execute::envelope::options::TransactionMode;
use crate::postgres::execute::envelope::transaction::{PREPARED, ending, give_up, held};
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::error::{Error, Kind, Result};
use portico_sql::Class;

/// Prepares `execution` on `session` and runs it up to its first rows.
pub(crate) async fn prepared(
    session: Arc<Session>,
    cache: &CatalogCache,
    execution: &Execution,
    context: &CallContext,
) -> Result<Response> {
    let mode = execution.mode();
    let made = match context.bound(make_ready(&session, execution, context)).await? {
        Ok(made) => made,
        Err(error) => {
            if context.bound(give_up(&session, mode, execution.position)).await? {
                session.settle();
            }
            return Err(error);
        }
    };
    let PreparedExecution { ready, text, bound, columns, forms, sent, fallback, .. } = made;
    let (asked, within) = look_up(cache, execution, &columns);
    // Several messages, each sent after the answer to the one before: the end cannot be sent ahead.
    let end = if fallback.is_some() {
        held(&session, mode, execution.position)
    } else {
        ending(&session, mode, !columns.is_empty(), execution.position)
    };
    let text = text.unwrap_or_else(|| execution.text.clone());
    let run = Run { ready, text, bound, fallback, within, begins: execution.position.begins };
    if mode == TransactionMode::Unattended {
        session.effects().may_commit_itself();
    }
    let mut running = RunningStatement::new(Arc::clone(&session), run.send(session), end);
    let failed = |error| execution.failure(&error, &sent);
    let first = context.bound(running.batch()).await?.map_err(failed)?;
    let progress = if first.is_some() {
        Progress::RunningStatement(running)
    } else {
        let (affected, session) = finish(running, context, execution.position).await?.map_err(failed)?;
        Progress::Over(affected, session)
    };
    Ok(Response { columns, forms, first, progress, sent, asked, fingerprint: None })
}

/// Tables to look up in the statement's own transaction, and the receiver of the result.
type LookupWithin = (Vec<Oid>, oneshot::Sender<Relations>);

/// Looks up the tables of `columns` if the caller is told of them: beside the statement, or within its transaction.
fn look_up(
    cache: &CatalogCache,
    execution: &Execution,
    columns: &[ColumnDescription],
) -> (Option<TableLookup>, Option<LookupWithin>) {
    let tables = if execution.options.describes { relations::tables(columns) } else { Vec::new() };
    if tables.is_empty() {
        return (None, None);
    }
    if !execution.asks_within() {
        return (Some(cache.ask_of(tables)), None);
    }
    let (tell, told) = oneshot::channel();
    (Some(TableLookup::within(tables.clone(), told.map(Result::ok))), Some((tables, tell)))
}

/// One run of a prepared statement.
struct Run {
    ready: Statement,
    text: String,
    bound: Vec<BoundValue>,
    fallback: Option<Arc<TextFallback>>,
    within: Option<LookupWithin>,
    /// Whether the statement begins its transaction.
    begins: bool,
}

impl Run {
    /// Sends the run on `session`, with everything that must precede its rows.
    fn send(self, session: Arc<Session>) -> BoxFuture<'static, Result<Rows, tokio_postgres::Error>> {
        let Self { ready, text, bound, fallback, within, begins } = self;
        async move {
            // In front of the statement's rows: it holds its tables already.
            let described = async {
                if let Some((tables, tell)) = within {
                    let _ = tell.send(relations::seen_by(&session, tables).await?);
                }
                Ok(())
            };
            if let Some(fallback) = fallback {
                drop(ready);
                if !begins {
                    session.batch_execute(PREPARED).await?;
                }
                described.await?;
                return fallback.run(Arc::clone(&session), bound).await;
            }
            let rows = if session.pooled {
                // Its rows would keep the named statement, and close it at any time: also between the
                // end of the transaction and its answer, where a pooler takes that for another client's.
                let types = ready.params().to_vec();
                drop(ready);
                session.query_typed_raw(&text, bound.into_iter().zip(types)).left_future()
            } else {
                session.query_raw(&ready, bound).right_future()
            };
            if begins {
                let (described, rows) = join(described, rows).await;
                return described.and(rows).map(running::rows);
            }
            let (released, described, rows) = join3(session.batch_execute(PREPARED), described, rows).await;
            released.and(described).and(rows).map(running::rows)
        }
        .boxed()
    }
}

/// A prepared statement with its values, its transaction open.
pub(crate) struct PreparedExecution {
    pub(crate) ready: Statement,
    /// The text that was prepared, if it is not the statement's own.
    text: Option<String>,
    pub(crate) bound: Vec<BoundValue>,
    pub(crate) columns: Vec<ColumnDescription>,
    pub(crate) forms: Vec<ColumnDecoder>,
    pub(crate) sent: SentText,
    /// Set where the statement has to be run for the source's own text.
    pub(crate) fallback: Option<Arc<TextFallback>>,
}

/// Begins or continues the transaction, and prepares the statement of `execution`.
pub(crate) async fn make_ready(
    session: &Session,
    execution: &Execution,
    context: &CallContext,
) -> Result<PreparedExecution> {
    let Inferred { statement: ready, split } = inferred(session, execution, context).await?;
    let sent = SentText::new(split.as_ref());
    let bound = values::bound(execution.arguments(), &ready, sent.split())?;
    let columns = descriptions(ready.columns());
    let text = sent.split().map(|split| split.text().to_owned());
    let natively: Option<Vec<ColumnDecoder>> =
        columns.iter().map(|column| ColumnDecoder::from_type(&column.type_)).collect();
    if sent.split().is_none() {
        keep_if_it_comes_again(session, execution, &ready);
    }
    if let Some(forms) = natively {
        return Ok(PreparedExecution { ready, text, bound, columns, forms, sent, fallback: None });
    }
    let forms = text_forms(&columns);
    let own = text.as_deref().unwrap_or(&execution.text);
    if matches!(execution.class, Class::Call | Class::Session) {
        // A CALL or a FETCH cannot be a part of another statement.
        let fallback = Some(Arc::new(TextFallback::new(own, ready.params(), &columns)));
        return Ok(PreparedExecution { ready, text, bound, columns, forms, sent, fallback });
    }
    let (text, before) = as_text(own, execution.class, &columns);
    let ready = session.prepare_typed(&text, ready.params()).await.map_err(|error| {
        let names: Vec<&str> =
            columns.iter().filter(|c| ColumnDecoder::from_type(&c.type_).is_none()).map(|c| c.label.as_str()).collect();
        Error::new(Kind::Rejected, format!("the values of {} can only be read as text", names.join(", ")))
            .hint("cast these columns to text")
            .because(error)
    })?;
    let sent = sent.framed(before);
    let text = Some(text);
    Ok(PreparedExecution { ready, text, bound, columns, forms, sent, fallback: None })
}

/// Describes the columns of a reader whose answer was empty.
pub(crate) async fn described(
    session: &Session,
    execution: &Execution,
    context: &CallContext,
) -> Result<Vec<ColumnDescription>, tokio_postgres::Error> {
    let (ready, clean) = join(begun(session, execution, context, &execution.text, &[]), session.after_reading()).await;
    if clean {
        session.settle();
    }
    ready.map(|ready| descriptions(ready.columns()))
}

/// Rewrites the statement so that columns without a decoder are returned as text. Also returns the number of
/// characters in front of the original, if that is contained as a whole.
fn as_text(text: &str, class: Class, columns: &[ColumnDescription]) -> (String, Option<usize>) {
    let names: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let shown: Vec<String> = columns
        .iter()
        .zip(&names)
        .map(|(column, name)| match ColumnDecoder::from_type(&column.type_) {
            Some(_) => name.clone(),
            None => printed(name, &column.type_).0,
        })
        .collect();
    // Data changes are allowed only in the outermost WITH: its list moves to the outer statement.
    let behind = if class == Class::Select { None } else { portico_sql::query_behind_with(text) };
    let (list, query) = text.split_at(behind.unwrap_or_default());
    let head = if list.is_empty() { "WITH ".to_owned() } else { format!("{list}, ") };
    let prefix = format!("{head}portico_answer({}) AS (\n", names.join(", "));
    // The line ends also end a comment that the statement may close with.
    let wrapped = format!("{prefix}{query}\n) SELECT {} FROM portico_answer", shown.join(", "));
    (wrapped, list.is_empty().then(|| prefix.chars().count()))
}

/// Returns the decoders of columns; those without one are returned as text.
fn text_forms(columns: &[ColumnDescription]) -> Vec<ColumnDecoder> {
    columns
        .iter()
        .map(|column| ColumnDecoder::from_type(&column.type_).unwrap_or_else(|| printed("", &column.type_).1))
        .collect()
}
