//! Checks a server's messages while they arrive (PostgreSQL, §55.7), before they are buffered: none may be too
//! large, and the settings that texts are interpreted by must not change. A refusal appears as an error of the
//! server, in its place among the answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use portico_core::budget::FREE;

/// The maximal size of a row in bytes: a value of 64 MiB and its overhead.
const MOST_OF_ROW: usize = 64 * 1024 * 1024 + 64 * 1024;
/// Octets of any other message at most. The longest that is of use describes 1,600 columns.
const MOST: usize = 1024 * 1024;
/// The size in bytes from which the fields of an error or a notice are cut.
const LONG: usize = 64 * 1024;
/// The size in bytes that such a field is cut to. More than is shown of it, so that the cut is marked there.
const MOST_OF_FIELD: usize = 9 * 1024;
/// The maximal number of fields in such a message. PostgreSQL has 18.
const MOST_FIELDS: usize = 32;

/// Tag, and a length that counts itself.
const HEAD: usize = 5;

/// Marks an error made here, in the field where a server names its own routine.
pub(crate) const TOO_LARGE: &str = "portico_too_large";
/// `program_limit_exceeded`.
const LIMIT: &str = "54000";
/// `cant_change_runtime_param`.
const PINNED_PARAMETER: &str = "55P02";

/// The settings by which statements and values are interpreted, here and at the server, and their required values.
const PINNED: [(&str, &[&str]); 2] =
    [("client_encoding", &["UTF8", "UTF-8", "UNICODE"]), ("standard_conforming_strings", &["on"])];
/// Prevents writes outside of a transaction. Servers report it since version 14.
const READ_ONLY: &str = "default_transaction_read_only";

/// When the pinned settings must have their values: only once this is set, and behind a pooler only within
/// transactions, which start by setting them.
#[derive(Default)]
pub(crate) struct PinnedSettings {
    pooled: OnceLock<bool>,
    /// Whether the session only reads by itself, as far as the server has reported it.
    only_reads: AtomicBool,
}

impl PinnedSettings {
    /// From now on.
    pub(crate) fn set(&self, pooled: bool) {
        // Each time it is the same.
        let _ = self.pooled.set(pooled);
    }

    fn holds(&self, status: Option<u8>) -> bool {
        self.pooled.get().is_some_and(|pooled| !pooled || status == Some(b'T'))
    }

    /// Whether the session only reads by itself, as the server has reported last.
    pub(crate) fn only_reads(&self) -> bool {
        self.only_reads.load(Ordering::Acquire)
    }
}

/// The messages of one session.
pub(crate) struct Messages {
    state: State,
    pin: Arc<PinnedSettings>,
    /// The values of pinned settings that differ from the required ones.
    wrong: [Option<String>; PINNED.len()],
    /// The bytes to pass on.
    pub(crate) out: Vec<u8>,
    /// A message was refused: nothing more is read.
    pub(crate) over: bool,
    /// The size of a row that starts and is so large that memory must be reserved first.
    pub(crate) announced: Option<usize>,
    /// Octets of a row at most.
    most_of_row: usize,
}

enum State {
    /// Between two messages, or in a head.
    Head([u8; HEAD], usize),
    /// In a message that passes as it is.
    Body(usize),
    /// In one that is looked at when it is complete.
    Kept { message: Vec<u8>, left: usize },
    /// In an error or a notice that is cut.
    Cut { cut: Cut, left: usize },
}

impl Messages {
    /// Makes the initial state. Rows may have `room` bytes. The first `unframed` bytes are not a message.
    pub(crate) fn new(pin: Arc<PinnedSettings>, room: usize, unframed: usize) -> Self {
        let state = if unframed == 0 { State::Head([0; HEAD], 0) } else { State::Body(unframed) };
        let (wrong, most_of_row) = ([const { None }; PINNED.len()], MOST_OF_ROW.min(room));
        Self { state, pin, wrong, out: Vec::new(), over: false, announced: None, most_of_row }
    }

    /// How many of the next octets pass as they are.
    pub(crate) fn passes(&self) -> usize {
        match self.state {
            State::Body(left) => left,
            _ => 0,
        }
    }

    /// Counts bytes of the current message that were passed on without this parser.
    pub(crate) fn passed(&mut self, count: usize) {
        if let State::Body(left) = &mut self.state {
            *left = left.saturating_sub(count);
            self.rest();
        }
    }

    /// How many of these octets, which begin with a message, are whole messages that pass as they are: nearly all
    /// that come in.
    fn ordinary(&self, octets: &[u8]) -> usize {
        let most = LONG.min(FREE).min(self.most_of_row);
        let mut end = 0;
        while let Some([tag, length @ ..]) = octets.get(end..).and_then(<[u8]>::first_chunk::<HEAD>) {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            let is_whole = (4..=most).contains(&length) && octets.len() - end > length;
            if !is_whole || matches!(tag, b'S' | b'Z') {
                break;
            }
            end += 1 + length;
        }
        end
    }

    /// Parses the bytes that have arrived.
    pub(crate) fn feed(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() && !self.over {
            if matches!(self.state, State::Head(_, 0)) {
                let (ordinary, rest) = octets.split_at(self.ordinary(octets));
                self.out.extend_from_slice(ordinary);
                octets = rest;
            }
            let wanted = match &self.state {
                State::Head(_, have) => HEAD - have,
                State::Body(left) | State::Kept { left, .. } | State::Cut { left, .. } => *left,
            };
            let (now, later) = octets.split_at(wanted.min(octets.len()));
            octets = later;
            match &mut self.state {
                State::Head(head, have) => {
                    head[*have..*have + now.len()].copy_from_slice(now);
                    *have += now.len();
                    if *have == HEAD {
                        let head = *head;
                        self.begin(head);
                    }
                    continue;
                }
                State::Body(left) => {
                    self.out.extend_from_slice(now);
                    *left -= now.len();
                }
                State::Kept { message, left } => {
                    message.extend_from_slice(now);
                    *left -= now.len();
                }
                State::Cut { cut, left } => {
                    cut.feed(now);
                    *left -= now.len();
                }
            }
            self.rest();
        }
    }

    /// A message begins.
    fn begin(&mut self, head: [u8; HEAD]) {
        let [tag, length @ ..] = head;
        let Some(left) = usize::try_from(u32::from_be_bytes(length)).ok().and_then(|length| length.checked_sub(4))
        else {
            // The wire library reports what is wrong with it.
            self.out.extend_from_slice(&head);
            self.over = true;
            return;
        };
        let most = match tag {
            b'D' => self.most_of_row,
            // A message whose fields are cut needs no memory.
            b'd' | b'E' | b'N' => MOST_OF_ROW,
            _ => MOST,
        };
        if left > most {
            return self.refuse_size(tag, left, most);
        }
        self.announced = Some(left).filter(|left| tag == b'D' && *left > FREE);
        self.state = match tag {
            b'E' | b'N' if left > LONG => State::Cut { cut: Cut::new(tag), left },
            // ParameterStatus and ReadyForQuery.
            b'S' | b'Z' => State::Kept { message: head.to_vec(), left },
            _ => {
                self.out.extend_from_slice(&head);
                State::Body(left)
            }
        };
        self.rest();
    }

    /// Ends a message if no bytes of it are left.
    fn rest(&mut self) {
        let (State::Body(0) | State::Kept { left: 0, .. } | State::Cut { left: 0, .. }) = &self.state else { return };
        match std::mem::replace(&mut self.state, State::Head([0; HEAD], 0)) {
            State::Kept { message, .. } => self.look_at(&message),
            State::Cut { cut, .. } => cut.finish(&mut self.out),
            State::Head(..) | State::Body(_) => {}
        }
    }

    fn look_at(&mut self, message: &[u8]) {
        let (tag, body) = (message.first(), message.get(HEAD..).unwrap_or_default());
        if tag == Some(&b'Z') {
            if self.pin.holds(body.first().copied())
                && let Some(((name, allowed), wrong)) =
                    PINNED.iter().zip(&self.wrong).find(|(_, wrong)| wrong.is_some())
            {
                let (wrong, pinned) = (wrong.as_deref().unwrap_or_default(), allowed[0]);
                let message = format!("{name} was changed to {wrong}, and stays {pinned} here: its session was closed");
                return self.refuse(PINNED_PARAMETER, &message, "leave this setting as it is", "portico_pinned");
            }
        } else {
            let mut texts = body.split(|octet| *octet == 0).map(String::from_utf8_lossy);
            let (name, value) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
            if name == READ_ONLY {
                self.pin.only_reads.store(value == "on", Ordering::Release);
            }
            if let Some(number) = PINNED.iter().position(|(pinned, _)| *pinned == name) {
                let right = PINNED[number].1.iter().any(|allowed| value.eq_ignore_ascii_case(allowed));
                self.wrong[number] = (!right).then(|| value.chars().take(64).collect());
            }
        }
        self.out.extend_from_slice(message);
    }

    fn refuse_size(&mut self, tag: u8, size: usize, most: usize) {
        let (what, hint) = match tag {
            b'D' | b'd' => (
                "a row of the answer",
                "ask for fewer columns, or for a part of a large value, as substring(value FROM 1 FOR 1000000) does",
            ),
            b'E' | b'N' => ("the source's message about the statement", "raise shorter messages"),
            _ => ("a message of the source", "ask for less at once"),
        };
        let most = most / 1024 / 1024;
        let message = format!("{what} has {size} bytes, and at most {most} MiB are read; the statement was cancelled");
        self.refuse(LIMIT, &message, hint, TOO_LARGE);
    }

    /// Puts an error in the place of a message, and stops reading.
    fn refuse(&mut self, sqlstate: &str, message: &str, hint: &str, routine: &str) {
        let mut cut = Cut::new(b'E');
        let fields =
            [(b'S', "ERROR"), (b'V', "ERROR"), (b'C', sqlstate), (b'M', message), (b'H', hint), (b'R', routine)];
        for (field, text) in fields {
            cut.feed(&[field]);
            cut.feed(text.as_bytes());
            cut.feed(&[0]);
        }
        cut.finish(&mut self.out);
        self.over = true;
    }
}

/// An error or a notice whose fields are cut.
struct Cut {
    message: Vec<u8>,
    fields: usize,
    /// The start of the field that is being read; `None` between fields.
    text: Option<usize>,
    /// The last field was read.
    ended: bool,
}

impl Cut {
    fn new(tag: u8) -> Self {
        // The length is known at the end.
        Self { message: vec![tag, 0, 0, 0, 0], fields: 0, text: None, ended: false }
    }

    fn feed(&mut self, mut octets: &[u8]) {
        while let Some(first) = octets.first().copied().filter(|_| !self.ended) {
            let Some(start) = self.text else {
                octets = &octets[1..];
                self.fields += 1;
                self.ended = first == 0 || self.fields > MOST_FIELDS;
                if !self.ended {
                    self.message.push(first);
                    self.text = Some(self.message.len());
                }
                continue;
            };
            let end = octets.iter().position(|octet| *octet == 0);
            let (now, later) = octets.split_at(end.unwrap_or(octets.len()));
            let room = MOST_OF_FIELD.saturating_sub(self.message.len() - start);
            self.message.extend_from_slice(&now[..now.len().min(room)]);
            octets = later.get(1..).unwrap_or_default();
            if end.is_some() {
                self.end_field(start);
            }
        }
    }

    fn end_field(&mut self, start: usize) {
        // A character that the cut went through.
        if let Err(broken) = std::str::from_utf8(&self.message[start..])
            && broken.error_len().is_none()
        {
            self.message.truncate(start + broken.valid_up_to());
        }
        self.message.push(0);
        self.text = None;
    }

    /// Appends the message.
    fn finish(mut self, out: &mut Vec<u8>) {
        if let Some(start) = self.text {
            self.end_field(start);
        }
        self.message.push(0);
        let length = u32::try_from(self.message.len() - 1).unwrap_or(u32::MAX);
        self.message[1..HEAD].copy_from_slice(&length.to_be_bytes());
        out.append(&mut self.message);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[tag], &length[..], body].concat()
    }

    fn fields(fields: &[(u8, &str)]) -> Vec<u8> {
        let mut body: Vec<u8> =
            fields.iter().flat_map(|(field, text)| [&[*field], text.as_bytes(), &[0]].concat()).collect();
        body.push(0);
        body
    }

    fn pinned(pooled: bool) -> Messages {
        let pin = Arc::<PinnedSettings>::default();
        pin.set(pooled);
        Messages::new(pin, usize::MAX, 0)
    }

    #[test]
    fn a_row_is_refused_by_its_head_alone() {
        for (size, most, tag) in
            [(MOST_OF_ROW + 1, "64 MiB", b'D'), (MOST + 1, "1 MiB", b'S'), (MOST + 1, "1 MiB", b'T')]
        {
            let mut messages = pinned(false);
            let head = message(tag, &[]);
            let length = u32::try_from(size + 4).unwrap().to_be_bytes();
            messages.feed(&[&head[..1], &length, b"and what follows"].concat());
            assert!(messages.over);
            let text = String::from_utf8_lossy(&messages.out);
            assert!(text.contains(&size.to_string()) && text.contains(most) && text.contains(TOO_LARGE), "{text}");
            assert!(messages.out.starts_with(b"E") && !text.contains("follows"), "{text}");
        }
    }

    #[test]
    fn long_errors_keep_every_field_and_the_beginning_of_its_text() {
        let long = format!("ab{}", "é".repeat(100_000));
        for tag in *b"EN" {
            let told = message(tag, &fields(&[(b'S', "ERROR"), (b'C', "22P02"), (b'M', &long), (b'R', "there")]));
            let mut messages = pinned(false);
            // Octet by octet as well as all at once.
            for octets in told.chunks(if tag == b'E' { 1 } else { told.len() }) {
                messages.feed(octets);
            }
            let shown: String = long.chars().take(2 + (MOST_OF_FIELD - 2) / 2).collect();
            let cut = fields(&[(b'S', "ERROR"), (b'C', "22P02"), (b'M', &shown), (b'R', "there")]);
            assert!(messages.out == message(tag, &cut) && !messages.over);
        }
    }

    #[test]
    fn the_pinned_settings_are_looked_at_when_a_statement_is_over() {
        let set = |name: &str, value: &str| message(b'S', format!("{name}\0{value}\0").as_bytes());
        let cases = [
            ("client_encoding", "LATIN1", true),
            ("client_encoding", "UTF8", false),
            ("standard_conforming_strings", "off", true),
            ("DateStyle", "German", false),
        ];
        for (name, value, refused) in cases {
            for (pooled, status) in [(false, b'I'), (false, b'T'), (true, b'T'), (true, b'I')] {
                let mut messages = pinned(pooled);
                messages.feed(&set(name, value));
                assert_eq!(messages.out, set(name, value));
                messages.feed(&message(b'Z', &[status]));
                assert_eq!(messages.over, refused && (!pooled || status == b'T'), "{name} {pooled} {status}");
            }
            let mut back = pinned(false);
            back.feed(&[set(name, value), set(name, if name == "client_encoding" { "UTF8" } else { "on" })].concat());
            back.feed(&message(b'Z', b"I"));
            assert!(!back.over, "what was set back is right again");
        }
        let mut fresh = Messages::new(Arc::default(), usize::MAX, 1);
        fresh.feed(&[b"N".to_vec(), set("standard_conforming_strings", "off"), message(b'Z', b"I")].concat());
        assert!(!fresh.over, "a fresh session was not told yet");
    }

    proptest! {
        #[test]
        fn whatever_is_small_passes_unchanged_however_it_is_cut(
            sent in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..20),
            cuts in proptest::collection::vec(1_usize..9, 1..8), skip in 0_usize..4,
        ) {
            let all: Vec<u8> = sent.iter().flat_map(|(tag, body)| message(*tag, body)).collect();
            let all = [vec![b'N'; skip], all].concat();
            let mut messages = Messages::new(Arc::default(), usize::MAX, skip);
            let (mut out, mut rest, mut turn) = (Vec::new(), all.as_slice(), 0);
            while !rest.is_empty() {
                let (now, later) = rest.split_at(cuts[turn % cuts.len()].min(rest.len()));
                let passes = messages.passes().min(now.len());
                // As the stream does that reads the middle of a message without us.
                if turn % 2 == 0 && passes > 0 {
                    out.extend_from_slice(&now[..passes]);
                    messages.passed(passes);
                    messages.feed(&now[passes..]);
                } else {
                    messages.feed(now);
                }
                out.append(&mut messages.out);
                (rest, turn) = (later, turn + 1);
            }
            prop_assert!(out == all && !messages.over);
        }
    }
}
