//! Messages as lines, read and written on threads of their own: pipes block, and a thread that waits for a client
//! must not delay the end of the process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::oversized::IdScanner;
use crate::mcp::model::Id;

/// Bytes of one message at most. A service takes less: `server.max_body`.
pub(super) const LONGEST: usize = 64 * 1024 * 1024;
/// Messages that wait on either side.
const WAITING: usize = 16;
/// Bytes that are read at once.
const BLOCK: usize = 64 * 1024;
/// How long writing the last messages may take, since the client may have left.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// One line of a client's.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// A message of any kind.
    Message(Bytes),
    /// One that is longer than [`LONGEST`], with its id where it has one.
    TooLong(Option<Id>),
}

/// The lines of `input`, until it ends.
pub(super) fn incoming(input: impl Read + Send + 'static) -> mpsc::Receiver<Frame> {
    let (sender, lines) = mpsc::channel(WAITING);
    thread::spawn(move || {
        let mut input = BufReader::with_capacity(BLOCK, input);
        loop {
            match next(&mut input, LONGEST) {
                Ok(Some(Frame::Message(line))) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Some(frame)) => {
                    if sender.blocking_send(frame).is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    log::error!("standard input cannot be read: {error}");
                    return;
                }
            }
        }
    });
    lines
}

/// The next line of `longest` bytes at most, without its end; the last one may lack one.
fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Frame>> {
    let mut line = Vec::new();
    let mut scanner: Option<IdScanner> = None;
    loop {
        let block = match input.fill_buf() {
            Ok(block) => block,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = memchr::memchr(b'\n', block);
        let part = end.map_or(block, |end| block.get(..end).unwrap_or_default());
        match &mut scanner {
            Some(scanner) => scanner.read(part),
            None if line.len() + part.len() > longest => {
                let mut begun = IdScanner::default();
                begun.read(&line);
                begun.read(part);
                line = Vec::new();
                scanner = Some(begun);
            }
            None => line.extend_from_slice(part),
        }
        let (taken, is_over) = (part.len() + usize::from(end.is_some()), block.is_empty());
        input.consume(taken);
        if end.is_some() || is_over {
            return Ok(match scanner {
                Some(scanner) => Some(Frame::TooLong(scanner.id())),
                None if is_over && line.is_empty() => None,
                None => Some(Frame::Message(line.into())),
            });
        }
    }
}

/// Where messages to the client go.
#[derive(Clone, Debug)]
pub(super) struct Outbox(mpsc::Sender<Bytes>);

impl Outbox {
    /// Queues a message after the previous ones. Ignored if the client has left.
    pub(super) async fn send(&self, message: impl Into<Bytes>) {
        let _ = self.0.send(message.into()).await;
    }

    /// Completes when the output is not read any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The thread that writes.
pub(super) struct Writer(oneshot::Receiver<()>);

impl Writer {
    /// Waits until everything is written, when `last`, which could still send, is gone.
    pub(super) async fn finished(self, last: impl Sized) {
        drop(last);
        if tokio::time::timeout(LAST_WORDS, self.0).await.is_err() {
            log::warn!("the client does not read, and did not receive everything");
        }
    }
}

/// Writes messages as lines to `output`.
pub(super) fn outgoing(mut output: impl Write + Send + 'static) -> (Outbox, Writer) {
    let (sender, mut messages) = mpsc::channel::<Bytes>(WAITING);
    let (done, finished) = oneshot::channel();
    thread::spawn(move || {
        while let Some(message) = messages.blocking_recv() {
            let written = write(&mut output, &message).and_then(|()| {
                // A reader waiting for the next message waits for this one too.
                if messages.is_empty() { output.flush() } else { Ok(()) }
            });
            if let Err(error) = written {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    log::error!("standard output cannot be written: {error}");
                }
                break;
            }
        }
        let _ = done.send(());
    });
    (Outbox(sender), Writer(finished))
}

/// Writes a message as one line. In JSON a line end can only be between values, where it equals a space.
fn write(output: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let mut rest = message;
    while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
        let (line, more) = rest.split_at(end);
        output.write_all(line)?;
        output.write_all(b" ")?;
        rest = more.get(1..).unwrap_or_default();
    }
    output.write_all(rest)?;
    output.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(input: &str, longest: usize) -> Vec<Frame> {
        let mut input = BufReader::with_capacity(7, input.as_bytes());
        std::iter::from_fn(|| next(&mut input, longest).unwrap()).collect()
    }

    fn message(text: &'static str) -> Frame {
        Frame::Message(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_are_messages() {
        assert_eq!(
            frames("{\"a\":1}\n\nlonger than a block\nlast", 100),
            [message("{\"a\":1}"), message(""), message("longer than a block"), message("last")]
        );
        assert_eq!(frames("", 100), []);
    }

    #[test]
    fn what_is_too_long_is_passed_over_and_told_by_its_id() {
        let found = frames("{\"method\":\"ping\",\"params\":{\"id\":1},\"id\":\"x\"}\n{}\n", 20);
        assert_eq!(found.len(), 2);
        assert!(matches!(&found[0], Frame::TooLong(Some(id)) if id.as_json() == "\"x\""), "{found:?}");
        assert_eq!(found[1], message("{}"));
    }

    #[test]
    fn a_message_is_one_line() {
        let mut written = Vec::new();
        write(&mut written, b"{\n  \"a\": 1\r\n}").unwrap();
        assert_eq!(written, b"{   \"a\": 1  }\n");
    }
}
