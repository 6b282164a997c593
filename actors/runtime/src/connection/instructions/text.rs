//! The text: what the connection is, the administrator's words, tools and procedures, and the digest of the schema,
//! which gets the remaining space.

use std::fmt::Write;

use super::survey::{self, Survey};
use crate::connection::calls::runner::Runner;
use portico_core::call::{Call, InstructionsOptions};
use portico_core::error::Result;
use portico_sources::digest::{Facts, Style, one_line, quoted, signature, write_list};
use portico_sources::{Procedure, Profile, digest};

/// Bytes of a token, as budgets count them.
const TOKEN: usize = 4;
/// Bytes of the administrator's words, which come on top, and of own tools.
const MOST_WORDS: usize = 4 * 1024;
const MOST_TOOLS: usize = 3 * 1024;
/// A part of the room, in percent, is for procedures.
const PROCEDURES: usize = 25;
/// Bytes that the tables have in any case.
const LEAST_TABLES: usize = 512;

/// Writes the instructions for the caller of `call`, and says whether all that belongs to them could be read.
pub(in crate::connection) async fn write(
    runner: &Runner,
    profile: &Profile,
    options: &InstructionsOptions,
    call: &Call,
) -> Result<(String, bool)> {
    let default_schema = Some(profile.default_schema.as_deref().unwrap_or("main"));
    let Survey { facts, is_whole } = survey::read(runner, options, call, default_schema).await?;
    let style = Style { default_schema, may_write: runner.may_write(call), without_remarks: false };
    let most = options.tokens * TOKEN;
    let mut text = String::with_capacity(most);
    write_head(&mut text, runner, profile, options, &facts, &style);
    let has_functions = runner.description.connection.driver.capabilities.procedures;
    write_tools(&mut text, profile, options, &style, has_functions, most * PROCEDURES / 100);
    let mut words = String::new();
    if let Some(own) = &runner.description.connection.instructions {
        let _ = writeln!(words, "\n## From the administrator\n\n{}", cut(own.trim(), MOST_WORDS));
    }
    text.push_str("\n## Tables\n\n");
    if facts.tables.is_empty() {
        text.push_str("None that you may see.\n");
    } else {
        text.push_str(digest::LEGEND);
        let room = most.saturating_sub(text.len()).max(LEAST_TABLES);
        text.push_str(&digest::write(&facts, &style, room, &more(options)));
    }
    // After the stable part: clients cache a text by its beginning.
    text.push_str(&words);
    Ok((text, is_whole))
}

/// Returns how to ask for what was left out.
fn more(options: &InstructionsOptions) -> String {
    let has = |tool: &str| options.tools.contains(&tool);
    let each = if has("get_columns") { "get_columns tells them" } else { "" };
    let find = if has("get_tables") { "get_tables with search finds more" } else { "" };
    [each, find].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

fn write_head(
    text: &mut String,
    runner: &Runner,
    profile: &Profile,
    options: &InstructionsOptions,
    facts: &Facts,
    style: &Style<'_>,
) {
    let connection = &runner.description.connection;
    let (name, dialect) = (&connection.name, connection.driver.dialect.name);
    let default = style.default_schema.unwrap_or_default();
    let access = if style.may_write { "you may read and write" } else { "you may only read" };
    let _ = writeln!(
        text,
        "# Connection {name}\n\n{}, {access}. Write {dialect} SQL; name tables `table` (in `{default}`), `schema.table` \
         or `{}.schema.table`, and quote names that are not plain lower case: \"Name\". Give values as `@name` with \
         `parameters`, never in the text.\nA result is cut at {} rows and {} bytes unless `maxRows` asks for more: \
         filter and aggregate in SQL.",
        profile.product,
        quoted(name),
        options.max_rows,
        options.max_bytes,
    );
    let tool = ["execute_select", "execute_sql"].into_iter().find(|tool| options.tools.contains(tool));
    let mut keyed = facts.ranked().into_iter().filter_map(|at| {
        let table = facts.tables.get(at).filter(|table| table.is_table())?;
        Some((table, table.key()?))
    });
    if let (Some(tool), Some((table, (key, is_number)))) = (tool, keyed.next()) {
        let value = if is_number { "1" } else { "\"abc\"" };
        let _ = writeln!(
            text,
            "Example: {tool} `SELECT * FROM {} WHERE {} = @key`, parameters `{{\"key\": {value}}}`.",
            digest::table_name(table, style),
            quoted(key),
        );
    }
}

fn write_tools(
    text: &mut String,
    profile: &Profile,
    options: &InstructionsOptions,
    style: &Style<'_>,
    has_functions: bool,
    most: usize,
) {
    if !options.own_tools.is_empty() {
        text.push_str("\n## Tools made for questions about this connection\n\n");
        let lines = options.own_tools.iter().map(|(name, about)| format!("- {name}: {}", one_line(about)));
        write_list(text, lines, MOST_TOOLS, "tools/list lists them all");
    }
    let has = |tool| options.tools.contains(&tool);
    // Without the tool for procedures, read-only ones are called in a statement.
    let (heading, only_reading) = if has("execute_procedure") {
        ("Procedures (execute_procedure)", !style.may_write)
    } else if has_functions && has("execute_select") {
        ("Functions (call them in SELECT)", true)
    } else {
        return;
    };
    let is_callable = |procedure: &&Procedure| procedure.reads_only || !only_reading;
    let callable: Vec<&Procedure> = profile.procedures.iter().filter(is_callable).collect();
    if !callable.is_empty() {
        let _ = writeln!(text, "\n## {heading}\n");
        let lines = callable.into_iter().map(|procedure| format!("- {}", signature(procedure, style)));
        let more = if has("get_procedures") { "get_procedures lists them all" } else { "" };
        write_list(text, lines, most, more);
    }
    let others = profile.procedures.iter().filter(|procedure| !is_callable(procedure)).count();
    if others > 0 && has("execute_procedure") {
        let _ = writeln!(
            text,
            "\n{others} more may change data, as far as the source says, and this access only reads: a function that only \
             reads can be called in SELECT."
        );
    }
}

/// At most `most` bytes, and a sign where something is missing.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most - '…'.len_utf8());
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_ends_between_letters() {
        assert_eq!((cut("äöü", 6), cut("äöü", 5)), ("äöü".to_owned(), "ä…".to_owned()));
    }
}
