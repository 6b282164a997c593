//! Finds the id of a message that is too long to be kept, so that its sender is not left without an answer.

use serde_json::value::RawValue;

use crate::mcp::model::Id;

/// Bytes of an id at most; a longer one is not echoed.
const LONGEST_ID: usize = 1024;

/// Reads a message byte by byte and keeps its id alone.
#[derive(Default)]
pub(super) struct IdScanner {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    /// The text that was read last within the message's own object, as far as it matters.
    text: Vec<u8>,
    /// The text after `"id":`, from there on.
    value: Option<Vec<u8>>,
    is_read: bool,
}

impl IdScanner {
    /// Reads on.
    pub(super) fn read(&mut self, part: &[u8]) {
        for byte in part {
            if self.is_read {
                return;
            }
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if !self.is_text && self.depth == 1 && self.value.is_some() && matches!(byte, b',' | b'}') {
            self.is_read = true;
            return;
        }
        if let Some(value) = &mut self.value {
            value.push(byte);
            if value.len() > LONGEST_ID {
                (self.value, self.is_read) = (None, true);
                return;
            }
        }
        if self.is_text {
            if self.is_escaped {
                self.is_escaped = false;
            } else {
                match byte {
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_text = false,
                    _ => {}
                }
            }
            if self.is_text && self.depth == 1 && self.text.len() < LONGEST_ID {
                self.text.push(byte);
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_text = true;
                self.text.clear();
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == 1 && self.text == b"id" => self.value = Some(Vec::new()),
            b',' => self.text.clear(),
            _ => {}
        }
    }

    /// The id, where there is one.
    pub(super) fn id(&self) -> Option<Id> {
        let value: &RawValue = serde_json::from_slice(self.value.as_ref()?).ok()?;
        Id::read(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(message: &str) -> Option<String> {
        let mut scanner = IdScanner::default();
        message.as_bytes().chunks(3).for_each(|part| scanner.read(part));
        scanner.id().map(|id| id.as_json().to_owned())
    }

    #[test]
    fn the_message_s_own_id_is_found_wherever_it_stands() {
        for (message, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, Some("7")),
            (r#"{"method":"x","params":{"id":1,"t":"\"id\":2"},"id" : "a\"b" }"#, Some(r#""a\"b""#)),
            (r#"{"a":"id","id":3}"#, Some("3")),
            (r#"{"a":["id",{"id":4}],"b":"{"}"#, None),
            (r#"{"id":{"x":1},"method":"x"}"#, None),
            (r#"{"id":null}"#, None),
            (r#"[{"id":1}]"#, None),
            ("\"id\":1", None),
        ] {
            assert_eq!(id(message).as_deref(), expected, "{message}");
        }
        assert_eq!(id(&format!("{{\"id\":\"{}\"}}", "x".repeat(LONGEST_ID))), None);
    }
}
