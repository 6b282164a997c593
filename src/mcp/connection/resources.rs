//! Each table's definition as a resource (MCP, server/resources): listed, described by a template, and read as
//! Markdown. What of the source is visible was decided behind the mailbox.

use std::borrow::Cow;
use std::fmt::Write;

use futures_util::{StreamExt, stream};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};
use portico_actors::call::{Limits, MetadataFilter, MetadataKind, Op};
use portico_actors::error::Error;
use portico_actors::pattern::literal;
use portico_actors::reply::Reply;
use portico_actors::source::TextRow;
use portico_actors::source::digest::{self, Facts, QualifiedName, Style};
use serde_json::{Value, json};

use crate::encode::{self, Caps, Format, TruncationHint};
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::RpcError;
use crate::mcp::era::Era;
use crate::mcp::model::present;
use crate::mcp::target::{Catalog, Target};
use crate::routing;

const MIME_TYPE: &str = "text/markdown";
/// Bytes of a listing that are read at most: some forty thousand tables.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Connections that are listed at the same time.
const AT_ONCE: usize = 4;
/// The maximal number of columns of a table that are read; PostgreSQL has no more than 1,600.
const MOST_COLUMNS: u64 = 2_000;

/// Returns the only template of a connection.
pub(in crate::mcp) fn template(connection: &str) -> String {
    format!("portico://{connection}/{{schemaName}}/{{tableName}}")
}

fn uri(connection: &str, schema: &str, table: &str) -> String {
    format!("portico://{connection}/{}/{}", encoded(schema), encoded(table))
}

/// Returns the items of `resources/list`. If one of several connections fails, the others are listed all the same.
pub(in crate::mcp) async fn list(context: &Context<'_>, summary: &mut Summary) -> Result<Vec<Value>, RpcError> {
    let catalogs = context.target.catalogs();
    if let [only] = catalogs[..] {
        return list_one(context, only, summary).await;
    }
    let (parent, trace) = (summary.parent, summary.trace);
    let each = catalogs.into_iter().map(|catalog| async move {
        let mut summary = Summary { parent, trace, ..Summary::default() };
        let listed = list_one(context, catalog, &mut summary).await;
        listed.map_err(|error| (error, summary))
    });
    let each: Vec<_> = stream::iter(each).buffered(AT_ONCE).collect().await;
    let all_failed = each.iter().all(Result::is_err);
    let mut items = Vec::new();
    for listed in each {
        match listed {
            Ok(listed) => items.extend(listed),
            Err((error, failed)) if all_failed => {
                (summary.failure, summary.cause) = (failed.failure, failed.cause);
                return Err(error);
            }
            Err(_) => {}
        }
    }
    Ok(items)
}

async fn list_one(context: &Context<'_>, catalog: Catalog<'_>, summary: &mut Summary) -> Result<Vec<Value>, RpcError> {
    let of = catalog.name();
    // At an address of several connections, the name includes the connection.
    let before = if let Target::All(_) = context.target { format!("{of}.") } else { String::new() };
    let rows = rows(context, catalog, MetadataKind::Tables, MetadataFilter::default(), u64::MAX, summary).await?;
    let items = rows
        .iter()
        .map(|row| {
            let (schema, table) = (text(row, 1), text(row, 2));
            present(json!({
                "uri": uri(of, schema, table),
                "name": format!("{before}{schema}.{table}"),
                "title": format!("{table} ({})", text(row, 3).to_lowercase()),
                "mimeType": MIME_TYPE,
                "description": row[4].as_str(),
            }))
        })
        .collect();
    Ok(items)
}

/// Returns the only item of `resources/templates/list` of a connection or a workspace.
pub(in crate::mcp) fn template_item(catalog: Catalog<'_>) -> Value {
    json!({
        "uriTemplate": template(catalog.name()),
        "name": "table",
        "title": "Definition of a table or view",
        "description": "One table or view in a line, with types, keys and allowed values, and its comments. Names are percent-encoded.",
        "mimeType": MIME_TYPE,
    })
}

/// The result of `resources/read`.
pub(in crate::mcp) async fn read(
    context: &Context<'_>,
    given: &str,
    summary: &mut Summary,
) -> Result<String, RpcError> {
    let unknown = || RpcError::resource(given, context.request.era == Era::Stateless);
    let places = context.target.catalogs().into_iter().map(|catalog| (place(given, catalog.name()), catalog));
    let found = places.into_iter().find_map(|(place, catalog)| Some((place?, catalog)));
    let ((schema, table), member) = found.ok_or_else(unknown)?;
    let narrow =
        MetadataFilter { schema: Some(literal(&schema)), table: Some(literal(&table)), ..MetadataFilter::default() };
    let found = rows(context, member, MetadataKind::Tables, narrow.clone(), MOST_COLUMNS, summary).await?;
    // A name in other capitals is another name.
    let this = |row: &&Value| text(row, 1) == schema && text(row, 2) == table;
    let described = found.iter().find(this).ok_or_else(unknown)?;
    let columns = rows(context, member, MetadataKind::Columns, narrow.clone(), MOST_COLUMNS, summary).await?;
    let columns: Vec<&Value> = columns.iter().filter(this).collect();
    let keys = rows(context, member, MetadataKind::ImportedKeys, narrow, MOST_COLUMNS, summary).await?;
    let keys: Vec<&Value> = keys.iter().filter(|row| text(row, 5) == schema && text(row, 6) == table).collect();
    let contents = json!([{"uri": given, "mimeType": MIME_TYPE, "text": definition(described, &columns, &keys)}]);
    Ok(json!({"contents": contents}).to_string())
}

/// The rows of one kind of metadata of a connection or a workspace, as JSON arrays.
pub(in crate::mcp) async fn rows(
    context: &Context<'_>,
    catalog: Catalog<'_>,
    metadata: MetadataKind,
    narrow: MetadataFilter,
    most: u64,
    summary: &mut Summary,
) -> Result<Vec<Value>, RpcError> {
    let reply = match catalog {
        Catalog::Connection(member) => {
            context.note(&member.entry, summary);
            let by = std::sync::Arc::clone(&context.by);
            let op = Op::Describe(metadata, narrow);
            let origin = summary.origin(context.origin);
            let reply = context.directory.ask(&member.entry, origin, by, op, Limits::default()).await;
            reply.and_then(Reply::into_results)
        }
        Catalog::Workspace(it) => {
            summary.workspace = Some(std::sync::Arc::clone(&it.reachable.workspace.name));
            let asking = context.asking(summary, Limits::default(), None);
            let (federation, directory) = (context.federation, context.directory);
            routing::list_workspace(federation, directory, &it.reachable, metadata, narrow, asking).await
        }
    };
    let caps = Caps { rows: most, bytes: MOST_BYTES, rows_bound: most, rest: TruncationHint::Narrow };
    let table = match reply {
        Ok(results) => {
            encode::read_tool_result(results, caps, Format::Json, |_, octets| context.request.prepare(octets)).await
        }
        Err(error) => Err(error),
    };
    let table = table.and_then(|table| serde_json::from_str::<Value>(&table.json.to_string()).map_err(Error::internal));
    match table {
        Ok(mut table) => Ok(match table["rows"].take() {
            Value::Array(rows) => rows,
            _ => Vec::new(),
        }),
        Err(error) => {
            summary.failure = Some(error.kind);
            summary.cause = error.cause().map(str::to_owned);
            Err(RpcError::internal(&error))
        }
    }
}

/// The table's line of the digest, and its comments in full.
fn definition(table: &Value, columns: &[&Value], keys: &[&Value]) -> String {
    let rows = |rows: &[&Value]| rows.iter().map(|row| text_row(row)).collect::<Vec<TextRow>>();
    let place: QualifiedName = (text(table, 1).to_owned(), text(table, 2).to_owned());
    // The tables that its keys refer to are included by name.
    let referred = keys.iter().map(|key| (text(key, 1), text(key, 2))).filter(|it| *it != (&place.0, &place.1));
    let referred = referred.map(|(schema, name)| vec![None, Some(schema.to_owned()), Some(name.to_owned())]);
    let tables: Vec<TextRow> = referred.chain([text_row(table)]).collect();
    let mut facts = Facts::new(&tables, &[], &rows(keys), None);
    facts.describe(&rows(columns));
    let mut out = format!("# {}.{}\n", place.0, place.1);
    let Some(found) = facts.table(&place) else { return out };
    let style = Style { default_schema: None, may_write: true, without_remarks: true };
    let _ = write!(out, "\n```sql\n{}\n```\n", digest::line(found, &style));
    if let Some(remarks) = &found.remarks {
        let _ = write!(out, "\n{remarks}\n");
    }
    for (at, (column, remarks)) in found.remarks_of_columns().enumerate() {
        let _ = writeln!(out, "{}- {column}: {remarks}", if at == 0 { "\n" } else { "" });
    }
    out
}

/// A row of a listing as texts.
fn text_row(row: &Value) -> TextRow {
    let cell = |cell: &Value| match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    row.as_array().map(|cells| cells.iter().map(cell).collect()).unwrap_or_default()
}

fn text(row: &Value, column: usize) -> &str {
    row[column].as_str().unwrap_or_default()
}

/// Everything but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(name: &str) -> PercentEncode<'_> {
    utf8_percent_encode(name, RESERVED)
}

fn decoded(text: &str) -> Option<String> {
    let is_escape =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let whole = text.split('%').skip(1).all(is_escape);
    percent_decode_str(text).decode_utf8().ok().filter(|_| whole).map(Cow::into_owned)
}

/// Schema and table of one of our addresses.
fn place(uri: &str, connection: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("portico://")?;
    let (name, rest) = rest.split_once('/')?;
    let (schema, table) = rest.split_once('/')?;
    (name == connection && !table.contains('/')).then_some(())?;
    Some((decoded(schema)?, decoded(table)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_address_and_every_address_one_name() {
        for (schema, table) in [("main", "orders"), ("a/b", "x y%"), ("ł", "?#\"'"), ("", "{t}")] {
            let uri = uri("shop", schema, table);
            assert!(uri.is_ascii() && !uri.contains([' ', '?', '#', '"']), "{uri}");
            assert_eq!(place(&uri, "shop"), Some((schema.to_owned(), table.to_owned())), "{uri}");
        }
        for wrong in [
            "",
            "portico://shop",
            "portico://shop/a",
            "portico://other/a/b",
            "portico://shop/a/b/c",
            "portico://shop/a/%",
            "portico://shop/a/%f",
            "portico://shop/a/%+1",
            "portico://shop/a/%FF",
            "file:///etc/passwd",
        ] {
            assert_eq!(place(wrong, "shop"), None, "{wrong}");
        }
    }
}
