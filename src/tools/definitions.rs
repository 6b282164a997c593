//! The twelve tools of every connection, each a row of one table, written for models to read.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::kind::{Operation, Type};
use super::offer::{Offer, widest};
use super::schema::{open_schema, tool};

/// One tool.
pub(super) struct Definition {
    pub(super) operation: Operation,
    title: &'static str,
    description: &'static str,
    /// Its arguments. `catalogName` is declared for several connections, and accepted everywhere; so is `format`.
    arguments: &'static [&'static str],
}

const CATALOG: &str = "catalogName";
const SCHEMA: &str = "schemaName";
/// The arguments of every tool that runs a statement.
const STATEMENT: [&str; 5] = ["query", "parameters", "defaultSchema", "maxRows", "timeout"];
/// The arguments of tools that may write: with a dry run.
const WRITING: [&str; 6] = ["query", "parameters", "defaultSchema", "maxRows", "timeout", "dryRun"];
/// The arguments of tools that may change every row of a table.
const CHANGING: [&str; 7] = ["query", "parameters", "defaultSchema", "maxRows", "timeout", "all", "dryRun"];
/// Arguments that have to be given.
const REQUIRED: [&str; 2] = ["query", "procedure"];

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
        arguments: &[SCHEMA, "tableName", "tableType", "search", "maxRows"],
    },
    Definition {
        operation: Operation::GetColumns,
        title: "List columns",
        description: "Lists columns with types, keys, references, values and comments.",
        arguments: &[SCHEMA, "tableName", "columnName", "maxRows"],
    },
    Definition {
        operation: Operation::GetProcedures,
        title: "List procedures",
        description: "Lists stored functions and procedures.",
        arguments: &[SCHEMA, "procedureName"],
    },
    Definition {
        operation: Operation::GetProcedureParameters,
        title: "List procedure parameters",
        description: "Lists parameters of functions and procedures; PARAM_TYPE: 1 in, 2 inout, 4 out, 5 return.",
        arguments: &[SCHEMA, "procedureName", "paramName"],
    },
    Definition {
        operation: Operation::ExecuteProcedure,
        title: "Call a procedure",
        description: "Calls a stored function or procedure. parameters by name; those with defaults may be left out.",
        arguments: &["procedure", "parameters", "defaultSchema", "maxRows", "timeout", "dryRun"],
    },
    Definition {
        operation: Operation::ExecuteSelect,
        title: "Run a query",
        description: "Runs one SELECT. Aggregate in SQL rather than read many rows.",
        arguments: &STATEMENT,
    },
    Definition {
        operation: Operation::ExecuteSql,
        title: "Run any statement",
        description: "Runs any one statement that your access allows, in a transaction of its own.",
        arguments: &CHANGING,
    },
    Definition {
        operation: Operation::ExecuteInsert,
        title: "Insert rows",
        description: "Runs one INSERT, or a MERGE that only inserts.",
        arguments: &WRITING,
    },
    Definition {
        operation: Operation::ExecuteUpdate,
        title: "Update or delete rows",
        description: "Runs one UPDATE, DELETE or MERGE.",
        arguments: &CHANGING,
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
        if self.arguments.contains(&"query") { Type::Sql } else { Type::Universal }
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
        let mut properties: Map<String, Value> =
            self.arguments.iter().map(|name| ((*name).to_owned(), argument(name, offer))).collect();
        let mut about = Cow::Borrowed(self.description);
        if offers.len() > 1 {
            about = self.over_several();
            properties.insert(CATALOG.to_owned(), json!({"type": "string"}));
        }
        if left_out > 0 && self.operation == Operation::ExecuteProcedure {
            let more = format!(" {left_out} procedures have no tool in this list: get_procedures lists them.");
            about.to_mut().push_str(&more);
        }
        let required: Vec<&str> = REQUIRED.into_iter().filter(|name| self.arguments.contains(name)).collect();
        // What any statement and any procedure may do depends on the caller's own access.
        let any = matches!(self.operation, Operation::ExecuteSql | Operation::ExecuteProcedure);
        let writes = self.writes() || (any && offers.iter().any(Offer::may_write));
        if !writes {
            properties.retain(|name, _| name != "all" && name != "dryRun");
        }
        let destroys = writes && self.operation != Operation::ExecuteInsert;
        let input = open_schema(properties, &required);
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

/// Returns the schema of one argument, with the same text everywhere. What its name says is not repeated.
fn argument(name: &str, offer: &Offer<'_>) -> Value {
    match name {
        "query" => json!({"type": "string", "description": "One statement; @name: a value of parameters"}),
        "parameters" => json!({"type": "object"}),
        "timeout" => json!({"type": "integer", "description": "Seconds, 1 to 300"}),
        "maxRows" => json!({
            "type": "integer", "maximum": offer.bounds.max_rows, "default": offer.bounds.rows(),
        }),
        "all" => json!({"type": "boolean", "description": "Needed without WHERE"}),
        "dryRun" => json!({"type": "boolean", "description": "Undo it; tells affectedRows"}),
        _ => json!({"type": "string"}),
    }
}
