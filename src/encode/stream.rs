//! Results as a stream of bytes while they are read, in any format. The formats are in `formats/`.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use portico_actors::error::{Error, Result};
use portico_actors::reply::{Part, Results};

use crate::encode::failure::ErrorBody;

/// Bytes that go out although more may come at once.
const WORTH_SENDING: usize = 16 * 1024;

/// A form that results are written in.
pub trait ResultEncoder: Unpin {
    /// Whether an error is reported before bytes that were not sent yet: the status can then show it.
    const FAILS_FIRST: bool = false;

    /// Writes one part, and counts its rows. Writes nothing of a row that cannot be read.
    fn write(&mut self, part: Part, out: &mut Vec<u8>, rows: &mut u64) -> Result<()>;

    /// Writes what is buffered, because the next part does not come at once.
    fn flush(&mut self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Writes the end, where there is one in spite of a failure.
    fn end(&mut self, failed: bool, out: &mut Vec<u8>) -> Result<()>;

    /// Writes the failure, if the form has a place for it behind its rows.
    fn write_failure(&mut self, _failure: &ErrorBody, _out: &mut Vec<u8>) -> bool {
        false
    }
}

/// Streams results. A form without a place for failures breaks off with one.
pub struct Encoded<E, F> {
    results: Option<Results>,
    form: E,
    rows: u64,
    /// Bytes that were sent.
    bytes: u64,
    broken: Option<Error>,
    /// Puts an error into the form of the wire, and learns of the end.
    ended: F,
}

impl<E, F> Encoded<E, F>
where
    E: ResultEncoder,
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    /// Streams `results` in `form`. `ended` is called once at the end with the numbers of rows and of bytes
    /// up to there, and the failure, which it puts into the form of the wire.
    pub fn new(form: E, results: Results, ended: F) -> Self {
        Self { results: Some(results), form, rows: 0, bytes: 0, broken: None, ended }
    }

    fn sent(&mut self, out: Vec<u8>) -> Poll<Option<Result<Bytes>>> {
        self.bytes += out.len() as u64;
        Poll::Ready(Some(Ok(Bytes::from(out))))
    }

    /// The end of the stream, with the failure if there was one.
    fn close(&mut self, mut out: Vec<u8>, failure: Option<Error>) -> Poll<Option<Result<Bytes>>> {
        self.results = None;
        let ended = self.form.end(failure.is_some(), &mut out);
        let mut failure = failure.or(ended.err());
        let fails_first = E::FAILS_FIRST && self.bytes == 0;
        self.bytes += out.len() as u64;
        let told = (self.ended)(self.rows, self.bytes, failure.as_ref());
        if told.is_some_and(|told| self.form.write_failure(&told, &mut out)) {
            failure = None;
        }
        Poll::Ready(match failure {
            Some(failure) if fails_first || out.is_empty() => Some(Err(failure)),
            None if out.is_empty() => None,
            failure => {
                self.broken = failure;
                Some(Ok(Bytes::from(out)))
            }
        })
    }
}

impl<E, F> Stream for Encoded<E, F>
where
    E: ResultEncoder,
    F: FnMut(u64, u64, Option<&Error>) -> Option<ErrorBody> + Unpin,
{
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        // Parts that are there already go out in one piece.
        let (this, mut out) = (&mut *self, Vec::new());
        loop {
            let part = match this.results.as_mut().map(|results| results.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Poll::Ready(None)) => return this.close(out, None),
                Some(Poll::Ready(Some(part))) => Some(part),
                Some(Poll::Pending) => None,
            };
            let pending = part.is_none();
            let written = match part {
                Some(part) => part.and_then(|part| this.form.write(part, &mut out, &mut this.rows)),
                None => this.form.flush(&mut out),
            };
            match written {
                Err(error) => return this.close(out, Some(error)),
                Ok(()) if pending && out.is_empty() => return Poll::Pending,
                Ok(()) if pending || out.len() >= WORTH_SENDING => return this.sent(out),
                Ok(()) => {}
            }
        }
    }
}
