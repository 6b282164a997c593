//! The result of `tools/call`, as JSON text: a table, plain words, or a failure that the agent
//! can mend.

use std::fmt::Write;

use portico_actors::backoff;
use portico_actors::error::{Error, bounded};

use serde::Serializer as _;

use crate::encode::{JsonChunks, ToolResult};

/// Octets that a result is given besides: its envelope adds to it.
const ROOM: usize = 1024;

/// The result is written once, into the buffer that is sent: a large one is held with `structured` alone beside it.
fn result(text: &JsonChunks, structured: Option<&JsonChunks>, is_error: bool) -> String {
    let escapes = |text: &str| text.bytes().filter(|octet| matches!(octet, b'"' | b'\\' | 0..0x20)).count();
    let text_length: usize = text.each().map(|piece| piece.len() + escapes(piece)).sum();
    let structured_length: usize = structured.map_or(0, |structured| structured.each().map(str::len).sum());
    let mut result = Vec::with_capacity(text_length + structured_length + ROOM);
    result.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
    // Writing to memory cannot fail, and a text is always a valid JSON string.
    let _ = serde_json::Serializer::new(&mut result).collect_str(text);
    result.extend_from_slice(b"}]");
    if let Some(structured) = structured {
        result.extend_from_slice(b",\"structuredContent\":");
        structured.each().for_each(|piece| result.extend_from_slice(piece.as_bytes()));
    }
    result.extend_from_slice(if is_error { b",\"isError\":true}" } else { b",\"isError\":false}" });
    // Only texts were written.
    String::from_utf8(result).unwrap_or_default()
}

/// A table as text, and as `structuredContent` where that is sent.
pub(in crate::mcp) fn table(table: &ToolResult, is_structured: bool) -> String {
    let structured = is_structured.then_some(&table.json);
    match &table.text {
        Some(text) => result(&JsonChunks::from(text.clone()), structured, false),
        None => result(&table.json, structured, false),
    }
}

/// Returns plain text, and the same as structured content.
pub(in crate::mcp) fn instructions(text: &str, is_structured: bool) -> String {
    let structured = is_structured.then(|| JsonChunks::from(serde_json::json!({"instructions": text}).to_string()));
    result(&JsonChunks::from(text.to_owned()), structured.as_ref(), false)
}

/// A failure, with everything that helps to mend it, a line each.
pub(in crate::mcp) fn error(error: &Error) -> String {
    let mut text = bounded(error.message.clone());
    let mut line = |label: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, "\n{label}: {value}");
        }
    };
    line("SQLSTATE", error.get_sqlstate().map(str::to_owned));
    line("Position", error.get_position().map(|position| position.to_string()));
    line("Detail", error.get_detail().map(str::to_owned));
    line("Hint", error.get_hint().map(str::to_owned));
    line("Retry after", error.get_retry_after().map(|delay| format!("{} s", backoff::seconds(delay))));
    result(&JsonChunks::from(text), None, true)
}
