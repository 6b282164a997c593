//! A statement as callers write it: the connection's name in front of a table, brackets, `@name` for a number;
//! and a statement as it is not meant: a word left out, another one put in, other space between words.

use serde_json::{Map, Value, json};

use crate::support::dice::Random;

/// A statement as a caller writes it.
pub(super) struct Written {
    pub(super) text: String,
    /// As JSON.
    pub(super) parameters: String,
}

/// How a table may be named.
pub(super) const NAMES: usize = 8;

const ENDS: [char; 6] = [' ', '\n', ',', '(', ')', ';'];

/// Rewrites what stands behind FROM, JOIN and the like, and with `numbers` the numbers behind a comparison.
pub(super) fn written(text: &str, schema: &str, tables: &[String], names: usize, numbers: bool) -> Written {
    let (mut written, mut parameters) = (String::new(), Map::new());
    // A name with the connection in front is never that of a list of WITH.
    let names = if text.to_lowercase().contains("with ") { 0 } else { names };
    let mut before = String::new();
    for piece in text.split_inclusive(ENDS) {
        let (word, end) = piece.split_at(piece.trim_end_matches(ENDS).len());
        let in_text = written.matches('\'').count() % 2 == 1;
        let is_table = !in_text
            && matches!(before.as_str(), "from" | "join" | "into" | "update")
            && tables.iter().any(|table| table == word);
        let is_number = !in_text && numbers && matches!(before.as_str(), "=" | "<" | ">" | "<=" | ">=" | "<>");
        let value = word.parse::<i32>().ok().filter(|_| is_number && !end.starts_with('('));
        let renamed = match (value, names) {
            (Some(value), _) => {
                let name = format!("@p{}", parameters.len());
                parameters.insert(name.clone(), json!({"dataType": 8, "value": value}));
                name
            }
            (None, 1) if is_table => format!("shop.{schema}.{word}"),
            (None, 2) if is_table => format!("[{word}]"),
            (None, 3) if is_table => format!("[shop].[{schema}].[{word}]"),
            (None, 4) if is_table => format!("\"shop\".\"{schema}\".\"{word}\""),
            (None, 5) if is_table => format!("shop . [{schema}] . {word}"),
            (None, 6) if is_table => format!("SHOP.{schema}.\"{word}\""),
            (None, 7) if is_table => format!("shop./* c */{schema}.{word}"),
            (None, _) => word.to_owned(),
        };
        written.push_str(&renamed);
        written.push_str(end);
        if !word.is_empty() {
            before = word.to_lowercase();
        } else if end != " " && end != "\n" {
            before.clear();
        }
    }
    Written { text: written, parameters: Value::Object(parameters).to_string() }
}

/// What may stand between two words.
const SPACES: &[&str] = &[" ", " ", "  ", "\n", "\t", "\r\n", " /* ; ' */ ", " /* /* n */ */ ", " -- c ' ;\n", "\u{c}"];

/// Words that change what a statement means, or make it none.
const WORDS: &[&str] = &[
    ";",
    "'",
    "\"",
    "/*",
    "*/",
    "--",
    "(",
    ")",
    "::",
    ",",
    "null",
    "[",
    "]",
    "[id]",
    "array[1]",
    "'a'",
    "1",
    ".",
    "$$",
    "as",
    "from",
    "select",
    "E'\\'",
    "distinct",
    "=",
    "not",
    "U&'\\0041'",
    "x.y.z",
    "\\",
    "#",
    "?",
    "begin",
    "end",
    "is",
    "1e",
    "::int",
    "limit 1",
    "where true",
    "for update",
    "; select 2",
    "union all select 1",
    "returning 1",
    "nosuch",
    "nosuch()",
];

/// The same with another word, or without one, or with other space.
pub(super) fn changed(text: &str, dice: &mut Random) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let place = dice.below(words.len());
    match dice.below(4) {
        0 => {
            words.remove(place);
        }
        1 => words.insert(place, dice.one(WORDS)),
        2 => {
            let other = dice.below(words.len());
            words.swap(place, other);
        }
        _ => {
            let mut spaced = String::new();
            for word in words {
                // What stands in a text keeps its spaces.
                let in_text = spaced.matches(['\'', '"', '$']).count() % 2 == 1 || spaced.contains('$');
                if !spaced.is_empty() {
                    spaced.push_str(if in_text { " " } else { dice.one(SPACES) });
                }
                spaced.push_str(word);
            }
            return spaced;
        }
    }
    words.join(" ")
}

/// A statement that reads, within another one.
pub(super) fn wrapped(text: &str, dice: &mut Random) -> Option<String> {
    let text = text.trim_end_matches([';', ' ', '\n']);
    let lower = text.to_lowercase();
    if !lower.starts_with("select") || text.contains(';') || text.contains("--") || lower.contains(" into ") {
        return None;
    }
    Some(match dice.below(9) {
        0 => format!("SELECT * FROM ({text}) AS wrapped"),
        1 => format!("WITH wrapped AS ({text}) SELECT count(*) FROM wrapped"),
        2 => format!("WITH wrapped AS MATERIALIZED ({text}) TABLE wrapped"),
        3 => format!("({text}) UNION ALL ({text})"),
        4 => format!("SELECT EXISTS ({text}), 1 AS one"),
        5 => format!("EXPLAIN (COSTS OFF) {text}"),
        6 => format!("SELECT wrapped FROM ({text}) AS wrapped"),
        7 => format!("SELECT 1; {text}; "),
        _ => format!(
            "SELECT wrapped.*, 1 AS one FROM kept LEFT JOIN LATERAL ({text}) AS wrapped ON true WHERE kept.id < 3"
        ),
    })
}
