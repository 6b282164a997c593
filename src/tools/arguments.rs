//! The arguments of each tool become an operation. Unknown and wrong ones are refused by name.

use portico_actors::call::{Briefing, Facet, Limits, Narrow, Op, ProcedureCall, Sql, Verb};
use portico_actors::error::{Error, Kind, Result};

use super::definitions::executing;
use super::kind::Operation;
use super::offer::{Offer, Resolved, caps, timeout};
use crate::encode::{Caps, FORMATS, Format, Rest};
use crate::fields::Fields;

/// Reads the arguments of the tool with `operation`; `briefing` says what instructions tell of the tools.
pub(super) fn resolve(
    operation: Operation,
    mut fields: Fields,
    offer: &Offer<'_>,
    briefing: impl FnOnce() -> Briefing,
) -> Result<Resolved> {
    let listing = |facet, fields: &mut Fields| {
        let (tables, search) = sought(facet, fields)?;
        let explains = matches!(facet, Facet::Tables | Facet::Columns);
        let narrow = Narrow { tables, search, explains, ..narrow(facet, fields)? };
        Ok::<_, Error>((Op::Describe(facet, narrow), Rest::Narrow))
    };
    let is_listing = !operation.as_str().starts_with("execute_");
    if !is_listing {
        check_catalog(&mut fields, offer)?;
    }
    let (op, rest) = match operation {
        Operation::GetInstructions => {
            check_catalog(&mut fields, offer)?;
            fields.finish("arguments")?;
            let (op, caps) = (Op::Instructions(briefing()), caps(offer, Rest::Narrow));
            return Ok(Resolved { operation, op, limits: Limits::default(), caps, format: Format::Json });
        }
        Operation::GetCatalogs => listing(Facet::Catalogs, &mut fields)?,
        Operation::GetSchemas => listing(Facet::Schemas, &mut fields)?,
        Operation::GetTables => listing(Facet::Tables, &mut fields)?,
        Operation::GetColumns => listing(Facet::Columns, &mut fields)?,
        Operation::GetProcedures => listing(Facet::Procedures, &mut fields)?,
        Operation::GetProcedureParameters => listing(Facet::ProcedureParameters, &mut fields)?,
        Operation::ExecuteProcedure => (Op::Procedure(procedure(&mut fields)?), Rest::Parameters),
        Operation::ExecuteSql => (statement(Verb::Any, &mut fields, offer)?, Rest::Rewrite),
        Operation::ExecuteSelect => (statement(Verb::Select, &mut fields, offer)?, Rest::Rewrite),
        Operation::ExecuteInsert => (statement(Verb::Insert, &mut fields, offer)?, Rest::Rewrite),
        Operation::ExecuteUpdate => (statement(Verb::Update, &mut fields, offer)?, Rest::Rewrite),
    };
    let caps = asked_caps(&mut fields, offer, rest)?;
    let limits = match rest {
        Rest::Narrow | Rest::Connections => Limits::default(),
        Rest::Rewrite | Rest::Parameters => Limits { timeout: timeout(&mut fields)?, rows: Some(caps.rows) },
    };
    let format = format(&mut fields)?;
    fields.finish("arguments")?;
    Ok(Resolved { operation, op, limits, caps, format })
}

/// The tables that an agent asks for, as it writes them, and the words that it looks for.
fn sought(facet: Facet, fields: &mut Fields) -> Result<(Vec<String>, Option<String>)> {
    if !matches!(facet, Facet::Tables | Facet::Columns) {
        return Ok((Vec::new(), None));
    }
    let tables = fields.take("tableName").map_or_else(
        || Ok(Vec::new()),
        |value| {
            let text = serde_json::from_str::<String>(value.get()).map(|name| vec![name]);
            let tables = text.or_else(|_| serde_json::from_str::<Vec<String>>(value.get())).map_err(|_| {
                Error::invalid("tableName: give a string: a name, a pattern, or several of these with commas")
            })?;
            // A client sends what was left empty as an empty text.
            Ok(tables.into_iter().filter(|name| !name.trim().is_empty()).collect())
        },
    )?;
    let search = if facet == Facet::Tables { fields.string("search")? } else { None };
    Ok((tables, search.filter(|words| !words.trim().is_empty())))
}

/// Each facet takes the filters that its columns have.
pub(crate) fn narrow(facet: Facet, fields: &mut Fields) -> Result<Narrow> {
    let of_procedures = matches!(facet, Facet::Procedures | Facet::ProcedureParameters);
    let of_tables = !of_procedures && !matches!(facet, Facet::Catalogs | Facet::Schemas);
    let mut filter = |name, is_there| if is_there { fields.string(name) } else { Ok(None) };
    Ok(Narrow {
        catalog: filter("catalogName", true)?,
        schema: filter("schemaName", facet != Facet::Catalogs)?,
        table: filter("tableName", of_tables)?,
        table_type: filter("tableType", facet == Facet::Tables)?,
        column: filter("columnName", facet == Facet::Columns)?,
        procedure: filter("procedureName", of_procedures)?,
        param: filter("paramName", facet == Facet::ProcedureParameters)?,
        ..Narrow::default()
    })
}

fn statement(verb: Verb, fields: &mut Fields, offer: &Offer<'_>) -> Result<Op> {
    let dry_run = if verb == Verb::Select { None } else { fields.boolean("dryRun")? };
    let every_row = if matches!(verb, Verb::Any | Verb::Update) { fields.boolean("all")? } else { None };
    let sql = Sql {
        text: fields.required("query")?,
        parameters: fields.arguments("parameters")?,
        default_schema: fields.string("defaultSchema")?,
        tools: executing(offer),
        dry_run: dry_run.unwrap_or_default(),
        guards_every_row: !every_row.unwrap_or_default(),
        cost_limit: offer.bounds.explain_cost_limit,
        ..Sql::default()
    };
    Ok(Op::Execute(verb, sql))
}

fn procedure(fields: &mut Fields) -> Result<ProcedureCall> {
    Ok(ProcedureCall {
        procedure: fields.required("procedure")?,
        arguments: fields.arguments("parameters")?,
        default_schema: fields.string("defaultSchema")?,
        overload: None,
        dry_run: fields.boolean("dryRun")?.unwrap_or_default(),
    })
}

/// The connection may be named although the address says it already.
fn check_catalog(fields: &mut Fields, offer: &Offer<'_>) -> Result<()> {
    match fields.string("catalogName")? {
        Some(named) if !named.eq_ignore_ascii_case(offer.connection) => Err(Error::not_found(format!(
            "catalogName: there is no connection {named} at this address, which is of {} alone",
            offer.connection
        ))
        .hint("leave catalogName out")),
        _ => Ok(()),
    }
}

/// `maxRows` raises the caps of a context window up to the connection's own.
fn asked_caps(fields: &mut Fields, offer: &Offer<'_>, rest: Rest) -> Result<Caps> {
    let caps = caps(offer, rest);
    let asked = fields.integer("maxRows", 1..=u64::MAX).map_err(|_| {
        let most = offer.bounds.max_rows;
        Error::invalid(format!("maxRows: give a whole number from 1 to {most}, this connection's most"))
    })?;
    match asked {
        Some(rows) if rows > offer.bounds.max_rows => Err(Error::new(
            Kind::TooLarge,
            format!("maxRows: this connection answers at most {} rows a call", offer.bounds.max_rows),
        )
        .hint(match rest {
            Rest::Rewrite => {
                "aggregate in SQL (count, sum, avg … GROUP BY), or ask for fewer, and page on with ORDER BY … LIMIT and \
                 OFFSET"
            }
            Rest::Narrow | Rest::Connections => {
                "ask for fewer, and narrow the listing by names, exact or as LIKE patterns"
            }
            Rest::Parameters => "ask for fewer, or leave maxRows out",
        })),
        // Who asks for more rows than are shown has room for their bytes.
        Some(rows) if rows > caps.rows => Ok(Caps { rows, bytes: offer.bounds.max_bytes, ..caps }),
        Some(rows) => Ok(Caps { rows, ..caps }),
        None => Ok(caps),
    }
}

fn format(fields: &mut Fields) -> Result<Format> {
    let Some(word) = fields.string("format")? else { return Ok(Format::Json) };
    let known = FORMATS.into_iter().find(|(known, _)| *known == word);
    known.map(|(_, format)| format).ok_or_else(|| Error::invalid("format: give \"json\", \"csv\" or \"markdown\""))
}
