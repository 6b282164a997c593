//! The caller's trace context (W3C Trace Context, level 1), so that calls here can be joined to it. Only the header
//! `traceparent` is read. Whether spans of our own are recorded is decided in front of the mailbox.

use std::fmt;

/// A well-formed `traceparent` (W3C Trace Context §3.2): version 00, a trace id, the caller's span and flags. A
/// malformed one is ignored, as the specification demands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent([u8; Self::LENGTH]);

/// The start of a trace comment in sqlcommenter's format.
const OPENING: &str = "/*traceparent='";
/// The end of a trace comment.
const CLOSING: &str = "'*/";

impl TraceParent {
    /// The length of version 00 in bytes.
    const LENGTH: usize = 55;

    /// Makes the header for a span and its trace, and whether it is recorded. Returns `None` if either id is 0
    /// (§3.2.2.3, §3.2.2.4).
    pub fn new(trace: [u8; 16], span: [u8; 8], sampled: bool) -> Option<Self> {
        let (trace, span) = (u128::from_be_bytes(trace), u64::from_be_bytes(span));
        Self::parse(&format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(sampled)))
    }

    /// Parses a header's value, or a member of `_meta` in MCP.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; Self::LENGTH] = text.as_bytes().get(..Self::LENGTH)?.try_into().ok()?;
        let hex = |from: usize, to: usize| {
            bytes.get(from..to).filter(|hex| hex.iter().all(|each| matches!(each, b'0'..=b'9' | b'a'..=b'f')))
        };
        let any = |hex: &&[u8]| hex.iter().any(|each| *each != b'0');
        let version = hex(0, 2).filter(|version| *version != b"ff")?;
        hex(3, 35).filter(any)?;
        hex(36, 52).filter(any)?;
        hex(53, 55)?;
        let separated = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        // Later versions may append members to these four (§4.3).
        let ended = match text.as_bytes().get(Self::LENGTH) {
            None => true,
            Some(next) => version != b"00" && *next == b'-',
        };
        let mut bytes = bytes;
        bytes[..2].copy_from_slice(b"00");
        (separated && ended).then_some(Self(bytes))
    }

    /// Returns the value to send on.
    pub fn as_str(&self) -> &str {
        // It consists of hexadecimal digits and hyphens.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the trace id: 32 hexadecimal digits.
    pub fn trace_id(&self) -> &str {
        self.as_str().get(3..35).unwrap_or_default()
    }

    /// Returns the span id: 16 hexadecimal digits.
    pub fn span_id(&self) -> &str {
        self.as_str().get(36..52).unwrap_or_default()
    }

    /// Returns true if the caller records the span (§3.2.2.5.1).
    pub fn is_sampled(&self) -> bool {
        let flags = self.as_str().get(53..55).and_then(|flags| u8::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & 1 == 1)
    }

    /// Appends the trace to a statement as a comment in sqlcommenter's format, after the statement's own text, so
    /// that no position in it moves. The comment contains only hexadecimal digits and hyphens, which need no
    /// escape.
    pub fn comment(&self, statement: &mut String) {
        // Other characters that look like white space may be part of a name.
        let end = statement.trim_end_matches([';', ' ', '\t', '\n', '\r', '\u{c}']).len();
        statement.truncate(end);
        // The statement may end with a line comment, which would swallow this one.
        let line = statement.rsplit('\n').next().unwrap_or_default();
        statement.push(if line.contains("--") { '\n' } else { ' ' });
        statement.push_str(OPENING);
        statement.push_str(self.as_str());
        statement.push_str(CLOSING);
    }

    /// Maps a position in `statement`, which may end with our comment, to the text without it; both in characters
    /// from 1. A position behind the comment becomes the end of the statement.
    pub fn position_without_comment(statement: &str, position: usize) -> usize {
        match Self::uncommented(statement) {
            // A blank or a line end separates them.
            Some(text) => position.min(text.chars().count().max(1)),
            None => position,
        }
    }

    /// Returns the text in front of our comment, if `statement` ends with one.
    pub fn uncommented(statement: &str) -> Option<&str> {
        let start = statement.len().checked_sub(OPENING.len() + Self::LENGTH + CLOSING.len())?;
        let (text, comment) = (statement.get(..start)?, statement.get(start..)?);
        comment.starts_with(OPENING).then_some(text)
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WELL: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn only_well_formed_values_are_taken() {
        let trace = TraceParent::parse(WELL).unwrap();
        assert_eq!((trace.as_str(), trace.trace_id()), (WELL, "4bf92f3577b34da6a3ce929d0e0e4736"));
        let later = format!("cc{}-what-the-future-will-be-like", &WELL[2..]);
        assert_eq!(TraceParent::parse(&later).unwrap().as_str(), WELL);
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473*-/0f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        ] {
            assert_eq!(TraceParent::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_span_is_written_as_it_is_read() {
        let trace = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
        let span = 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes();
        let recorded = TraceParent::new(trace, span, true).unwrap();
        assert_eq!((recorded.as_str(), recorded.span_id(), recorded.is_sampled()), (WELL, "00f067aa0ba902b7", true));
        assert!(!TraceParent::new(trace, span, false).unwrap().is_sampled());
        assert_eq!((TraceParent::new([0; 16], span, true), TraceParent::new(trace, [0; 8], true)), (None, None));
    }

    #[test]
    fn the_comment_stands_behind_the_statement() {
        let commented = |text: &str| {
            let mut text = text.to_owned();
            TraceParent::parse(WELL).unwrap().comment(&mut text);
            text
        };
        assert_eq!(commented("SELECT 1"), format!("SELECT 1 /*traceparent='{WELL}'*/"));
        assert_eq!(commented("SELECT 1 ; \n"), format!("SELECT 1 /*traceparent='{WELL}'*/"));
        assert_eq!(commented("SELECT 1 -- one"), format!("SELECT 1 -- one\n/*traceparent='{WELL}'*/"));
    }

    #[test]
    fn what_is_missing_at_the_end_is_missing_in_front_of_the_comment() {
        let mut text = "SELECT 'é' FROM".to_owned();
        TraceParent::parse(WELL).unwrap().comment(&mut text);
        for (told, meant) in [(1, 1), (15, 15), (16, 16), (17, 16), (90, 16)] {
            assert_eq!(TraceParent::position_without_comment(&text, told), meant);
        }
        assert_eq!(TraceParent::position_without_comment("SELECT 1 FROM", 14), 14);
        assert_eq!(TraceParent::position_without_comment("é", 2), 2);
    }

    proptest! {
        #[test]
        fn nothing_else_gets_into_a_statement(text in "\\PC{0,80}", tail in "[0-9a-f'*/;-]{0,60}") {
            for text in [text, format!("00-{tail}")] {
                if let Some(trace) = TraceParent::parse(&text) {
                    prop_assert!(trace.as_str().bytes().all(|each| each.is_ascii_hexdigit() || each == b'-'));
                }
            }
        }
    }
}
