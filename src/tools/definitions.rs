//! The twelve tools of every connection, each a row of one table, written for models to read.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::kind::{Operation, Type};
use super::offer::{Offer, widest};
use super::schema::{open_schema, tool};

/// One tool.
pub(super) struct Definition {
    pub(super) operation: Operation,
    title: &'static str,
    description: &'static str,
    /// Its arguments. `catalogName` is declared for several connections, and accepted everywhere; so is `format`.
    arguments: &'static [Argument],
}

/// An argument as `tools/list` shows it, which [`super::arguments`] reads.
#[derive(Clone, Copy)]
struct Argument {
    name: &'static str,
    /// Returns its JSON Schema, which does not repeat what the name says.
    schema: fn(&Offer<'_>) -> Value,
    is_required: bool,
    /// Whether it is of use only to callers who may write.
    of_writers: bool,
}

impl Argument {
    /// A text that may be left out.
    const fn text(name: &'static str) -> Self {
        Self::new(name, |_| json!({"type": "string"}))
    }

    const fn new(name: &'static str, schema: fn(&Offer<'_>) -> Value) -> Self {
        Self { name, schema, is_required: false, of_writers: false }
    }

    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    const fn of_writers(self) -> Self {
        Self { of_writers: true, ..self }
    }
}

const CATALOG: Argument = Argument::text("catalogName");
const SCHEMA: Argument = Argument::text("schemaName");
const TABLE: Argument = Argument::text("tableName");
const TABLE_TYPE: Argument = Argument::text("tableType");
const COLUMN: Argument = Argument::text("columnName");
const PROCEDURE_NAME: Argument = Argument::text("procedureName");
const PARAM: Argument = Argument::text("paramName");
const SEARCH: Argument = Argument::text("search");
const PROCEDURE: Argument = Argument::text("procedure").required();
const QUERY: Argument =
    Argument::new("query", |_| json!({"type": "string", "description": "One statement; @name: a value of parameters"}))
        .required();
const PARAMETERS: Argument = Argument::new("parameters", |_| json!({"type": "object"}));
const DEFAULT_SCHEMA: Argument = Argument::text("defaultSchema");
const MAX_ROWS: Argument = Argument::new(
    "maxRows",
    |offer| json!({"type": "integer", "maximum": offer.bounds.max_rows, "default": offer.bounds.rows()}),
);
const TIMEOUT: Argument = Argument::new("timeout", |_| json!({"type": "integer", "description": "Seconds, 1 to 300"}));
const ALL: Argument =
    Argument::new("all", |_| json!({"type": "boolean", "description": "Needed without WHERE"})).of_writers();
const DRY_RUN: Argument =
    Argument::new("dryRun", |_| json!({"type": "boolean", "description": "Undo it; tells affectedRows"})).of_writers();

/// All fixed tools, in their listed order. Each description says only what cannot be guessed: an agent pays for
/// every word, again at each turn.
pub(super) const DEFINITIONS: [Definition; 12] = [
    Definition {
        operation: Operation::GetInstructions,
        title: "Read me first",
        description: "Call it first: SQL dialect, tables with columns and keys, what you may do.",
        arguments: &[],
    },
    Definition {
        operation: Operation::GetCatalogs,
        title: "List catalogs",
        description: "Lists the catalogs: this connection, the first part of catalog.schema.table.",
        arguments: &[],
    },
    Definition {
        operation: Operation::GetSchemas,
        title: "List schemas",
        description: "Lists schemas.",
        arguments: &[SCHEMA],
    },
    Definition {
        operation: Operation::GetTables,
        title: "List tables",
        description: "Lists tables and views with comments; search finds them by words. Names here and below: exact, LIKE \
                      patterns, or several with commas.",
        arguments: &[SCHEMA, TABLE, TABLE_TYPE, SEARCH, MAX_ROWS],
    },
    Definition {
        operation: Operation::GetColumns,
        title: "List columns",
        description: "Lists columns with types, keys, references, values and comments.",
        arguments: &[SCHEMA, TABLE, COLUMN, MAX_ROWS],
    },
    Definition {
        operation: Operation::GetProcedures,
        title: "List procedures",
        description: "Lists stored functions and procedures.",
        arguments: &[SCHEMA, PROCEDURE_NAME],
    },
    Definition {
        operation: Operation::GetProcedureParameters,
        title: "List procedure parameters",
        description: "Lists parameters of functions and procedures; PARAM_TYPE: 1 in, 2 inout, 4 out, 5 return.",
        arguments: &[SCHEMA, PROCEDURE_NAME, PARAM],
    },
    Definition {
        operation: Operation::ExecuteProcedure,
        title: "Call a procedure",
        description: "Calls a stored function or procedure. parameters by name; those with defaults may be left out.",
        arguments: &[PROCEDURE, PARAMETERS, DEFAULT_SCHEMA, MAX_ROWS, TIMEOUT, DRY_RUN],
    },
    Definition {
        operation: Operation::ExecuteSelect,
        title: "Run a query",
        description: "Runs one SELECT. Aggregate in SQL rather than read many rows.",
        arguments: &[QUERY, PARAMETERS, DEFAULT_SCHEMA, MAX_ROWS, TIMEOUT],
    },
    Definition {
        operation: Operation::ExecuteSql,
        title: "Run any statement",
        description: "Runs any one statement that your access allows, in a transaction of its own.",
        arguments: &[QUERY, PARAMETERS, DEFAULT_SCHEMA, MAX_ROWS, TIMEOUT, ALL, DRY_RUN],
    },
    Definition {
        operation: Operation::ExecuteInsert,
        title: "Insert rows",
        description: "Runs one INSERT, or a MERGE that only inserts.",
        arguments: &[QUERY, PARAMETERS, DEFAULT_SCHEMA, MAX_ROWS, TIMEOUT, DRY_RUN],
    },
    Definition {
        operation: Operation::ExecuteUpdate,
        title: "Update or delete rows",
        description: "Runs one UPDATE, DELETE or MERGE.",
        arguments: &[QUERY, PARAMETERS, DEFAULT_SCHEMA, MAX_ROWS, TIMEOUT, ALL, DRY_RUN],
    },
];

impl Definition {
    /// Its description at an address of several connections.
    fn over_several(&self) -> Cow<'static, str> {
        let more = match self.operation {
            Operation::GetCatalogs => {
                return "Lists the connections that you reach: the first part of catalog.schema.table.".into();
            }
            Operation::GetInstructions => "Tells each connection in short; catalogName: all about one.",
            Operation::ExecuteProcedure => "Name it connection.schema.procedure, or give catalogName.",
            _ if self.kind() == Type::Sql => "Name tables connection.schema.table, or give catalogName.",
            _ => "Of all connections; catalogName chooses one.",
        };
        format!("{} {more}", self.description).into()
    }

    /// Returns its name, which is that of its operation.
    pub(super) fn name(&self) -> &'static str {
        self.operation.as_str()
    }

    pub(super) fn kind(&self) -> Type {
        if self.arguments.iter().any(|argument| argument.name == QUERY.name) { Type::Sql } else { Type::Universal }
    }

    /// Whether it is there to change data.
    pub(super) fn writes(&self) -> bool {
        matches!(self.operation, Operation::ExecuteInsert | Operation::ExecuteUpdate)
    }

    /// Whether the connection of `offer` has it.
    pub(super) fn is_there(&self, offer: &Offer<'_>) -> bool {
        offer.has(self.kind(), self.operation, self.name(), self.writes())
    }

    /// The object that `tools/list` shows. `left_out` is the number of tools made from procedures that are not listed.
    pub(super) fn describe(&self, offers: &[Offer<'_>], left_out: usize) -> Value {
        let offer = &widest(offers);
        // What any statement and any procedure may do depends on the caller's own access.
        let any = matches!(self.operation, Operation::ExecuteSql | Operation::ExecuteProcedure);
        let writes = self.writes() || (any && offers.iter().any(Offer::may_write));
        let over_several = (offers.len() > 1).then_some(CATALOG);
        let arguments = self.arguments.iter().copied().filter(|argument| writes || !argument.of_writers);
        let arguments: Vec<Argument> = arguments.chain(over_several).collect();
        let properties = arguments.iter().map(|argument| (argument.name.to_owned(), (argument.schema)(offer)));
        let required: Vec<&str> = arguments.iter().filter(|it| it.is_required).map(|it| it.name).collect();
        let mut about = if offers.len() > 1 { self.over_several() } else { Cow::Borrowed(self.description) };
        if left_out > 0 && self.operation == Operation::ExecuteProcedure {
            let more = format!(" {left_out} procedures have no tool in this list: get_procedures lists them.");
            about.to_mut().push_str(&more);
        }
        let destroys = writes && self.operation != Operation::ExecuteInsert;
        let input = open_schema(properties.collect(), &required);
        let mut tool = tool(self.name(), self.title, &about, input, writes, destroys);
        if self.operation == Operation::GetInstructions {
            tool["outputSchema"] = json!({
                "type": "object",
                "properties": {"instructions": {"type": "string", "description": "Markdown"}},
                "required": ["instructions"],
            });
        }
        tool
    }
}

/// The names of the tools that run statements or procedures and are not switched off.
pub(super) fn executing(offer: &Offer<'_>) -> Vec<&'static str> {
    let there = DEFINITIONS.iter().filter(|tool| tool.is_there(offer)).map(Definition::name);
    there.filter(|name| name.starts_with("execute_")).collect()
}
