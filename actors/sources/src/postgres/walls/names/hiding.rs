//! Removes hidden names from what the source says: from its errors, and from results that are its own words about a
//! statement.

use std::sync::Arc;

use serde_json::Value;

use crate::exposure::rows;
use crate::postgres::explain;
use crate::postgres::walls::names::hidden::HiddenNames;
use portico_core::error::{Error, Result};
use portico_core::reply::{Batch, Cell, Part, Results};

/// `not_null_violation`.
const NOT_NULL: &str = "23502";
/// `check_violation`.
const CHECK: &str = "23514";
/// `with_check_option_violation`.
const CHECK_OPTION: &str = "44000";
/// `insufficient_privilege`.
const NO_RIGHT: &str = "42501";

/// How rows with the server's own words about a statement are filtered.
#[derive(Clone)]
pub(crate) enum HidingMode {
    /// Hidden names are removed.
    Without(Arc<HiddenNames>),
    /// A plan without the constraints that its triggers are for.
    Plan,
    /// Of a plan only the kinds of its nodes and their costs are kept.
    Nodes,
    /// Of a plan as JSON only the kinds of its nodes and their costs are kept.
    Costs,
}

/// Filters `results`.
pub(crate) fn hide_names(results: Results, telling: HidingMode) -> Results {
    let (of_rows, mut begun) = (telling.clone(), false);
    let results = rows::chosen(results, move |batch, row| {
        let is_first = !std::mem::replace(&mut begun, true);
        let is_told = match of_rows {
            HidingMode::Without(_) | HidingMode::Costs => true,
            HidingMode::Plan => !begins(batch, row, &["Trigger "])?,
            HidingMode::Nodes => is_first || begins(batch, row, &NODES)?,
        };
        Ok(is_told.then_some(0..0))
    });
    results.map_parts(move |part| match part {
        Part::Rows(batch) => Part::Rows(Box::new(HidingBatch { batch, telling: telling.clone() })),
        part => part,
    })
}

/// Lines of a plan about a node or about time: others contain conditions and columns.
const NODES: [&str; 3] = ["->", "Planning Time: ", "Execution Time: "];
/// The start of the line, in each format, after which the triggers follow: their names and times reveal hidden
/// tables that refer to this one.
const TRIGGERS: [&str; 3] = ["\"Triggers\"", "<Triggers>", "Triggers:"];

/// Whether a line of a plan begins so.
fn begins(batch: &dyn Batch, row: usize, with: &[&str]) -> Result<bool> {
    let Cell::Text(line) = batch.cell(row, 0)? else { return Ok(false) };
    let line = line.trim_start();
    Ok(with.iter().any(|start| line.starts_with(start)))
}

/// A plan in one value, without its triggers.
fn plan(text: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut below = None;
    let is_told = |line: &&str| {
        if below.is_some_and(|triggers| depth(line) > triggers) {
            return false;
        }
        below = TRIGGERS.iter().any(|start| line.trim_start().starts_with(start)).then(|| depth(line));
        true
    };
    text.lines().filter(is_told).collect::<Vec<_>>().join("\n")
}

/// Members of a plan's nodes that do not reveal the objects they are about.
const COSTS: [&str; 5] = ["Plan", "Plans", "Node Type", "Total Cost", "Plan Rows"];

/// A plan as JSON with these members alone.
fn costs(text: &str) -> String {
    fn reduce(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(reduce),
            Value::Object(members) => {
                members.retain(|name, _| COSTS.contains(&name.as_str()));
                members.values_mut().for_each(reduce);
            }
            _ => {}
        }
    }
    // One that is too deep to be read has its first cost.
    let Ok(mut plan) = serde_json::from_str::<Value>(text) else {
        return explain::root_cost(text).map(|cost| format!("\"Total Cost\": {cost}")).unwrap_or_default();
    };
    reduce(&mut plan);
    plan.to_string()
}

/// Removes the object from a plan's node: `->  Index Scan using i on t a  (cost=…)`.
fn node(line: &str) -> String {
    let (node, cost) = line.find("  (").map_or((line, ""), |at| line.split_at(at));
    let of = [" using ", " on "].iter().filter_map(|word| node.find(word)).min();
    format!("{}{cost}", node.get(..of.unwrap_or(node.len())).unwrap_or(node))
}

/// Rows that the server wrote about a statement.
struct HidingBatch {
    batch: Box<dyn Batch>,
    telling: HidingMode,
}

impl Batch for HidingBatch {
    fn rows(&self) -> usize {
        self.batch.rows()
    }

    fn octets(&self) -> usize {
        self.batch.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        Ok(match (self.batch.cell(row, column)?, &self.telling) {
            (Cell::Text(text), HidingMode::Without(names)) => Cell::Text(names.without(&text).into_owned().into()),
            (Cell::Text(line), HidingMode::Nodes) => Cell::Text(node(&line).into()),
            (Cell::Text(text), HidingMode::Plan) if text.contains('\n') => Cell::Text(plan(&text).into()),
            (Cell::Json(text), HidingMode::Plan) => Cell::Json(plan(&text).into()),
            (Cell::Json(text), HidingMode::Costs) => Cell::Json(costs(&text).into()),
            (cell, _) => cell,
        })
    }
}

/// Returns the error without the server's hints, which suggest similar names, and without hidden names.
///
/// Values that it repeats are kept, and so are the caller's own words: to remove a name from them would reveal that
/// a hidden object has it.
pub(crate) fn bare(error: Error, names: &HiddenNames) -> Error {
    let whole = |words: &str| names.without(words).into_owned();
    let site = error.get_site().cloned().unwrap_or_default();
    let sqlstate = error.get_sqlstate().unwrap_or_default().to_owned();
    match sqlstate.as_str() {
        // It is passed on like the routine's result.
        _ if site.raised => stripped(error, str::to_owned, str::to_owned),
        // The row must not be visible, and neither its columns and constraints.
        sqlstate if site.relation.as_ref().is_some_and(|relation| names.hides(relation)) => {
            Error::new(error.kind, "a constraint of a table that is not shown is violated").sqlstate(sqlstate).judged()
        }
        // It names the sequence that has come to its end.
        "2200H" => stripped(error, whole, whole),
        // Of a data exception the server's own words name types alone.
        sqlstate if sqlstate.starts_with("22") || sqlstate.starts_with("P0") => {
            stripped(error, str::to_owned, str::to_owned)
        }
        sqlstate if sqlstate.starts_with("23") => {
            let has_key = !matches!(sqlstate, NOT_NULL | CHECK);
            stripped(error, |words| without_quoted(words, names), |detail| without_keys(detail, has_key, names))
        }
        // The row may be one of a table behind the view.
        CHECK_OPTION => stripped(error, |words| without_quoted(words, names), |_| String::new()),
        // Errors about the statement itself keep their words; errors about privileges name the object.
        sqlstate if sqlstate.starts_with("42") && sqlstate != NO_RIGHT && !site.within => {
            stripped(error, str::to_owned, str::to_owned)
        }
        _ => stripped(error, whole, whole),
    }
}

/// Removes hidden names in quotes. Removes all hidden names if the server's language has other quotes or a name
/// contains quotes.
fn without_quoted(words: &str, names: &HiddenNames) -> String {
    if !words.contains('"') || names.odd(true).any(|name| name.contains('"') && words.contains(name)) {
        return names.without(words).into_owned();
    }
    let parts = words.split('"').enumerate();
    let parts: Vec<_> = parts.map(|(at, part)| if at % 2 == 1 { names.without(part) } else { part.into() }).collect();
    parts.join("\"")
}

/// The detail of a violated constraint without hidden names: `Failing row contains (1, 2).`, and with a key
/// `Key (a, b)=(1, 2) is not present in table "t".`
fn without_keys(detail: &str, has_key: bool, names: &HiddenNames) -> String {
    let Some((head, rest)) = detail.split_once('(') else { return without_quoted(detail, names) };
    let columns = if has_key { rest.find(")=(").unwrap_or_default() } else { 0 };
    let (columns, rest) = rest.split_at(columns);
    let (values, tail) = rest.split_at(rest.rfind(')').unwrap_or(rest.len()));
    format!("{head}({}{values}{}", names.without(columns), without_quoted(tail, names))
}

/// Returns the error without hints, if it repeats only the caller's own words. Hidden names are then kept: removing
/// them would reveal which words are hidden names.
pub(crate) fn uttered(error: Error) -> Error {
    match error.get_sqlstate() {
        Some("3F000" | "42601" | "42702" | "42703" | "42704" | "42883" | "42P01" | "42P02") => {
            stripped(error, str::to_owned, str::to_owned)
        }
        _ => error,
    }
}

/// The failure without hints that are near, its words as `without` leaves them. A detail that `of_detail` would change is
/// left out.
fn stripped(error: Error, without: impl Fn(&str) -> String, of_detail: impl Fn(&str) -> String) -> Error {
    // It repeats only words of the message; similar names are searched among those that the caller sees.
    let missing = error.get_missing().filter(|missing| missing.renamed(&without) == **missing);
    let near = matches!(error.get_sqlstate(), Some("42P01" | "42703" | "42883"));
    Error::new(error.kind, without(&error.message))
        .judged()
        .with(error.get_sqlstate(), Error::sqlstate)
        .with(error.get_position(), Error::position)
        .with(error.get_needs(), Error::needs)
        .with(missing.cloned(), Error::missing)
        .with(error.get_retry_after(), Error::retry_after)
        .with(error.get_detail().filter(|detail| of_detail(detail) == **detail), Error::detail)
        .with(error.get_hint().filter(|hint| !near && without(hint) == **hint), Error::hint)
}

/// Returns an error without any details, since it is not known what is hidden.
pub(crate) fn withheld(error: &Error) -> Error {
    Error::new(error.kind, "the source refused the statement").judged().with(error.get_sqlstate(), Error::sqlstate)
}
