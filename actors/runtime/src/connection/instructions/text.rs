//! `get_instructions`: what an agent should know before its first query, made from the connection
//! itself and bounded in size. What is read for it is in [`survey`], its examples in [`examples`].

use std::fmt::Write;

use super::super::runner::Runner;
use super::examples;
use super::quoted::plain_or_quoted;
use super::survey::{self, Survey, Table};
use portico_core::call::{Briefing, Call, Limits};
use portico_core::error::Result;
use portico_core::principal::Scope;
use portico_sources::{Access, Profile};

/// Bytes of the whole text at most: an agent reads it with every conversation.
const MOST: usize = 16 * 1024;
/// Bytes of the administrator's words, of own tools and of procedures.
const MOST_WORDS: usize = 4 * 1024;
const MOST_TOOLS: usize = 3 * 1024;
const MOST_PROCEDURES: usize = 2 * 1024;
/// Characters of a comment.
const REMARK_LENGTH: usize = 120;

/// Writes the instructions for the caller of `call`.
pub(in crate::connection) async fn write(
    runner: &Runner,
    profile: &Profile,
    briefing: &Briefing,
    call: &Call,
) -> Result<String> {
    let survey = survey::read(runner, call).await?;
    let examples = examples::write(runner, profile, &survey, call).await?;
    let description = &runner.description;
    let mut text = String::with_capacity(MOST);
    let writable = description.connection.access == Access::ReadWrite && call.by.may(Scope::Write);
    let _ = writeln!(
        text,
        "# Connection {}\n\nSource: {}. Access: {}.\nEach call answers at most {} rows and {} bytes, and is cancelled \
         after `timeout` seconds ({} unless given, 300 at most).",
        description.connection.name,
        profile.product,
        if writable { "you may read and write" } else { "you may only read" },
        briefing.max_rows,
        briefing.max_bytes,
        Limits::DEFAULT_TIMEOUT.as_secs(),
    );
    if let Some(words) = &description.connection.instructions {
        let _ = writeln!(text, "\n## From the administrator\n\n{}", cut(words.trim(), MOST_WORDS));
    }
    write_names(&mut text, runner, profile);
    write_tools(&mut text, profile, briefing);
    text.push_str(&examples);
    write_tables(&mut text, &survey, briefing);
    Ok(cut(&text, MOST))
}

fn write_names(text: &mut String, runner: &Runner, profile: &Profile) {
    let name = &runner.description.connection.name;
    let default = profile.default_schema.as_deref().unwrap_or("main");
    let dialect = runner.description.connection.driver.dialect.name;
    let _ = writeln!(
        text,
        "\n## Names\n\nWrite {dialect} SQL. Name tables as `table`, `schema.table` or `{name}.schema.table`; \
         unqualified names are looked for in `defaultSchema` if you give it, then in `{default}`. \
         Quote names that are not plain lower case as \"Name\"."
    );
}

fn write_tools(text: &mut String, profile: &Profile, briefing: &Briefing) {
    let has = |tool: &str| briefing.tools.contains(&tool);
    text.push_str("\n## How to go on\n\n");
    if has("get_tables") && has("get_columns") {
        text.push_str("- get_tables and get_columns tell the structure; comments are in REMARKS.\n");
    }
    if has("execute_select") || has("execute_sql") {
        let tool = if has("execute_select") { "execute_select" } else { "execute_sql" };
        let _ = writeln!(
            text,
            "- {tool} reads; each call is one statement and its own transaction.\n\
             - Give values as parameters, `@name` in the statement and `{{\"name\": value}}` in `parameters`, never \
             inside the text.\n\
             - Results are cut at `maxRows` (see `truncated` and `hint`): aggregate or filter in SQL rather than \
             reading everything."
        );
    }
    if !briefing.own_tools.is_empty() {
        text.push_str("\nTools made for questions about this connection; prefer them where they fit:\n\n");
        let lines = briefing.own_tools.iter().map(|(name, about)| format!("- {name}: {}", one_line(about)));
        write_list(text, lines, MOST_TOOLS, "tools/list lists them all");
    }
    if !profile.procedures.is_empty() {
        text.push_str("\nProcedures:\n\n");
        let lines = profile.procedures.iter().map(|procedure| {
            let name = format!("{}.{}", plain_or_quoted(&procedure.schema), plain_or_quoted(&procedure.name));
            match &procedure.remarks {
                Some(remarks) => format!("- {name}: {}", one_line(remarks)),
                None => format!("- {name}"),
            }
        });
        write_list(
            text,
            lines,
            MOST_PROCEDURES,
            if has("get_procedures") { "get_procedures lists them all" } else { "" },
        );
    }
}

fn write_tables(text: &mut String, survey: &Survey, briefing: &Briefing) {
    text.push_str("\n## Schemas and tables\n");
    if survey.schemas.is_empty() {
        text.push_str("\nNone that you may see.\n");
        return;
    }
    let all: usize = survey.schemas.values().map(|schema| schema.tables.len()).sum();
    let mut lines = Vec::with_capacity(all + survey.schemas.len());
    for (name, schema) in &survey.schemas {
        let views = schema.tables.iter().filter(|table| table.kind.ends_with("VIEW")).count();
        let mut head = format!("\nSchema `{name}`: {} tables, {views} views", schema.tables.len() - views);
        if let Some(remarks) = &schema.remarks {
            let _ = write!(head, ". {}", one_line(remarks));
        }
        lines.push((head, false));
        lines.extend(schema.tables.iter().map(|table| (describe(table), true)));
    }
    let more = if briefing.tools.contains(&"get_tables") { ": get_tables lists them all" } else { "" };
    let mut left = all;
    for (line, is_table) in lines {
        // Room for the last line is kept.
        if text.len() + line.len() + 1 > MOST - 80 {
            let _ = writeln!(text, "- … and {left} more{more}");
            return;
        }
        text.push_str(&line);
        text.push('\n');
        left -= usize::from(is_table);
    }
}

fn describe(table: &Table) -> String {
    let mut line = format!("- {}", plain_or_quoted(&table.name));
    match (table.kind.as_str(), table.rows) {
        ("TABLE", Some(rows)) => drop(write!(line, " (about {rows} rows)")),
        ("TABLE", None) => {}
        (kind, _) => drop(write!(line, " ({})", kind.to_lowercase())),
    }
    if let Some(remarks) = &table.remarks {
        let _ = write!(line, ": {}", one_line(remarks));
    }
    line
}

/// Lines within `most` bytes, and how many there are beyond.
fn write_list(text: &mut String, lines: impl ExactSizeIterator<Item = String>, most: usize, more: &str) {
    let (end, mut left) = (text.len() + most, lines.len());
    for line in lines {
        if text.len() + line.len() > end {
            let colon = if more.is_empty() { "" } else { ": " };
            let _ = writeln!(text, "- … and {left} more{colon}{more}");
            return;
        }
        text.push_str(&line);
        text.push('\n');
        left -= 1;
    }
}

/// A comment on one line, cut where it is long.
fn one_line(remarks: &str) -> String {
    let mut words = remarks.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = words.char_indices().nth(REMARK_LENGTH) {
        words.truncate(at);
        words.push('…');
    }
    words
}

/// At most `most` bytes, and a sign where something is missing.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most - '…'.len_utf8()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_with_how_many_are_missing() {
        let mut text = String::new();
        write_list(&mut text, (0..100).map(|n| format!("- {n}")).collect::<Vec<_>>().into_iter(), 25, "look there");
        assert_eq!(text, "- 0\n- 1\n- 2\n- 3\n- 4\n- 5\n- … and 94 more: look there\n");
        assert_eq!((cut("äöü", 6), cut("äöü", 5)), ("äöü".to_owned(), "ä…".to_owned()));
        assert_eq!(
            plain_or_quoted("order") + &plain_or_quoted("a_b") + &plain_or_quoted("A\"b"),
            "\"order\"a_b\"A\"\"b\""
        );
    }
}
