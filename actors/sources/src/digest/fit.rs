//! Selects what of a schema is written if not all of it fits.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use super::facts::{Facts, TableFacts};
use super::line::{Style, line, line_among};
use super::words::one_line;

/// The share of the space, in percent, for the names of the tables left out.
const NAMES: usize = 25;

/// Writes `facts` in at most `most` bytes: all tables, or in full those most referenced and used, and the others by
/// name. `more` says how to ask for the others.
pub fn write(facts: &Facts, style: &Style<'_>, most: usize, more: &str) -> String {
    let all: BTreeSet<usize> = (0..facts.tables.len()).collect();
    let text = of_tables(facts, style, &all);
    if text.len() <= most {
        return text;
    }
    let names: Vec<String> = facts.tables.iter().map(|table| style.name(&table.place)).collect();
    let for_names = names.iter().map(|name| name.len() + 2).sum::<usize>().min(most * NAMES / 100) + more.len() + 60;
    let mut room = most.saturating_sub(for_names);
    let mut whole = BTreeSet::new();
    let ranked = facts.ranked();
    for at in ranked.iter().copied() {
        let Some(table) = facts.tables.get(at).filter(|table| table.is_described()) else { continue };
        let length = line(table, style).len() + 1 + remarks_length(facts, table);
        if length <= room {
            room -= length;
            whole.insert(at);
        }
    }
    let mut text = of_tables(facts, style, &whole);
    let left = ranked.iter().filter(|at| !whole.contains(at)).filter_map(|at| names.get(*at));
    let left: Vec<&String> = left.collect();
    text.push_str("Also");
    if !more.is_empty() {
        let _ = write!(text, " ({more})");
    }
    text.push(':');
    for (at, name) in left.iter().enumerate() {
        // Room for the last words is kept.
        if text.len() + name.len() + 24 > most {
            let _ = write!(text, " … and {} more", left.len() - at);
            break;
        }
        let _ = write!(text, "{} {name}", if at == 0 { "" } else { "," });
    }
    text.push('\n');
    text
}

fn of_tables(facts: &Facts, style: &Style<'_>, wanted: &BTreeSet<usize>) -> String {
    let (mut text, mut told) = (String::new(), HashSet::new());
    let mut schema: Option<&str> = None;
    for table in wanted.iter().filter_map(|at| facts.tables.get(*at)) {
        if schema != Some(&table.place.0) {
            schema = Some(&table.place.0);
            if let Some(remarks) = facts.schema_remarks.get(&table.place.0) {
                let _ = writeln!(text, "-- {}: {}", table.place.0, one_line(remarks));
            }
        }
        text.push_str(&line_among(table, style, &mut told));
        text.push('\n');
    }
    text
}

/// Returns the length of a schema's comment, which is counted with each of its tables.
fn remarks_length(facts: &Facts, table: &TableFacts) -> usize {
    facts.schema_remarks.get(&table.place.0).map_or(0, |it| one_line(it).len() + table.place.0.len() + 6)
}

impl TableFacts {
    /// Whether its columns were read.
    fn is_described(&self) -> bool {
        !self.columns.is_empty()
    }
}
