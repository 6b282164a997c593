//! The twelve tools of every connection, each a row of one table, written for models to read.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::kind::{Operation, Type};
use super::offer::{Offer, widest};
use super::schema::{input_schema, tool};

/// One tool.
pub(super) struct Definition {
    pub(super) operation: Operation,
    title: &'static str,
    description: &'static str,
    /// What it takes; one that takes anything takes [`PAGE`] too.
    arguments: &'static [&'static str],
}

const CATALOG: &str = "catalogName";
const SCHEMA: &str = "schemaName";
const PAGE: [&str; 2] = ["maxRows", "format"];
const STATEMENT: [&str; 4] = ["query", "parameters", "defaultSchema", "timeout"];
/// Arguments that have to be given.
const REQUIRED: [&str; 2] = ["query", "procedure"];

/// Every tool, in the order in which they are listed.
pub(super) const DEFINITIONS: [Definition; 12] = [
    Definition {
        operation: Operation::GetInstructions,
        title: "Read me first",
        description: "What to know before the first query: the SQL dialect and version, how to name tables, the schemas \
                      and tables with their comments, what you may do, and examples. Call it once at the start.",
        arguments: &[],
    },
    Definition {
        operation: Operation::GetCatalogs,
        title: "List catalogs",
        description: "Lists the catalogs: one, this connection. Its name is the first part of catalog.schema.table.",
        arguments: &[CATALOG],
    },
    Definition {
        operation: Operation::GetSchemas,
        title: "List schemas",
        description: "Lists the schemas of this connection.",
        arguments: &[CATALOG, SCHEMA],
    },
    Definition {
        operation: Operation::GetTables,
        title: "List tables",
        description: "Lists tables and views with their type, comment (REMARKS) and estimated rows; search finds them by \
                      words.",
        arguments: &[CATALOG, SCHEMA, "tableName", "tableType", "search"],
    },
    Definition {
        operation: Operation::GetColumns,
        title: "List columns",
        description: "Lists the columns of tables and views with type, key, what they refer to, the values they may have, \
                      and comment. Several tables at once: tableName \"orders,customers\".",
        arguments: &[CATALOG, SCHEMA, "tableName", "columnName"],
    },
    Definition {
        operation: Operation::GetProcedures,
        title: "List procedures",
        description: "Lists stored functions and procedures with their comments. PROCEDURE_TYPE is 1 for a procedure, 2 \
                      for a function.",
        arguments: &[CATALOG, SCHEMA, "procedureName"],
    },
    Definition {
        operation: Operation::GetProcedureParameters,
        title: "List procedure parameters",
        description: "Lists the parameters of functions and procedures with direction (PARAM_TYPE 1 in, 2 inout, 4 out, \
                      5 return) and type. Give procedureName to see one before you call it.",
        arguments: &[CATALOG, SCHEMA, "procedureName", "paramName"],
    },
    Definition {
        operation: Operation::ExecuteProcedure,
        title: "Call a procedure",
        description: "Calls a stored function or procedure and returns its rows or output values. Arguments go by name, \
                      for example {\"customer_id\": 7}; ones with a default may be left out.",
        arguments: &["procedure", "parameters", "defaultSchema", "timeout"],
    },
    Definition {
        operation: Operation::ExecuteSelect,
        title: "Run a query",
        description: "Runs one SELECT statement, which cannot change anything, and returns its rows. Prefer it for \
                      reading. Use @name for values and give them in parameters. Aggregate and filter in SQL: results \
                      are cut at maxRows.",
        arguments: &STATEMENT,
    },
    Definition {
        operation: Operation::ExecuteSql,
        title: "Run any statement",
        description: "Runs any one SQL statement that your access allows, in a transaction of its own. Use @name for \
                      values and give them in parameters.",
        arguments: &STATEMENT,
    },
    Definition {
        operation: Operation::ExecuteInsert,
        title: "Insert rows",
        description: "Runs one INSERT statement (or a MERGE that only inserts) and returns affectedRows, and the rows of \
                      RETURNING. Use @name for values and give them in parameters.",
        arguments: &STATEMENT,
    },
    Definition {
        operation: Operation::ExecuteUpdate,
        title: "Update or delete rows",
        description: "Runs one UPDATE, DELETE or MERGE statement and returns affectedRows, and the rows of RETURNING. \
                      Use @name for values and give them in parameters.",
        arguments: &STATEMENT,
    },
];

impl Definition {
    /// Its description at an address of several connections.
    fn over_several(&self) -> Cow<'static, str> {
        let more = match self.operation {
            Operation::GetCatalogs => {
                return "Lists the catalogs, which are the connections that you reach. A connection's name is the first \
                        part of catalog.schema.table."
                    .into();
            }
            Operation::GetSchemas => {
                return "Lists the schemas of every connection that you reach; catalogName chooses one.".into();
            }
            Operation::GetInstructions => "It tells every connection in short; give catalogName to read all about one.",
            Operation::ExecuteProcedure => "Name it connection.schema.procedure, or say the connection in catalogName.",
            _ if self.kind() == Type::Sql => {
                "Name tables connection.schema.table, or say the connection in catalogName."
            }
            _ => "Of every connection that you reach; catalogName chooses one.",
        };
        format!("{} {more}", self.description).into()
    }

    /// Its name is the word for what it does.
    pub(super) fn name(&self) -> &'static str {
        self.operation.as_str()
    }

    pub(super) fn kind(&self) -> Type {
        if self.arguments == STATEMENT { Type::Sql } else { Type::Universal }
    }

    /// Whether it is there to change data.
    pub(super) fn writes(&self) -> bool {
        matches!(self.operation, Operation::ExecuteInsert | Operation::ExecuteUpdate)
    }

    /// Whether the connection of `offer` has it.
    pub(super) fn is_there(&self, offer: &Offer<'_>) -> bool {
        offer.has(self.kind(), self.operation, self.name(), self.writes())
    }

    /// The object that `tools/list` shows.
    pub(super) fn describe(&self, offers: &[Offer<'_>]) -> Value {
        let offer = &widest(offers);
        let page = PAGE.iter().filter(|_| !self.arguments.is_empty());
        let arguments = self.arguments.iter().chain(page);
        let mut properties: Map<String, Value> =
            arguments.map(|name| ((*name).to_owned(), argument(name, offer))).collect();
        let mut about = Cow::Borrowed(self.description);
        if offers.len() > 1 {
            about = self.over_several();
            properties.entry(CATALOG).or_insert_with(|| connection(offer.connection));
        }
        let required: Vec<&str> = REQUIRED.into_iter().filter(|name| self.arguments.contains(name)).collect();
        // What any statement and any procedure may do depends on the caller's own access.
        let any = matches!(self.operation, Operation::ExecuteSql | Operation::ExecuteProcedure);
        let writes = self.writes() || (any && offers.iter().any(Offer::may_write));
        let destroys = writes && self.operation != Operation::ExecuteInsert;
        let input = input_schema(properties, required);
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

/// The schema of the argument that names one of several connections.
fn connection(example: &str) -> Value {
    let about = "The connection that is meant where the names do not say it; get_catalogs lists the connections";
    json!({"type": "string", "description": about, "examples": [example]})
}

/// The schema of one argument: the same words mean the same everywhere.
fn argument(name: &str, offer: &Offer<'_>) -> Value {
    let text = |about: &str, example: &str| json!({"type": "string", "description": about, "examples": [example]});
    let pattern = |what: &str, example: &str| {
        text(&format!("Only {what} with this name; a LIKE pattern (% any characters, _ one) is allowed"), example)
    };
    match name {
        CATALOG => pattern("the catalog", offer.connection),
        SCHEMA => {
            pattern("schemas", offer.profile.and_then(|profile| profile.default_schema.as_deref()).unwrap_or("main"))
        }
        "tableName" => text(
            "Only these tables and views: a name, schema.name, a LIKE pattern (% any characters, _ one), or several of \
             these with commas",
            "orders,customers",
        ),
        "search" => text("Words to look for in names and comments; the best come first", "invoice tax"),
        "tableType" => pattern("tables of this type, such as TABLE or VIEW,", "VIEW"),
        "columnName" => pattern("columns", "%_id"),
        "procedureName" => pattern("procedures", "customer_orders"),
        "paramName" => pattern("parameters", "customer_id"),
        "query" => {
            text("One SQL statement; @name stands for a value given in parameters", "SELECT count(*) FROM orders")
        }
        "procedure" => text("The procedure's name, optionally behind its schema", "customer_orders"),
        "defaultSchema" => text("The schema in which unqualified names are looked for first", "main"),
        "parameters" => json!({
            "type": "object",
            "description": "Values by name, without the @",
            "examples": [{"customer_id": 7}],
        }),
        "timeout" => json!({
            "type": "integer", "minimum": 1, "maximum": 300, "default": 60,
            "description": "Seconds after which the statement is cancelled",
        }),
        "maxRows" => json!({
            "type": "integer", "minimum": 1, "maximum": offer.max_rows, "default": offer.max_rows,
            "description": "Rows to return at most",
        }),
        _ => json!({
            "type": "string", "enum": ["json", "csv", "markdown"], "default": "json",
            "description": "Form of the text block",
        }),
    }
}
