//! What is printed on standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::exit;

use serde_json::Value;

/// Prints a line. Where nobody reads it any more, as behind `head`, nothing is said: what the command
/// does and how it ends is the same.
pub(super) fn say(line: impl Display) {
    let _ = is_read(line);
}

/// Prints a line, and tells whether anybody reads on.
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

/// Prints rows in aligned columns, or says that there are none.
pub(super) fn print_table(header: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        say("none");
        return;
    }
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, title)| {
            let longest = rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
            longest.unwrap_or(0).max(title.len())
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        say(padded.join("  ").trim_end());
    };
    line(header.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}
