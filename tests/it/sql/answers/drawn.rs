//! Statements over every type, drawn by chance: lists of columns, rows, unions, whole rows, arrays, what a change
//! returns. Each value stands there as a literal, or as a parameter that means it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::samples::{LABELS, SAMPLES, Sample};
use crate::support::dice::Random;

/// A statement, its values between the pieces.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pieces: Vec<String>,
    /// Each with the name of its type.
    values: Vec<(&'static str, Option<&'static str>)>,
    /// What its columns are told to be, where that is known.
    pub(super) types: Vec<&'static str>,
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Drawn {
    fn push(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(last) => last.push_str(text),
            None => self.pieces.push(text.to_owned()),
        }
    }

    /// A value of that type, now and then NULL.
    fn value(&mut self, dice: &mut Random, (type_, _, texts): &Sample) {
        let value = (!dice.once_in(8)).then(|| dice.one(texts));
        let is_cast = dice.once_in(4);
        self.push(if is_cast { "CAST(" } else { "" });
        self.values.push((type_, value));
        self.pieces.push(if is_cast { format!(" AS {type_})") } else { format!("::{type_}") });
    }

    /// Columns of these types, under `labels` or without.
    fn columns(&mut self, dice: &mut Random, samples: &[&Sample], labels: Option<&[&str]>) {
        for (at, sample) in samples.iter().enumerate() {
            self.push(if at == 0 { "" } else { ", " });
            self.value(dice, sample);
            if let Some(labels) = labels {
                self.push(&format!(" AS {}", quoted(labels[at])));
            }
        }
    }

    pub(super) fn draw(dice: &mut Random) -> Self {
        let count = 1 + dice.below(5);
        let samples: Vec<&Sample> = (0..count).map(|_| dice.choose(SAMPLES)).collect();
        let labels: Vec<&str> = samples.iter().map(|_| dice.one(LABELS)).collect();
        // A list of names knows none twice.
        let mut each = labels.clone();
        each.sort_unstable();
        each.dedup();
        let is_distinct = each.len() == labels.len();
        let own = Some(labels.as_slice()).filter(|_| is_distinct || dice.once_in(2)).filter(|_| !dice.once_in(6));
        let names = labels.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", ");
        let mut drawn = Self { types: samples.iter().map(|(_, told, _)| *told).collect(), ..Self::default() };
        drawn.push("");
        match dice.below(12) {
            2 => {
                for row in 0..=dice.below(3) {
                    drawn.push(if row == 0 { "VALUES (" } else { "), (" });
                    drawn.columns(dice, &samples, None);
                }
                drawn.push(")");
            }
            3 if is_distinct => {
                for row in 0..=dice.below(3) {
                    drawn.push(if row == 0 { "SELECT * FROM (VALUES (" } else { "), (" });
                    drawn.columns(dice, &samples, None);
                }
                drawn.push(&format!(")) AS v ({names}) LIMIT 2"));
            }
            4 => {
                drawn.push("SELECT ");
                drawn.columns(dice, &samples, own);
                drawn.push(" UNION ALL (SELECT ");
                drawn.columns(dice, &samples, None);
                drawn.push(")");
            }
            5 if is_distinct => {
                drawn.push("WITH w AS (SELECT ");
                drawn.columns(dice, &samples, Some(&labels));
                drawn.push(") SELECT w.*, * FROM w");
                drawn.types.extend_from_within(..);
            }
            6 => {
                drawn.push("WITH d AS (UPDATE kept SET v = v WHERE id < 4 RETURNING id) SELECT ");
                drawn.columns(dice, &samples, own);
                drawn.push(", (SELECT count(*) FROM d) AS changed");
                drawn.types.push("BIGINT");
            }
            7 => {
                let (change, one) = *dice.choose(&[
                    ("INSERT INTO kept (v) VALUES ('x'), ('y')", ""),
                    ("UPDATE kept SET v = 'new' WHERE id < ", "5"),
                    ("DELETE FROM kept WHERE id > ", "6"),
                    ("INSERT INTO kept (id, v) VALUES (1, 'x') ON CONFLICT DO NOTHING", ""),
                ]);
                drawn.push(&format!("{change}{one} RETURNING "));
                drawn.columns(dice, &samples, own);
            }
            8 if is_distinct => {
                drawn.push(&format!(
                    "SELECT {} FROM (SELECT ",
                    dice.one(&[
                        "w",
                        "w, w",
                        "array_agg(w)",
                        "row_to_json(w)",
                        "w::text",
                        "ROW(w, 1)",
                        "to_jsonb(w)",
                        "count(w)"
                    ])
                ));
                drawn.columns(dice, &samples, Some(&labels));
                drawn.push(") AS w");
                drawn.types.clear();
            }
            9 => {
                let sample = samples[0];
                let text = *dice.choose(&[
                    "array[#, #]",
                    "array[#]",
                    "array[array[#, #], array[#, #]]",
                    "array_append(array[#], #)",
                ]);
                drawn.push("SELECT ");
                drawn.spread(dice, text, sample);
                drawn.push(" AS held");
                drawn.types.clear();
            }
            10 => {
                let text = *dice.choose(&[
                    "#::text",
                    "to_json(#)",
                    "to_jsonb(#)",
                    "pg_typeof(#)",
                    "format('%s', #)",
                    "quote_nullable(#)",
                    "CASE WHEN true THEN # ELSE # END",
                    "coalesce(#, #)",
                    "ROW(#, #)",
                    "ROW(#)::text",
                    "# IS NULL",
                    "(SELECT #)",
                    "unnest(array[#, #])",
                    "concat_ws('|', #, #)",
                    "json_build_object('k', #)",
                    "max(v) FROM (VALUES (#::text)) AS x(v)",
                    "x.* FROM (SELECT # AS \"k\", # AS \"k\") AS x",
                ]);
                drawn.push("SELECT ");
                drawn.spread(dice, text, samples[0]);
                drawn.types.clear();
            }
            11 => {
                drawn.push("SELECT * FROM unnest(array[");
                drawn.value(dice, samples[0]);
                drawn.push(", ");
                drawn.value(dice, samples[0]);
                drawn.push(&format!("]) WITH ORDINALITY AS u({}, n)", quoted(labels[0])));
                drawn.types.clear();
            }
            _ => {
                drawn.push("SELECT ");
                drawn.columns(dice, &samples, own);
                if dice.once_in(3) {
                    drawn.push(" FROM kept WHERE id < 3");
                }
            }
        }
        drawn
    }

    /// `text`, a value of that type for each `#` of it.
    fn spread(&mut self, dice: &mut Random, text: &str, sample: &Sample) {
        for (at, piece) in text.split('#').enumerate() {
            if at > 0 {
                self.value(dice, sample);
            }
            self.push(piece);
        }
    }

    fn text(&self, value: impl Fn(usize, Option<&str>) -> String) -> String {
        let values = self.values.iter().enumerate().map(|(at, (_, given))| value(at, *given));
        let mut text = self.pieces[0].clone();
        values.zip(&self.pieces[1..]).for_each(|(value, piece)| text.extend([&value, piece].map(String::as_str)));
        text
    }

    /// With the values as literals.
    pub(super) fn literal(&self) -> String {
        self.text(|_, value| value.map_or_else(|| "NULL".to_owned(), literal))
    }

    /// With the values as parameters.
    pub(super) fn bound(&self) -> (String, String) {
        let given = self.values.iter().enumerate();
        let given = given.map(|(at, (type_, value))| {
            // Octets are given in base64.
            let value = value.map(|text| match (*type_, text.strip_prefix("\\x").unwrap_or(text)) {
                ("bytea", hex) => {
                    let octets = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
                    STANDARD.encode(octets.collect::<Vec<u8>>())
                }
                _ => text.to_owned(),
            });
            (format!("@p{at}"), json!({"dataType": 5, "value": value}))
        });
        (self.text(|at, _| format!("@p{at}")), given.collect::<Value>().to_string())
    }
}
