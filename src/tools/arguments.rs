//! The arguments of each tool become an operation. Unknown and wrong ones are refused by name.

use portico_actors::call::{
    AllowedStatements, InstructionsOptions, Limits, MetadataFilter, MetadataKind, Op, ProcedureCall, Sql,
};
use portico_actors::error::{Error, Kind, Result};

use portico_actors::source::table_search;

use super::definitions::executing;
use super::kind::Operation;
use super::offer::{Offer, ResolvedCall, caps, timeout};
use crate::encode::{Caps, FORMATS, Format, TruncationHint};
use crate::fields::Fields;

/// Reads the arguments of the tool with `operation`; `options` describes the tools for instructions.
pub(super) fn resolve(
    operation: Operation,
    mut fields: Fields,
    offer: &Offer<'_>,
    options: impl FnOnce() -> InstructionsOptions,
) -> Result<ResolvedCall> {
    let listing = |metadata, fields: &mut Fields| {
        let (objects, search) = sought(metadata, fields)?;
        let explains = metadata != MetadataKind::Catalogs;
        let narrow = MetadataFilter { objects, search, explains, ..narrow(metadata, fields)? };
        Ok::<_, Error>((Op::Describe(metadata, narrow), TruncationHint::Narrow))
    };
    fields.drop_empty(&["parameters", "maxRows", "timeout", "format"]);
    let is_listing = !operation.as_str().starts_with("execute_");
    if is_listing {
        fields.drop_empty(&["catalogName", "schemaName", "columnName", "tableType", "paramName"]);
        // Cursor gives it to tools that need no argument.
        let _ = fields.take_silently("random_string");
    } else {
        check_catalog(&mut fields, offer)?;
    }
    let (op, rest) = match operation {
        Operation::GetInstructions => {
            check_catalog(&mut fields, offer)?;
            fields.finish("arguments")?;
            let (op, caps) = (Op::Instructions(options()), caps(offer, TruncationHint::Narrow));
            return Ok(ResolvedCall { operation, op, limits: Limits::default(), caps, format: Format::Json });
        }
        Operation::GetCatalogs => listing(MetadataKind::Catalogs, &mut fields)?,
        Operation::GetSchemas => listing(MetadataKind::Schemas, &mut fields)?,
        Operation::GetTables => listing(MetadataKind::Tables, &mut fields)?,
        Operation::GetColumns => listing(MetadataKind::Columns, &mut fields)?,
        Operation::GetProcedures => listing(MetadataKind::Procedures, &mut fields)?,
        Operation::GetProcedureParameters => listing(MetadataKind::ProcedureParameters, &mut fields)?,
        Operation::ExecuteProcedure => (Op::Procedure(procedure(&mut fields)?), TruncationHint::Parameters),
        Operation::ExecuteSql => (statement(AllowedStatements::Any, &mut fields, offer)?, TruncationHint::Rewrite),
        Operation::ExecuteSelect => {
            (statement(AllowedStatements::Select, &mut fields, offer)?, TruncationHint::Rewrite)
        }
        Operation::ExecuteInsert => {
            (statement(AllowedStatements::Insert, &mut fields, offer)?, TruncationHint::Rewrite)
        }
        Operation::ExecuteUpdate => {
            (statement(AllowedStatements::Update, &mut fields, offer)?, TruncationHint::Rewrite)
        }
    };
    let caps = asked_caps(&mut fields, offer, rest)?;
    let limits = match rest {
        TruncationHint::Narrow | TruncationHint::Connections => Limits::default(),
        TruncationHint::Rewrite | TruncationHint::Parameters => {
            Limits { timeout: timeout(&mut fields)?, rows: Some(caps.rows) }
        }
    };
    let format = format(&mut fields)?;
    fields.finish("arguments")?;
    Ok(ResolvedCall { operation, op, limits, caps, format })
}

/// The tables or routines that an agent asks for, as it writes them, and the words that it looks for.
fn sought(metadata: MetadataKind, fields: &mut Fields) -> Result<(Vec<String>, Option<String>)> {
    let name = match metadata {
        MetadataKind::Tables | MetadataKind::Columns => "tableName",
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => "procedureName",
        _ => return Ok((Vec::new(), None)),
    };
    let objects = fields.take(name).map_or_else(
        || Ok(Vec::new()),
        |value| {
            let text = serde_json::from_str::<String>(value.get()).map(|name| vec![name]);
            let objects = text.or_else(|_| serde_json::from_str::<Vec<String>>(value.get())).map_err(|_| {
                Error::invalid(format!("{name}: give a string: a name, a pattern, or several of these with commas"))
            })?;
            // A client sends an empty field as an empty text.
            Ok(objects.into_iter().filter(|name| !name.trim().is_empty()).collect())
        },
    )?;
    let search = if metadata == MetadataKind::Tables { fields.string("search")? } else { None };
    table_search::admit(&objects, search.as_deref())?;
    Ok((objects, search.filter(|words| !words.trim().is_empty())))
}

/// Each kind of metadata takes the filters that its columns have.
pub(crate) fn narrow(metadata: MetadataKind, fields: &mut Fields) -> Result<MetadataFilter> {
    let of_procedures = matches!(metadata, MetadataKind::Procedures | MetadataKind::ProcedureParameters);
    let of_tables = metadata.is_of_tables();
    let mut filter = |name, is_there| if is_there { fields.string(name) } else { Ok(None) };
    Ok(MetadataFilter {
        catalog: filter("catalogName", true)?,
        schema: filter("schemaName", metadata != MetadataKind::Catalogs)?,
        table: filter("tableName", of_tables)?,
        table_type: filter("tableType", metadata == MetadataKind::Tables)?,
        column: filter("columnName", metadata == MetadataKind::Columns)?,
        procedure: filter("procedureName", of_procedures)?,
        param: filter("paramName", metadata == MetadataKind::ProcedureParameters)?,
        ..MetadataFilter::default()
    })
}

fn statement(verb: AllowedStatements, fields: &mut Fields, offer: &Offer<'_>) -> Result<Op> {
    let dry_run = if verb == AllowedStatements::Select { None } else { fields.boolean("dryRun")? };
    let every_row =
        if matches!(verb, AllowedStatements::Any | AllowedStatements::Update) { fields.boolean("all")? } else { None };
    let sql = Sql {
        text: fields.required("query")?,
        parameters: fields.arguments("parameters")?,
        default_schema: fields.schema("defaultSchema")?,
        tools: executing(offer),
        dry_run: dry_run.unwrap_or_default(),
        guards_every_row: !every_row.unwrap_or_default(),
        limits_cost: true,
        ..Sql::default()
    };
    Ok(Op::Execute(verb, sql))
}

fn procedure(fields: &mut Fields) -> Result<ProcedureCall> {
    Ok(ProcedureCall {
        procedure: fields.required("procedure")?,
        arguments: fields.arguments("parameters")?,
        default_schema: fields.schema("defaultSchema")?,
        overload: None,
        dry_run: fields.boolean("dryRun")?.unwrap_or_default(),
        within: None,
    })
}

/// The connection may be named although the address says it already.
fn check_catalog(fields: &mut Fields, offer: &Offer<'_>) -> Result<()> {
    match fields.string("catalogName")? {
        Some(named) if !named.eq_ignore_ascii_case(offer.connection) => Err(Error::not_found(format!(
            "catalogName: there is no connection {named} at this address, which is only for {}",
            offer.connection
        ))
        .hint("leave catalogName out")),
        _ => Ok(()),
    }
}

/// `maxRows` raises the caps of a context window up to the connection's own.
fn asked_caps(fields: &mut Fields, offer: &Offer<'_>, rest: TruncationHint) -> Result<Caps> {
    let caps = caps(offer, rest);
    let asked = fields.integer("maxRows", 1..=u64::MAX).map_err(|_| {
        let most = offer.bounds.max_rows;
        Error::invalid(format!("maxRows: give a whole number from 1 to {most}, this connection's maximum"))
    })?;
    match asked {
        Some(rows) if rows > offer.bounds.max_rows => Err(Error::new(
            Kind::TooLarge,
            format!("maxRows: this connection returns at most {} rows per call", offer.bounds.max_rows),
        )
        .hint(match rest {
            TruncationHint::Rewrite => {
                "aggregate in SQL (count, sum, avg … GROUP BY), or ask for fewer, and page on with ORDER BY … LIMIT and \
                 OFFSET"
            }
            TruncationHint::Narrow | TruncationHint::Connections => {
                "ask for fewer, and narrow the listing by names, exact or as LIKE patterns"
            }
            TruncationHint::Parameters => "ask for fewer, or leave maxRows out",
        })),
        // A request for more rows also gets the space for their bytes.
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
