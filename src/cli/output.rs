//! Printing to standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::exit;

use portico_actors::auth::clock::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::common::Common;

/// Prints a line. Ignores a closed standard output, as with `head`: what the command does and how it ends is the
/// same.
pub(super) fn say(line: impl Display) {
    let _ = is_read(line);
}

/// Prints a line. Returns true if standard output is still open.
pub(super) fn is_read(line: impl Display) -> bool {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => false,
        Err(error) => {
            eprintln!("portico: standard output cannot be written: {error}");
            exit(1);
        }
    }
}

/// Prints a value for programs.
pub(super) fn print_json(value: &Value) {
    say(value);
}

/// The note for a secret that was shown.
pub(super) const SHOWN_ONCE: &str = "The secret is not shown again.";

impl Common {
    /// Prints `record` for programs, or `words` for people.
    pub(super) fn print(&self, record: &impl Serialize, words: impl Display) {
        if self.json { print_json(&json!(record)) } else { say(words) }
    }

    /// Prints a record with a secret, which is shown only once: programs find it as the member `name`, and people
    /// read `note`.
    pub(super) fn print_secret(
        &self,
        record: &impl Serialize,
        (name, secret): (&str, &SecretString),
        words: impl Display,
        note: impl Display,
    ) {
        let mut record = json!(record);
        record[name] = secret.expose_secret().into();
        self.print(&record, words);
        if !self.json {
            eprintln!("{note}");
        }
    }

    /// Prints records: as JSON for programs, otherwise in aligned columns, or a note that there are none.
    pub(super) fn list<R: Serialize, const N: usize>(
        &self,
        records: &[R],
        header: [&str; N],
        row: impl Fn(&R) -> [String; N],
    ) {
        if self.json {
            print_json(&json!(records));
        } else if records.is_empty() {
            say("none");
        } else {
            let rows: Vec<_> = [header.map(str::to_owned)].into_iter().chain(records.iter().map(row)).collect();
            let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            let widths: [usize; N] = std::array::from_fn(width);
            for row in &rows {
                let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
                say(cells.collect::<Vec<_>>().join("  ").trim_end());
            }
        }
    }
}

/// Returns the time, or `never` if there is none.
pub(super) fn timestamp_or(at: Option<Timestamp>, never: &str) -> String {
    at.map_or_else(|| never.to_owned(), |at| at.to_string())
}
