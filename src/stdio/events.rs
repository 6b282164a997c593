//! Reads a stream of server-sent events (HTML, §9.2), as far as the protocol uses them.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;

use super::server::Failure;

/// After how long without a byte a stream is taken for lost: a service says something every 15 seconds.
const SILENCE: Duration = Duration::from_secs(60);
/// When a stream is to be taken up again where the service does not say so.
const RETRY: Duration = Duration::from_millis(500);

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its position in the stream.
    pub(super) id: Option<String>,
    /// A message; empty in an event that only has an id.
    pub(super) data: Vec<u8>,
}

/// A stream that is being read.
pub(super) struct Events {
    response: Response,
    parser: Parser,
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Self { response, parser: Parser::default() }
    }

    /// Returns the next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream broke off.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let read = timeout(SILENCE, self.response.chunk()).await;
            match read.map_err(|_| Failure::Broken("the service was silent for too long".to_owned()))? {
                Ok(Some(chunk)) => self.parser.buffer.extend_from_slice(&chunk),
                Ok(None) => return Ok(None),
                Err(error) => return Err(Failure::from_error(&error)),
            }
        }
    }

    /// How long the service asks to wait before the stream is taken up again.
    pub(super) fn retry(&self) -> Duration {
        self.parser.retry.unwrap_or(RETRY)
    }
}

#[derive(Default)]
struct Parser {
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    read: usize,
    /// Up to where no end of a line was found.
    searched: usize,
    event: Event,
    has_data: bool,
    retry: Option<Duration>,
}

impl Parser {
    fn next(&mut self) -> Option<Event> {
        loop {
            let Some(length) = self.buffer.get(self.searched..).and_then(|rest| memchr::memchr(b'\n', rest)) else {
                self.buffer.drain(..self.read);
                (self.read, self.searched) = (0, self.buffer.len());
                return None;
            };
            let end = self.searched + length;
            let line = self.buffer.get(self.read..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let is_over = line.is_empty();
            let (name, value) = match memchr::memchr(b':', line) {
                Some(colon) => line.split_at(colon),
                None => (line, &b""[..]),
            };
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            let text = || std::str::from_utf8(value).ok();
            match name {
                b"data" => {
                    if self.has_data {
                        self.event.data.push(b'\n');
                    }
                    self.event.data.extend_from_slice(value);
                    self.has_data = true;
                }
                b"id" => self.event.id = text().map(str::to_owned),
                b"retry" => {
                    self.retry = text().and_then(|text| text.parse().ok()).map(Duration::from_millis).or(self.retry);
                }
                _ => {}
            }
            (self.read, self.searched) = (end + 1, end + 1);
            if is_over {
                let has_event = std::mem::take(&mut self.has_data) || self.event.id.is_some();
                let event = std::mem::take(&mut self.event);
                if has_event {
                    return Some(event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream =
            "retry: 250\n\nid: 7-0\ndata: \n\n: keep-alive\n\nid:7-1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x";
        for size in [1, 2, 5, stream.len()] {
            let (mut parser, mut events) = (Parser::default(), Vec::new());
            for part in stream.as_bytes().chunks(size) {
                parser.buffer.extend_from_slice(part);
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            let event = |id: &str, data: &str| Event { id: Some(id.to_owned()), data: data.as_bytes().to_vec() };
            assert_eq!(events, [event("7-0", ""), event("7-1", "{\"a\":\n1}")], "{size}");
            assert_eq!(parser.retry, Some(Duration::from_millis(250)));
        }
    }
}
