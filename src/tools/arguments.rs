//! The arguments of each tool become an operation. Unknown and wrong ones are refused by name.

use portico_actors::call::{Facet, Limits, Narrow, Op, ProcedureCall, Sql, Verb};
use portico_actors::error::{Error, Kind, Result};

use super::briefing::{briefing, executing};
use super::kind::Operation;
use super::offer::{Offer, Resolved, caps, timeout};
use crate::encode::{Caps, Format, Rest};
use crate::fields::Fields;

/// Reads the arguments of the tool with `operation`.
pub(super) fn resolve(operation: Operation, mut fields: Fields, offer: &Offer<'_>) -> Result<Resolved> {
    let facet = match operation {
        Operation::GetCatalogs => Facet::Catalogs,
        Operation::GetSchemas => Facet::Schemas,
        Operation::GetTables => Facet::Tables,
        Operation::GetColumns => Facet::Columns,
        Operation::GetProcedures => Facet::Procedures,
        Operation::GetProcedureParameters => Facet::ProcedureParameters,
        Operation::GetInstructions => {
            fields.finish("arguments")?;
            return Ok(resolved(
                operation,
                Op::Instructions(briefing(offer)),
                Limits::default(),
                caps(offer, Rest::Narrow),
                Format::Json,
            ));
        }
        Operation::ExecuteProcedure => return procedure(operation, fields, offer),
        Operation::ExecuteSql => return statement(operation, Verb::Any, fields, offer),
        Operation::ExecuteSelect => return statement(operation, Verb::Select, fields, offer),
        Operation::ExecuteInsert => return statement(operation, Verb::Insert, fields, offer),
        Operation::ExecuteUpdate => return statement(operation, Verb::Update, fields, offer),
    };
    let narrow = narrow(facet, &mut fields)?;
    let caps = asked_caps(&mut fields, offer, Rest::Narrow)?;
    let format = format(&mut fields)?;
    fields.finish("arguments")?;
    Ok(resolved(operation, Op::Describe(facet, narrow), Limits::default(), caps, format))
}

fn resolved(operation: Operation, op: Op, limits: Limits, caps: Caps, format: Format) -> Resolved {
    Resolved { operation, op, limits, caps, format }
}

/// Each facet takes the filters that its columns have.
pub(crate) fn narrow(facet: Facet, fields: &mut Fields) -> Result<Narrow> {
    let mut narrow = Narrow { catalog: fields.string("catalogName")?, ..Narrow::default() };
    if facet != Facet::Catalogs {
        narrow.schema = fields.string("schemaName")?;
    }
    if matches!(facet, Facet::Tables | Facet::Columns) {
        narrow.table = fields.string("tableName")?;
    }
    match facet {
        Facet::Catalogs | Facet::Schemas => {}
        Facet::Tables => narrow.table_type = fields.string("tableType")?,
        Facet::Columns => narrow.column = fields.string("columnName")?,
        Facet::PrimaryKeys | Facet::ImportedKeys | Facet::ExportedKeys | Facet::Indexes => {
            narrow.table = fields.string("tableName")?;
        }
        Facet::Procedures => narrow.procedure = fields.string("procedureName")?,
        Facet::ProcedureParameters => {
            narrow.procedure = fields.string("procedureName")?;
            narrow.param = fields.string("paramName")?;
        }
    }
    Ok(narrow)
}

fn statement(operation: Operation, verb: Verb, mut fields: Fields, offer: &Offer<'_>) -> Result<Resolved> {
    let sql = Sql {
        text: fields.required("query")?,
        parameters: fields.arguments("parameters")?,
        default_schema: fields.string("defaultSchema")?,
        tools: executing(offer),
        ..Sql::default()
    };
    let caps = asked_caps(&mut fields, offer, Rest::Rewrite)?;
    let limits = Limits { timeout: timeout(&mut fields)?, rows: Some(caps.rows) };
    let format = format(&mut fields)?;
    fields.finish("arguments")?;
    Ok(resolved(operation, Op::Execute(verb, sql), limits, caps, format))
}

fn procedure(operation: Operation, mut fields: Fields, offer: &Offer<'_>) -> Result<Resolved> {
    let call = ProcedureCall {
        procedure: fields.required("procedure")?,
        arguments: fields.arguments("parameters")?,
        default_schema: fields.string("defaultSchema")?,
        overload: None,
        dry_run: false,
    };
    let caps = asked_caps(&mut fields, offer, Rest::Parameters)?;
    let limits = Limits { timeout: timeout(&mut fields)?, rows: Some(caps.rows) };
    let format = format(&mut fields)?;
    fields.finish("arguments")?;
    Ok(resolved(operation, Op::Procedure(call), limits, caps, format))
}

/// `maxRows` may only lower the connection's own cap.
fn asked_caps(fields: &mut Fields, offer: &Offer<'_>, rest: Rest) -> Result<Caps> {
    let caps = caps(offer, rest);
    let asked = fields.integer("maxRows", 1..=u64::MAX).map_err(|_| {
        Error::invalid(format!("maxRows: give a whole number from 1 to {}, this connection's most", offer.max_rows))
    })?;
    match asked {
        Some(rows) if rows > offer.max_rows => Err(Error::new(
            Kind::TooLarge,
            format!("maxRows: this connection answers at most {} rows a call", offer.max_rows),
        )
        .hint(match rest {
            Rest::Rewrite => "ask for fewer, and page on with ORDER BY … LIMIT and OFFSET",
            Rest::Narrow => "ask for fewer, and narrow the listing by names, exact or as LIKE patterns",
            Rest::Parameters => "ask for fewer, or leave maxRows out",
        })),
        Some(rows) => Ok(Caps { rows, ..caps }),
        None => Ok(caps),
    }
}

fn format(fields: &mut Fields) -> Result<Format> {
    match fields.string("format")? {
        None => Ok(Format::Json),
        Some(word) => {
            Format::from_word(&word).ok_or_else(|| Error::invalid("format: give \"json\", \"csv\" or \"markdown\""))
        }
    }
}
