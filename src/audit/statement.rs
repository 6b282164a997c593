//! The part of a statement that is recorded: its text, its shape, its digest, or nothing.

use std::borrow::Cow;

use base16ct::lower::encode_string;
use portico_actors::call::{Argument, Op};
use portico_actors::source::drivers::DRIVERS;
use portico_actors::sql::{self, Dialect, Redact};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::federation::SentStatements;

/// Bytes of a statement that a record keeps at most.
const LONGEST: usize = 16 * 1024;
/// Bytes of a record's parameters at most; beyond there is only their number.
const MOST_PARAMETERS: usize = 16 * 1024;
/// Levels of a recorded value at most: readers of JSON take 128 of a whole record.
const DEEPEST: usize = 64;

/// How much of a statement is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The text, with possible secrets redacted, and its digest.
    #[default]
    Text,
    /// The text with every literal left out, and the digest of the whole.
    Shape,
    /// The digest alone: the same statement has the same.
    Digest,
    /// Nothing.
    Nothing,
}

/// The record of a statement or a procedure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatementRecord {
    /// The text, as far as it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// SHA-256 of the whole text, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The values, where they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The statements sent to each of several connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentStatements>,
    /// Whether its changes were rolled back.
    #[serde(rename = "dryRun", skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl StatementRecord {
    /// Makes the record of `op`, which is read in one of the `dialects`, with this `detail`; `None` for operations without a statement.
    pub fn new(op: &Op, dialects: &[Dialect], detail: Detail, with_parameters: bool) -> Option<Self> {
        let (text, sets) = op.statement()?;
        // The part that is not read may contain the end of a secret.
        let left_out = if start(text).len() < text.len() { Redact::Literals } else { Redact::Secrets };
        let statement = match detail {
            Detail::Text => Some(cut(sql::redacted(start(text), dialects, left_out))),
            Detail::Shape => Some(cut(sql::redacted(start(text), dialects, Redact::Literals))),
            Detail::Digest | Detail::Nothing => None,
        };
        let digest = (detail != Detail::Nothing).then(|| encode_string(&Sha256::digest(text)));
        let parameters = with_parameters.then(|| values(&sets)).flatten();
        Some(Self { statement, digest, parameters, sent: None, dry_run: op.is_dry_run() })
    }

    /// Adds the statements sent to each of several connections, if statements are recorded as text.
    #[must_use]
    pub fn sending(self, sent: &SentStatements) -> Self {
        let sent = self.statement.is_some().then(|| sent.clone());
        Self { sent, ..self }
    }
}

/// Each connection's name with its statement, without literals.
impl Serialize for SentStatements {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list().into_iter().map(|(connection, statement)| {
            let dialects = DRIVERS.map(|driver| driver.dialect);
            let statement = sql::redacted(&statement, &dialects, Redact::Literals);
            serde_json::json!({ "connection": connection, "statement": cut(statement) })
        }))
    }
}

fn start(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(LONGEST * 2)).0
}

fn cut(text: Cow<'_, str>) -> String {
    if text.len() <= LONGEST {
        return text.into_owned();
    }
    format!("{}…", text.split_at(text.floor_char_boundary(LONGEST)).0)
}

/// Reads a value as the record has it: without what is deeper than readers of records go, and as its text where it is a
/// number that they do not read.
fn read(value: &RawValue) -> Value {
    let text = value.get();
    match serde_json::from_str(text) {
        Ok(read) if is_within(&read, DEEPEST) => read,
        Err(_) if !text.starts_with(['[', '{']) => Value::from(text),
        _ => Value::from(format!("{} bytes, more than {DEEPEST} levels deep", text.len())),
    }
}

/// Whether it is nested at most `depth` levels deep.
fn is_within(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, below)),
        Value::Object(members) => members.values().all(|member| is_within(member, below)),
        _ => true,
    }
}

/// One object of values, or a list of them.
fn values(sets: &[&[Argument]]) -> Option<Value> {
    let size: usize = sets.iter().flat_map(|set| set.iter()).map(|value| value.value.get().len()).sum();
    let count: usize = sets.iter().map(|set| set.len()).sum();
    if count == 0 {
        return None;
    }
    if size > MOST_PARAMETERS || count > MOST_PARAMETERS / 16 {
        return Some(Value::from(format!("{count} values of {size} bytes")));
    }
    let object = |set: &&[Argument]| -> Value {
        let members = set.iter().map(|value| (value.name.clone(), read(&value.value)));
        Value::Object(members.collect::<Map<_, _>>())
    };
    Some(match sets {
        [single] => object(single),
        several => several.iter().map(object).collect(),
    })
}

#[cfg(test)]
mod tests {
    use portico_actors::call::{AllowedStatements, Sql};

    use super::*;

    fn said(detail: Detail, with_parameters: bool) -> StatementRecord {
        let value = RawValue::from_string("7".to_owned()).unwrap();
        let parameters = vec![Argument { name: "a".to_owned(), value, data_type: None }];
        let text = "SELECT 'x' WHERE @a = 1".to_owned();
        let op = Op::Execute(AllowedStatements::Any, Sql { text, parameters, ..Sql::default() });
        StatementRecord::new(&op, &[Dialect::POSTGRESQL], detail, with_parameters).unwrap()
    }

    #[test]
    fn a_statement_is_kept_as_configured() {
        let text = said(Detail::Text, false);
        assert_eq!((text.statement.as_deref(), text.parameters), (Some("SELECT 'x' WHERE @a = 1"), None));
        assert_eq!(text.digest.as_deref().map(str::len), Some(64));
        assert_eq!(said(Detail::Shape, false).statement.as_deref(), Some("SELECT *** WHERE @a = ***"));
        assert_eq!(said(Detail::Digest, false), StatementRecord { statement: None, ..text_digest() });
        assert_eq!(said(Detail::Nothing, true).parameters, Some(serde_json::json!({"a": 7})));
    }

    #[test]
    fn values_that_readers_would_stumble_over_are_told_in_words() {
        for (text, is_kept) in [
            ("[".repeat(DEEPEST - 2) + "7" + &"]".repeat(DEEPEST - 2), true),
            ("[".repeat(DEEPEST) + "7" + &"]".repeat(DEEPEST), false),
            ("[".repeat(126) + &"]".repeat(126), false),
            ("{\"a\":".repeat(500) + "7" + &"}".repeat(500), false),
            ("1e999".to_owned(), false),
        ] {
            let value = RawValue::from_string(text.clone()).unwrap();
            let set = [Argument { name: "a".to_owned(), value, data_type: None }];
            let kept = values(&[&set, &set]).unwrap();
            assert_eq!(!kept[1]["a"].is_string(), is_kept, "{text}");
            let record = serde_json::json!({"event": "call", "calls": [{"parameters": kept}]}).to_string();
            assert!(serde_json::from_str::<Value>(&record).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_read_to_its_end_is_kept_without_its_literals() {
        let kept = |text: String| {
            let op = Op::Execute(AllowedStatements::Any, Sql { text, ..Sql::default() });
            StatementRecord::new(&op, &[Dialect::POSTGRESQL], Detail::Text, false).unwrap().statement.unwrap()
        };
        assert!(kept(format!("SELECT 'x' {}", " ".repeat(LONGEST))).starts_with("SELECT 'x' "));
        assert!(kept(format!("SELECT 'x' {}", " ".repeat(2 * LONGEST))).starts_with("SELECT *** "));
        assert_eq!(kept("SELECT 'x', 'open".to_owned()), "SELECT ***, ***");
    }

    fn text_digest() -> StatementRecord {
        StatementRecord { digest: said(Detail::Text, false).digest, ..StatementRecord::default() }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ä".repeat(LONGEST);
        assert!(cut(start(&long).into()).len() <= LONGEST + '…'.len_utf8());
    }
}
