//! Two worked examples on the connection's own tables, each a statement that runs as it stands:
//! one that joins or aggregates, one with a parameter.

use std::fmt::Write;

use super::quoted::plain_or_quoted as quoted;
use super::survey::{self, Place, Survey};
use crate::connection::runner::Runner;
use portico_core::call::{Call, Facet, Narrow};
use portico_core::error::Result;
use portico_core::reply::DataType;
use portico_sources::Profile;

/// A longer statement explains nothing.
const MOST: usize = 1024;

/// A column, as far as an example needs it.
struct Column {
    name: String,
    data_type: i64,
    is_key: bool,
}

/// The section, or nothing where there is no table.
pub(super) async fn write(runner: &Runner, profile: &Profile, survey: &Survey, call: &Call) -> Result<String> {
    let default = profile.default_schema.as_deref().unwrap_or_default();
    let place = |(schema, table): &Place| {
        if schema == default { quoted(table) } else { format!("{}.{}", quoted(schema), quoted(table)) }
    };
    let mut statements: Vec<(String, Option<String>)> = Vec::new();
    let reference = survey.reference.as_ref();
    let first = reference.map(|reference| reference.from.clone()).or_else(|| first_table(survey));
    let Some(first) = first else { return Ok(String::new()) };
    let own = columns(runner, &first, call).await?;
    if let Some(reference) = reference {
        let parent = columns(runner, &reference.to, call).await?;
        let key = reference.key.clone().or_else(|| parent.iter().find(|it| it.is_key).map(|it| it.name.clone()));
        if let Some(key) = key {
            let label = parent.iter().find(|it| it.is_text() && !it.is_key).map_or(key.as_str(), |it| &it.name);
            statements.push((
                format!(
                    "SELECT p.{label}, count(*) AS number\nFROM {} AS c\nJOIN {} AS p ON p.{} = c.{}\nGROUP BY p.{label}\n\
                     ORDER BY number DESC\nLIMIT 10",
                    place(&first),
                    place(&reference.to),
                    quoted(&key),
                    quoted(&reference.column),
                    label = quoted(label),
                ),
                None,
            ));
        }
    }
    if statements.is_empty() {
        let grouped = own.iter().find(|it| it.is_text() && !it.is_key);
        statements.push((
            match grouped {
                Some(column) => format!(
                    "SELECT {column}, count(*) AS number\nFROM {}\nGROUP BY {column}\nORDER BY number DESC\nLIMIT 10",
                    place(&first),
                    column = quoted(&column.name),
                ),
                None => format!("SELECT count(*) AS number FROM {}", place(&first)),
            },
            None,
        ));
    }
    let key = own.iter().find(|it| it.is_key && it.example().is_some());
    if let Some((column, value)) =
        key.or_else(|| own.iter().find(|it| it.example().is_some())).and_then(|it| Some((it, it.example()?)))
    {
        statements.push((
            format!("SELECT * FROM {} WHERE {} = @value LIMIT 5", place(&first), quoted(&column.name)),
            Some(format!("{{\"value\": {value}}}")),
        ));
    }
    let mut text = String::from("\n## Examples\n");
    for (statement, parameters) in statements.iter().filter(|(statement, _)| statement.len() <= MOST) {
        let _ = write!(text, "\n```sql\n{statement}\n```\n");
        if let Some(parameters) = parameters {
            let _ = writeln!(text, "with `parameters` {parameters}");
        }
    }
    Ok(text)
}

/// A table rather than a view, of the first schema that has any.
fn first_table(survey: &Survey) -> Option<Place> {
    let all = || survey.schemas.iter().flat_map(|(name, schema)| schema.tables.iter().map(move |table| (name, table)));
    let found = all().find(|(_, table)| table.kind == "TABLE").or_else(|| all().next())?;
    Some((found.0.clone(), found.1.name.clone()))
}

async fn columns(runner: &Runner, (schema, table): &Place, call: &Call) -> Result<Vec<Column>> {
    let exactly = |name: &str| Some(name.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
    let narrow = Narrow { schema: exactly(schema), table: exactly(table), ..Narrow::default() };
    let rows = survey::list(runner, call, Facet::Columns, narrow, 500).await?;
    let of_table = rows.into_iter().filter(|row| row.get(2).and_then(Option::as_ref) == Some(table));
    Ok(of_table
        .map(|row| {
            let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            Column { name: text(3), data_type: text(4).parse().unwrap_or(0), is_key: text(12) == "true" }
        })
        .collect())
}

impl Column {
    fn is(&self, data_type: DataType) -> bool {
        self.data_type == i64::from(data_type.code())
    }

    fn is_text(&self) -> bool {
        self.is(DataType::Varchar)
    }

    /// A value of its type, as JSON.
    fn example(&self) -> Option<&'static str> {
        let number = [DataType::TinyInt, DataType::SmallInt, DataType::Integer, DataType::BigInt, DataType::Numeric];
        if number.into_iter().any(|it| self.is(it)) {
            Some("1")
        } else if self.is_text() {
            Some("\"abc\"")
        } else if self.is(DataType::Date) {
            Some("\"2026-01-31\"")
        } else if self.is(DataType::Uuid) {
            Some("\"00000000-0000-4000-8000-000000000000\"")
        } else {
            None
        }
    }
}
