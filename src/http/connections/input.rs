//! Where the octets that come on a connection of HTTP/1 stand between its messages: whether a head has begun that is
//! not whole. Only the HTTP library reads them; here they are counted.

use actix_web::rt::time::Instant;
use memchr::memchr;

/// Octets in which it shows how lines end: something, its end, an empty line, and one more.
const END: usize = 8;

/// The input of one connection.
#[derive(Debug, Default)]
pub(in crate::http) struct Input {
    place: MessagePosition,
    lines: Lines,
    /// The length in bytes of the active request's body, if declared.
    body: Option<u64>,
    working: bool,
    begun: Option<Instant>,
    /// Whether there was a request: the first head has a deadline of its own, from the start of the connection.
    follows: bool,
}

/// How much came since the end of the last message.
#[derive(Clone, Copy, Debug, Default)]
enum MessagePosition {
    /// No whole head.
    #[default]
    Head,
    /// A head, and so many octets.
    Beyond(u64),
    /// Unknown: pipelined requests are not separated here.
    Lost,
}

/// The lines that octets make.
#[derive(Debug, Default)]
struct Lines {
    /// Whether there was one that is not empty.
    some: bool,
    /// Whether the last one has something in it by now.
    filled: bool,
    /// Empty ones at the end.
    empty: usize,
}

impl Lines {
    /// Takes octets up to the end of a head, or all of them; how many are left behind a head.
    fn take_head(&mut self, octets: &[u8]) -> Option<usize> {
        let mut rest = octets;
        while let Some(end) = memchr(b'\n', rest) {
            self.fill(&rest[..end]);
            self.break_line();
            rest = &rest[end + 1..];
            if self.some && self.empty == 1 {
                return Some(rest.len());
            }
        }
        self.fill(rest);
        None
    }

    /// Takes bytes of which only the end matters.
    fn take_end(&mut self, octets: &[u8]) {
        for piece in octets[octets.len().saturating_sub(END)..].split_inclusive(|octet| *octet == b'\n') {
            match piece.split_last() {
                Some((b'\n', piece)) => {
                    self.fill(piece);
                    self.break_line();
                }
                _ => self.fill(piece),
            }
        }
    }

    fn fill(&mut self, octets: &[u8]) {
        if octets.iter().any(|octet| *octet != b'\r') {
            (self.some, self.filled) = (true, true);
        }
    }

    fn break_line(&mut self) {
        self.empty = if self.filled { 0 } else { self.empty + 1 };
        self.filled = false;
    }

    /// Whether they end where a message without a body does, or one in chunks: with one empty line.
    fn end_a_message(&self) -> bool {
        !self.filled && self.empty == 1
    }
}

impl Input {
    /// Takes bytes that were read.
    pub(in crate::http) fn read(&mut self, octets: &[u8]) {
        if !self.working && self.follows && self.begun.is_none() && !octets.is_empty() {
            self.begun = Some(Instant::now());
        }
        match &mut self.place {
            MessagePosition::Head => {
                if let Some(rest) = self.lines.take_head(octets) {
                    self.place = MessagePosition::Beyond(rest as u64);
                    self.lines.take_end(&octets[octets.len() - rest..]);
                }
            }
            MessagePosition::Beyond(beyond) => {
                *beyond += octets.len() as u64;
                self.lines.take_end(octets);
            }
            MessagePosition::Lost => self.lines.take_end(octets),
        }
    }

    /// A request is worked on, with a body of so many octets, or of as many as come.
    pub(in crate::http) fn begin(&mut self, body: Option<u64>) {
        if matches!(self.place, MessagePosition::Head) {
            // Its head arrived together with the previous input, up to the end of a message.
            self.place = MessagePosition::Lost;
            self.lines = Lines { some: true, filled: false, empty: 1 };
        }
        (self.body, self.working, self.follows, self.begun) = (body, true, true, None);
    }

    /// The request was answered.
    pub(in crate::http) fn end(&mut self) {
        self.working = false;
        let more = match (self.place, self.body) {
            (MessagePosition::Beyond(beyond), Some(body)) => beyond > body,
            _ => !self.lines.end_a_message(),
        };
        if more {
            (self.place, self.begun) = (MessagePosition::Lost, Some(Instant::now()));
        } else {
            (self.place, self.lines) = (MessagePosition::Head, Lines::default());
        }
    }

    /// Since when a head is awaited that has begun.
    pub(in crate::http) fn begun(&self) -> Option<Instant> {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const POST: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{ }";
    const CHUNKS: &str = "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n3\r\n{ }\r\n0\r\n\r\n";

    /// Returns whether a head has started after requests with these bodies were answered: with the text in pieces
    /// of each length, and the part after the first head before the request is processed or while it is.
    fn begun(text: &str, bodies: &[Option<u64>]) -> bool {
        let ends = ["\n\n", "\r\n\r\n"].map(|end| text.trim_start().find(end).map(|at| at + end.len()));
        let head = ends.into_iter().flatten().min().unwrap() + text.len() - text.trim_start().len();
        let mut told = Vec::new();
        for (length, before) in (1..=text.len()).flat_map(|length| [(length, head), (length, text.len())]) {
            let mut input = Input::default();
            let (before, mut later) = text.as_bytes().split_at(before);
            before.chunks(length).for_each(|piece| input.read(piece));
            for body in bodies {
                input.begin(*body);
                std::mem::take(&mut later).chunks(length).for_each(|piece| input.read(piece));
                input.end();
            }
            told.push(input.begun().is_some());
        }
        assert!(told.iter().all(|each| *each == told[0]), "{text:?}: {told:?}");
        told[0]
    }

    #[test]
    fn what_came_beyond_a_message_begins_a_head() {
        for (message, body) in [(GET, Some(0)), (POST, Some(3)), (CHUNKS, None)] {
            assert!(!begun(message, &[body]), "{message:?}");
            assert!(!begun(&format!("\r\n\n{message}"), &[body]), "empty lines before a head are none of it");
            for more in ["G", "GET / HTTP/1.1\r\nHost: a", "GET / HTTP/1.1\r\nHost: a\r\n", "\r\n", "\n", "\n\n"] {
                assert!(begun(&format!("{message}{more}"), &[body]), "{message:?} and {more:?}");
            }
        }
    }

    #[test]
    fn requests_that_came_at_once_leave_nothing_behind() {
        for (first, length) in [(GET, Some(0)), (POST, Some(3)), (CHUNKS, None)] {
            for (last, body) in [(GET, Some(0)), (CHUNKS, None)] {
                let both = format!("{first}{last}");
                assert!(!begun(&both, &[length, body]), "{both:?}");
                assert!(begun(&format!("{both}\r\n"), &[length, body]), "{both:?}");
                assert!(begun(&format!("{both}GET /"), &[length, body]), "{both:?}");
            }
        }
    }

    #[test]
    fn a_head_begins_with_its_first_octet_and_ends_when_it_is_worked_on() {
        let mut input = Input::default();
        input.read(GET.as_bytes());
        assert!(input.begun().is_none(), "the first one is timed by the library");
        input.begin(Some(0));
        input.end();
        assert!(input.begun().is_none());
        input.read(b"\r");
        assert!(input.begun().is_some());
        input.read(GET.as_bytes());
        input.begin(Some(0));
        assert!(input.begun().is_none());
    }
}
