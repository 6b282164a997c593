//! Sends a statement's results and rows of metadata. What is asked, and of which connection, is decided in `sql`
//! and `metadata`.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use actix_web::{HttpRequest, HttpResponse};
use futures_util::{StreamExt, stream};
use portico_actors::call::RequestId;
use portico_actors::error::{Error, Result};
use portico_actors::principal::Principal;
use portico_actors::reply::{Column, Part, Results};

use crate::app::App;
use crate::encode::{self, Arrow, Document, Encoded, Lines, Shape};
use crate::http::api::media::{self, ResultFormat};
use crate::http::api::parameters;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::{caller, connections::socket, error};
use portico_actors::shares::Allowance;

/// How long a result's end is waited for before its first rows are sent.
const AT_ONCE: Duration = Duration::from_millis(2);
/// Parts of a result that still counts as small.
const SMALL_PARTS: usize = 4;
/// Parts that are held back at most until it is known whether a further result follows; a part is a
/// few hundred rows.
const HELD_PARTS: usize = 16;
/// Octets that are held back at most, give or take a part: rows may be large.
const HELD_OCTETS: usize = 4 * 1024 * 1024;
/// Octets that are held back without being counted: most answers have fewer.
const FREE: usize = 64 * 1024;

/// Reports how an answer ended after its first byte, which no status shows, to those that keep it.
#[derive(Clone, Default)]
pub(in crate::http) struct AnswerEnd(Arc<OnceLock<Option<u64>>>);

impl AnswerEnd {
    fn set(&self, rows: u64, failed: bool) {
        let _ = self.0.set((!failed).then_some(rows));
    }

    /// Returns the number of rows sent; `None` for an answer that failed.
    pub(in crate::http) fn rows(&self) -> Option<u64> {
        self.0.get().copied().unwrap_or(Some(0))
    }
}

/// Parts that are kept until it is known how their answer begins, counted for its caller.
struct Held {
    parts: Vec<Result<Part>>,
    /// Octets of their rows.
    rows: usize,
    /// Octets of all of them, and how many of these are counted.
    octets: usize,
    counted: usize,
    /// The columns of the last result.
    columns: Option<Arc<[Column]>>,
    room: Allowance<String>,
}

impl Held {
    fn none(room: Allowance<String>) -> Self {
        Self { parts: Vec::new(), rows: 0, octets: 0, counted: 0, columns: None, room }
    }

    /// # Errors
    /// There is no memory for it.
    fn push(&mut self, part: Result<Part>) -> Result<()> {
        let octets = match &part {
            // Many sets of values share the same columns.
            Ok(Part::Columns(columns)) => match self.columns.replace(Arc::clone(columns)) {
                Some(before) if Arc::ptr_eq(&before, columns) => size_of::<Result<Part>>(),
                _ => part.as_ref().map_or(0, Part::octets),
            },
            Ok(other) => other.octets(),
            Err(_) => size_of::<Result<Part>>(),
        };
        if let Ok(Part::Rows(batch)) = &part {
            self.rows += batch.octets();
        }
        self.parts.push(part);
        self.octets += octets;
        if self.octets <= FREE {
            return Ok(());
        }
        self.room.prepare(self.octets - self.counted)?;
        self.counted = self.octets;
        Ok(())
    }

    /// Whether so many more parts are still small.
    fn is_small(&self, parts: usize) -> bool {
        self.parts.len() < parts && self.rows < HELD_OCTETS
    }

    fn before(self, results: Results) -> Results {
        results.prepend(self.parts, self.room)
    }
}

/// Reads `results` up to their first row, or their end: until then the status can report an error. What is kept
/// until then (a result without rows for each statement or set of values in the body) is counted in `room`.
pub(in crate::http) async fn begin(mut results: Results, room: Allowance<String>) -> Result<Results> {
    let mut first = Held::none(room);
    while let Some(part) = results.next().await {
        let rows = matches!(part, Ok(Part::Rows(_)));
        first.push(Ok(part?))?;
        if rows {
            break;
        }
    }
    // A result that ends at once is sent in one piece. Rows that were read are always sent: an error after them has
    // its place in the document.
    while matches!(first.parts.last(), Some(Ok(Part::Rows(_)))) && first.is_small(SMALL_PARTS) {
        match tokio::time::timeout(AT_ONCE, results.next()).await {
            Ok(Some(part)) => first.push(part)?,
            Ok(None) | Err(_) => break,
        }
    }
    Ok(first.before(results))
}

/// Does what [`begin`] does for results that were asked for at a time, and records how the time since was spent.
pub(in crate::http) async fn begin_timed(
    asked: Instant,
    results: Results,
    room: Allowance<String>,
    recorder: &mut CallRecorder,
) -> Result<Results> {
    let queued = results.queued;
    let begun = begin(results, room).await;
    recorder.note(|event| {
        event.queued = Some(queued);
        event.source = Some(asked.elapsed().saturating_sub(queued));
    });
    begun
}

/// As [`begin`], for results that may be followed by another one, in a format with room for one: reads the first
/// one to its end if it is small, so that the status can report a second one. For a larger one the format has to
/// report it, possibly by being cut off.
pub(in crate::http) async fn begin_alone(mut results: Results, room: Allowance<String>) -> Result<Results> {
    let (mut held, mut done) = (Held::none(room), false);
    while held.is_small(HELD_PARTS)
        && let Some(part) = results.next().await
    {
        if done {
            // Dropped unread, it is undone.
            return Err(part.err().unwrap_or_else(encode::surplus));
        }
        done = matches!(part, Ok(Part::Done { .. }));
        let failed = part.is_err();
        held.push(part)?;
        if failed {
            break;
        }
    }
    Ok(held.before(results))
}

/// Runs `work` and sends its results, or its error, in the format that the client asks for. Nothing is started for
/// a client that accepts none of the formats.
pub(in crate::http) async fn send(
    request: &HttpRequest,
    app: &App,
    by: &Principal,
    work: impl AsyncFnOnce(&mut CallRecorder) -> Result<Results>,
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(request, app);
    recorder.note_caller(by);
    let id = recorder::request_id(request);
    let Some(form) = media::choose(request) else {
        let refusal = Error::invalid("Accept: this service has no format that is accepted here")
            .hint("accept application/json, text/csv, application/x-ndjson or application/vnd.apache.arrow.stream");
        recorder.finish(0, Some(&refusal));
        return error::with_status(error::NOT_ACCEPTABLE, &refusal, id);
    };
    // A result that cannot be written is not computed.
    let begun = match parameters::shape(request.query_string(), form) {
        Ok(shape) => {
            let begun = socket::while_present(request, pin!(work(&mut recorder))).await.and_then(|begun| begun);
            begun.map(|results| (shape, results))
        }
        Err(refusal) => Err(refusal),
    };
    match begun {
        Ok((shape, results)) => {
            let class = results.class;
            recorder.note(|event| event.class = class);
            respond(request, id, (form, shape), results, recorder).await
        }
        Err(failure) => {
            recorder.finish(0, Some(&failure));
            error::api(&failure, id, Some(&caller::api_challenge(request, app)))
        }
    }
}

/// Sends `results` in `form`: the body is written while they are read, and `recorder` records its end.
async fn respond(
    request: &HttpRequest,
    id: RequestId,
    (form, shape): (ResultFormat, Shape),
    results: Results,
    mut recorder: CallRecorder,
) -> HttpResponse {
    let end = AnswerEnd::default();
    let mut response = HttpResponse::Ok();
    response.extensions_mut().insert(end.clone());
    let ended = move |rows, bytes, failure: Option<&Error>| {
        recorder.record(|request| request.bytes = Some(bytes));
        recorder.finish(rows, failure);
        end.set(rows, failure.is_some());
        failure.map(|failure| error::body(failure, id))
    };
    response.content_type(form.content_type());
    match form {
        ResultFormat::Document => {
            let document = Document::new(results.dry_run, shape);
            response.streaming(socket::Watched::new(request, Encoded::new(document, results, ended)))
        }
        ResultFormat::Arrow => {
            let mut rows = Encoded::new(Arrow::default(), results, ended);
            // The first rows are read: an error in them still gets a status of its own.
            match rows.next().await {
                Some(Err(failure)) => error::api(&failure, id, None),
                first => {
                    let rows = stream::iter(first).chain(rows);
                    response.streaming(socket::Watched::new(request, rows))
                }
            }
        }
        ResultFormat::Lines(form) => {
            let lines = Lines::new(form, shape.numbers);
            response.streaming(socket::Watched::new(request, Encoded::new(lines, results, ended)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use portico_actors::error::Kind;
    use portico_actors::reply::{Batch, Cell};

    use super::*;
    use portico_actors::shares::{ShareLimits, Shares};

    struct Large;

    impl Batch for Large {
        fn rows(&self) -> usize {
            1
        }

        fn octets(&self) -> usize {
            3 * 1024 * 1024
        }

        fn cell(&self, _: usize, _: usize) -> Result<Cell<'_>> {
            Ok(Cell::Null)
        }
    }

    #[actix_web::test]
    async fn large_rows_are_not_gathered() {
        let read = Arc::new(AtomicUsize::new(0));
        let results = || {
            let read = Arc::clone(&read);
            read.store(0, Ordering::Relaxed);
            Results::new(
                false,
                stream::repeat_with(move || {
                    read.fetch_add(1, Ordering::Relaxed);
                    Ok(Part::Rows(Box::new(Large) as Box<dyn Batch>))
                }),
            )
        };
        let shares = Shares::default();
        let room = |all: usize| shares.room("ann".to_owned(), ShareLimits { each: all, all });
        let begun = begin(results(), room(8 << 20)).await.unwrap();
        assert_eq!((read.load(Ordering::Relaxed), shares.taken() >> 20), (2, 6));
        // The held parts have been sent.
        assert_eq!(begun.take(3).count().await, 3);
        assert_eq!(shares.taken(), 0);
        let begun = begin_alone(results(), room(8 << 20)).await;
        assert!(begun.is_ok() && read.load(Ordering::Relaxed) == 2);
        drop(begun);
        let refused = begin(results(), room(4 << 20)).await.unwrap_err();
        assert_eq!((refused.kind, shares.taken()), (Kind::Busy, 0));
    }
}
