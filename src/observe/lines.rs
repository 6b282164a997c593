//! Formats log lines: text for people, or a JSON object for programs. Members follow the message as `name=value`,
//! or are members of the object. Clients' texts are in members: each is cut, so that a few requests cannot fill a
//! disk.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use env_logger::WriteStyle;
use env_logger::fmt::style::Style;
use log::Record;
use log::kv::{Error, Key, Value, VisitSource};
use portico_actors::error::{LONGEST_TEXT, cut};

use crate::config::{Log, LogFormat};
use crate::redaction::redact;

/// Octets of a member at most.
const LONGEST_MEMBER: usize = 1024;

/// A logger that writes lines as configured to standard error.
pub fn builder(log: &Log) -> env_logger::Builder {
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(&log.level);
    // Colours are chosen here, by standard error itself, whatever the lines pass through later. So the output need
    // not be searched for them.
    builder.write_style(WriteStyle::Always);
    match log.format {
        LogFormat::Text => {
            let has_colours =
                matches!(AutoStream::choice(&io::stderr()), ColorChoice::Always | ColorChoice::AlwaysAnsi);
            builder.format(move |buffer, record| {
                let level = record.level();
                let style = if has_colours { buffer.default_level_style(level) } else { Style::default() };
                let time = buffer.timestamp_seconds();
                write_text(buffer, format_args!("[{time} {style}{level:<5}{style:#} {}]", record.target()), record)
            })
        }
        LogFormat::Json => builder.format(|buffer, record| {
            let time = buffer.timestamp_millis();
            write_json(buffer, &time.to_string(), record)
        }),
    };
    builder
}

fn write_text(out: &mut impl Write, head: fmt::Arguments<'_>, record: &Record<'_>) -> io::Result<()> {
    let mut line = String::with_capacity(512);
    let _ = line.write_fmt(head);
    let message = clean(shown(record.args()), LONGEST_TEXT);
    if !message.is_empty() {
        line.push(' ');
        push_message(&mut line, &message);
    }
    let _ = record.key_values().visit(&mut Text(&mut line));
    line.push('\n');
    out.write_all(line.as_bytes())
}

fn write_json(out: &mut impl Write, time: &str, record: &Record<'_>) -> io::Result<()> {
    let mut object = serde_json::Map::new();
    object.insert("time".to_owned(), time.into());
    object.insert("level".to_owned(), record.level().as_str().to_lowercase().into());
    object.insert("target".to_owned(), record.target().into());
    let message = clean(shown(record.args()), LONGEST_TEXT);
    if !message.is_empty() {
        object.insert("message".to_owned(), message.into());
    }
    let _ = record.key_values().visit(&mut Json(&mut object));
    writeln!(out, "{}", serde_json::Value::Object(object))
}

/// Returns the text of arguments, without a copy if it contains no values.
fn shown<'t>(args: &fmt::Arguments<'t>) -> Cow<'t, str> {
    args.as_str().map_or_else(|| Cow::Owned(args.to_string()), Cow::Borrowed)
}

/// A text as the log has it: no longer than so many octets, and without secrets.
fn clean(text: Cow<'_, str>, longest: usize) -> Cow<'_, str> {
    let text = if text.len() > longest { Cow::Owned(cut(text.into_owned(), longest)) } else { text };
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => Cow::Owned(clean),
    }
}

/// Appends a message: its control characters can neither start another entry nor control a terminal.
fn push_message(line: &mut String, message: &str) {
    for piece in message.split_inclusive(char::is_control) {
        let mut before = piece.chars();
        match before.next_back().filter(|last| last.is_control()) {
            Some(control) => {
                line.push_str(before.as_str());
                line.extend(control.escape_default());
            }
            None => line.push_str(piece),
        }
    }
}

/// Appends a value as one word: a client's text can neither end the line nor fake a member.
fn push_word(line: &mut String, text: &str) {
    let safe = |octet: u8| octet.is_ascii_alphanumeric() || b"@._-/+:=".contains(&octet);
    match text {
        "" => line.push('-'),
        plain if plain.bytes().all(safe) => line.push_str(plain),
        other => drop(write!(line, "{other:?}")),
    }
}

/// Appends members as `name=value`.
struct Text<'a>(&'a mut String);

impl<'kvs> VisitSource<'kvs> for Text<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let Self(line) = self;
        line.push(' ');
        line.push_str(key.as_str());
        line.push('=');
        if let Some(number) = value.to_u64() {
            let _ = write!(line, "{number}");
        } else {
            push_word(line, &clean(text(&value), LONGEST_MEMBER));
        }
        Ok(())
    }
}

fn text<'v>(value: &Value<'v>) -> Cow<'v, str> {
    value.to_borrowed_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// Adds members to an object; a number stays a number.
struct Json<'a>(&'a mut serde_json::Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for Json<'_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let number = value.to_u64().map(Into::into).or_else(|| value.to_i64().map(Into::into));
        let other = number.or_else(|| value.to_bool().map(Into::into));
        let member = other.unwrap_or_else(|| clean(text(&value), LONGEST_MEMBER).into());
        self.0.insert(key.as_str().to_owned(), member);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use log::Level;
    use serde_json::json;

    use super::*;

    /// A line in both forms, without the end of line that each must have.
    fn lines(message: &str, members: &[(&str, Value<'_>)]) -> (String, serde_json::Value) {
        let (mut text, mut object) = (Vec::new(), Vec::new());
        let args = format_args!("{message}");
        let record = Record::builder().level(Level::Info).target("t").key_values(&members).args(args).build();
        write_text(&mut text, format_args!("[now INFO  t]"), &record).unwrap();
        write_json(&mut object, "now", &record).unwrap();
        let line = |bytes: Vec<u8>| {
            let line = String::from_utf8(bytes).unwrap().strip_suffix('\n').unwrap().to_owned();
            assert!(!line.contains(['\n', '\r']), "an entry is one line: {line:?}");
            line
        };
        (line(text), serde_json::from_str(&line(object)).unwrap())
    }

    #[test]
    fn members_stand_behind_the_message_or_beside_it() {
        let members = [("request", Value::from("a-1")), ("rows", Value::from(3_u64)), ("who", Value::from(""))];
        let (text, object) = lines("it is up", &members);
        assert_eq!(text, "[now INFO  t] it is up request=a-1 rows=3 who=-");
        let expected = json!({"time": "now", "level": "info", "target": "t", "message": "it is up",
            "request": "a-1", "rows": 3, "who": ""});
        assert_eq!(object, expected);
    }

    #[test]
    fn what_a_client_chose_stays_one_word_of_one_line() {
        let members = [("who", Value::from("a b\noutcome=ok\"}"))];
        let (text, object) = lines("one\r\ntwo", &members);
        assert_eq!(text, "[now INFO  t] one\\r\\ntwo who=\"a b\\noutcome=ok\\\"}\"");
        assert_eq!((&object["who"], &object["message"]), (&json!("a b\noutcome=ok\"}"), &json!("one\r\ntwo")));
        let secret = [("who", Value::from("ptc_pat_Zm9vYmFyZm9v"))];
        let (text, object) = lines("at postgres://ann:s3cr3t@db", &secret);
        assert_eq!(text, "[now INFO  t] at postgres://ann:[redacted]@db who=\"[redacted]\"");
        assert_eq!(
            (&object["who"], &object["message"]),
            (&json!("[redacted]"), &json!("at postgres://ann:[redacted]@db"))
        );
        let long = [("who", Value::from("x".repeat(30_000).leak() as &str))];
        let (text, object) = lines("", &long);
        assert!(text.len() < 1_100 && text.ends_with(" … (cut)\""), "{text}");
        assert_eq!(object["who"].as_str().unwrap().len(), LONGEST_MEMBER);
        let plain = [("who", Value::from("ann@example.org")), ("request", Value::from("web:7/Kq+w=="))];
        assert_eq!(lines("", &plain).0, "[now INFO  t] who=ann@example.org request=web:7/Kq+w==");
        assert_eq!(lines("red \u{1b}[31m, \tand on", &[]).0, "[now INFO  t] red \\u{1b}[31m, \\tand on");
    }
}
