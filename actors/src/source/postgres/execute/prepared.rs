//! A statement that is prepared before it runs: its parameters' types are asked for, its values
//! bound, and columns that only the source can print are asked for as text.

use crate::source::postgres::execute::transaction::begun;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{join, join3};
use tokio::sync::oneshot;
use tokio_postgres::Statement;

use crate::call::Argument;
use crate::error::{Error, Kind, Result};
use crate::source::postgres::bind::apart::Apart;
use crate::source::postgres::bind::argument;
use crate::source::postgres::bind::argument::Bound;
use crate::source::postgres::bind::inference::{Inferred, inferred};
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::catalog::relations;
use crate::source::postgres::catalog::relations::Question;
use crate::source::postgres::decode::columns::{Seen, seen};
use crate::source::postgres::decode::form::{Form, printed};
use crate::source::postgres::execute::answer::{Answer, Progress, finish};
use crate::source::postgres::execute::job::{APART, ELSEWHERE, Job};
use crate::source::postgres::execute::printed::Printing;
use crate::source::postgres::execute::running;
use crate::source::postgres::execute::running::Running;
use crate::source::postgres::execute::transaction::{PREPARED, ending, give_up, held};
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::sql::{self, Class};

/// Prepares `job` on `session` and runs it up to its first rows.
pub(crate) async fn prepared(session: Arc<Session>, knowledge: &Knowledge, job: &Job, clock: &Clock) -> Result<Answer> {
    let frame = job.frame();
    let made = match clock.bound(make_ready(&session, job, clock)).await? {
        Ok(made) => made,
        Err(error) => {
            if clock.bound(give_up(&session, frame, job.place)).await? {
                session.settle();
            }
            return Err(error);
        }
    };
    let Made { ready, text, bound, columns, forms, shift, printing, .. } = made;
    let tables = if job.terms.describes { relations::tables(&columns) } else { Vec::new() };
    let (asked, within) = if tables.is_empty() {
        (None, None)
    } else if job.asks_within() {
        let (tell, told) = oneshot::channel();
        (Some(Question::within(tables.clone(), told.map(Result::ok))), Some((tables, tell)))
    } else {
        (Some(knowledge.ask_of(tables)), None)
    };
    let opening = {
        let session = Arc::clone(&session);
        let begins = job.place.begins;
        let text = text.unwrap_or_else(|| job.text.clone());
        let printing = printing.clone();
        async move {
            // In front of the statement's rows: it holds its tables already.
            let described = async {
                if let Some((tables, tell)) = within {
                    let _ = tell.send(relations::seen_by(&session, tables).await?);
                }
                Ok(())
            };
            if let Some(printing) = printing {
                drop(ready);
                if !begins {
                    session.batch_execute(PREPARED).await?;
                }
                described.await?;
                return printing.run(Arc::clone(&session), bound).await;
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
    };
    let holds_rows = !columns.is_empty();
    // Several messages, each sent when the one before is answered: the end cannot be sent ahead.
    let end = if printing.is_some() {
        held(&session, frame, job.place)
    } else {
        ending(&session, frame, holds_rows, job.place)
    };
    let mut running = Running::new(Arc::clone(&session), opening, end);
    drop(session);
    let failed = |error| job.failure(&error, shift);
    let first = clock.bound(running.batch()).await?.map_err(failed)?;
    let progress = if first.is_some() {
        Progress::Running(running)
    } else {
        let (affected, session) = finish(running, clock, job.place).await?.map_err(failed)?;
        Progress::Over(affected, session)
    };
    Ok(Answer { columns, forms, first, progress, shift, asked, shape: None })
}

/// A prepared statement with its values, its transaction open.
pub(crate) struct Made {
    pub(crate) ready: Statement,
    /// What was prepared, where that is not the statement's own text.
    text: Option<String>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) columns: Vec<Seen>,
    pub(crate) forms: Vec<Form>,
    pub(crate) shift: usize,
    pub(crate) apart: Option<Apart>,
    /// Set where the statement has to be run for the source's own text.
    pub(crate) printing: Option<Arc<Printing>>,
}

/// Begins the transaction, or goes on with it, and prepares the statement of `job`.
pub(crate) async fn make_ready(session: &Session, job: &Job, clock: &Clock) -> Result<Made> {
    let Inferred { statement: ready, apart } = inferred(session, job, clock).await?;
    let bound = bound(job.arguments(), &ready, apart.as_ref())?;
    let columns = seen(ready.columns());
    let text = apart.as_ref().map(|apart| apart.text.clone());
    let shift = if apart.is_some() { APART } else { 0 };
    let natively: Option<Vec<Form>> = columns.iter().map(|column| Form::of(&column.type_)).collect();
    if let Some(forms) = natively {
        return Ok(Made { ready, text, bound, columns, forms, shift, apart, printing: None });
    }
    let own = text.as_deref().unwrap_or(&job.text);
    if matches!(job.class, Class::Call | Class::Session) {
        // Nothing can stand around a CALL, or a FETCH.
        let printing = Some(Arc::new(Printing::new(own, ready.params(), &columns)));
        return Ok(Made { ready, text, bound, forms: text_forms(&columns), columns, shift, apart, printing });
    }
    let (text, before) = as_text(own, job.class, &columns);
    let ready = session.prepare_typed(&text, ready.params()).await.map_err(|error| {
        let names: Vec<&str> =
            columns.iter().filter(|c| Form::of(&c.type_).is_none()).map(|c| c.label.as_str()).collect();
        Error::new(Kind::Rejected, format!("the values of {} can only be read as text", names.join(", ")))
            .hint("cast these columns to text")
            .because(error)
    })?;
    let shift = if shift == APART { APART } else { before };
    Ok(Made { ready, text: Some(text), bound, forms: text_forms(&columns), columns, shift, apart, printing: None })
}

/// The values as the types of the parameters read them.
pub(crate) fn bound(arguments: &[Argument], ready: &Statement, apart: Option<&Apart>) -> Result<Vec<Bound>> {
    let given = apart.map_or_else(|| arguments.iter().collect(), |apart| apart.arguments(arguments));
    if ready.params().len() != given.len() {
        let (needs, given) = (ready.params().len(), given.len());
        return Err(Error::invalid(format!("parameters: the statement takes {needs} values, {given} were given")));
    }
    given.into_iter().zip(ready.params()).map(|(argument, type_)| argument::bound(argument, type_)).collect()
}

/// The columns of a reader whose answer was empty.
pub(crate) async fn described(session: &Session, job: &Job, clock: &Clock) -> Result<Vec<Seen>, tokio_postgres::Error> {
    let (ready, clean) = join(begun(session, job, clock, &job.text, &[]), session.after_reading()).await;
    if clean {
        session.settle();
    }
    ready.map(|ready| seen(ready.columns()))
}

/// The statement with every column that has no native form as the source's own text, and how many
/// characters now stand in front of it.
fn as_text(text: &str, class: Class, columns: &[Seen]) -> (String, usize) {
    let names: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let shown: Vec<String> = columns
        .iter()
        .zip(&names)
        .map(|(column, name)| match Form::of(&column.type_) {
            Some(_) => name.clone(),
            None => printed(name, &column.type_).0,
        })
        .collect();
    // What changes data stands in the outermost WITH alone: its list becomes that of the frame.
    let behind = if class == Class::Select { None } else { sql::query_behind_with(text) };
    let (list, query) = text.split_at(behind.unwrap_or_default());
    let head = if list.is_empty() { "WITH ".to_owned() } else { format!("{list}, ") };
    let prefix = format!("{head}portico_answer({}) AS (\n", names.join(", "));
    // The line ends also end a comment that the statement may close with.
    let wrapped = format!("{prefix}{query}\n) SELECT {} FROM portico_answer", shown.join(", "));
    (wrapped, if list.is_empty() { prefix.chars().count() } else { ELSEWHERE })
}

/// Forms of columns, of which those without a native one come as text.
fn text_forms(columns: &[Seen]) -> Vec<Form> {
    columns.iter().map(|column| Form::of(&column.type_).unwrap_or_else(|| printed("", &column.type_).1)).collect()
}
