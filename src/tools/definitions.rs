//! The twelve tools of every connection, each a row of one table, written for models to read.

use serde_json::{Map, Value, json};

use super::kind::{Operation, Type};
use super::offer::Offer;
use super::schema::{annotations, output_schema};

/// One tool.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) kind: Type,
    pub(super) operation: Operation,
    /// Whether it is there to change data.
    pub(super) writes: bool,
    description: &'static str,
    arguments: &'static [&'static str],
    required: &'static [&'static str],
}

const CATALOG: &str = "catalogName";
const SCHEMA: &str = "schemaName";
const PAGE: [&str; 2] = ["maxRows", "format"];

/// Every tool, in the order in which they are listed.
pub(super) const DEFINITIONS: [Definition; 12] = [
    Definition {
        name: "get_instructions",
        title: "Read me first",
        kind: Type::Universal,
        operation: Operation::GetInstructions,
        writes: false,
        description: "What to know before the first query: the SQL dialect and version, how to name tables, the schemas \
                      and tables with their comments, what you may do, and examples. Call it once at the start.",
        arguments: &[],
        required: &[],
    },
    Definition {
        name: "get_catalogs",
        title: "List catalogs",
        kind: Type::Universal,
        operation: Operation::GetCatalogs,
        writes: false,
        description: "Lists the catalogs: one, this connection. Its name is the first part of catalog.schema.table.",
        arguments: &[CATALOG, PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "get_schemas",
        title: "List schemas",
        kind: Type::Universal,
        operation: Operation::GetSchemas,
        writes: false,
        description: "Lists the schemas of this connection.",
        arguments: &[CATALOG, SCHEMA, PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "get_tables",
        title: "List tables",
        kind: Type::Universal,
        operation: Operation::GetTables,
        writes: false,
        description: "Lists tables and views with their type and comment (REMARKS). Narrow by name or LIKE pattern, for \
                      example tableName \"%order%\".",
        arguments: &[CATALOG, SCHEMA, "tableName", "tableType", PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "get_columns",
        title: "List columns",
        kind: Type::Universal,
        operation: Operation::GetColumns,
        writes: false,
        description: "Lists the columns of tables and views with type, size, nullability, key membership and comment. \
                      Give tableName to see one table before you query it.",
        arguments: &[CATALOG, SCHEMA, "tableName", "columnName", PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "get_procedures",
        title: "List procedures",
        kind: Type::Universal,
        operation: Operation::GetProcedures,
        writes: false,
        description: "Lists stored functions and procedures with their comments. PROCEDURE_TYPE is 1 for a procedure, 2 \
                      for a function.",
        arguments: &[CATALOG, SCHEMA, "procedureName", PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "get_procedure_parameters",
        title: "List procedure parameters",
        kind: Type::Universal,
        operation: Operation::GetProcedureParameters,
        writes: false,
        description: "Lists the parameters of functions and procedures with direction (PARAM_TYPE 1 in, 2 inout, 4 out, \
                      5 return) and type. Give procedureName to see one before you call it.",
        arguments: &[CATALOG, SCHEMA, "procedureName", "paramName", PAGE[0], PAGE[1]],
        required: &[],
    },
    Definition {
        name: "execute_procedure",
        title: "Call a procedure",
        kind: Type::Universal,
        operation: Operation::ExecuteProcedure,
        writes: false,
        description: "Calls a stored function or procedure and returns its rows or output values. Arguments go by name, \
                      for example {\"customer_id\": 7}; ones with a default may be left out.",
        arguments: &["procedure", "parameters", "defaultSchema", "timeout", PAGE[0], PAGE[1]],
        required: &["procedure"],
    },
    Definition {
        name: "execute_select",
        title: "Run a query",
        kind: Type::Sql,
        operation: Operation::ExecuteSelect,
        writes: false,
        description: "Runs one SELECT statement, which cannot change anything, and returns its rows. Prefer it for \
                      reading. Use @name for values and give them in parameters. Aggregate and filter in SQL: results \
                      are cut at maxRows.",
        arguments: &["query", "parameters", "defaultSchema", "timeout", PAGE[0], PAGE[1]],
        required: &["query"],
    },
    Definition {
        name: "execute_sql",
        title: "Run any statement",
        kind: Type::Sql,
        operation: Operation::ExecuteSql,
        writes: false,
        description: "Runs any one SQL statement that your access allows, in a transaction of its own. Use @name for \
                      values and give them in parameters.",
        arguments: &["query", "parameters", "defaultSchema", "timeout", PAGE[0], PAGE[1]],
        required: &["query"],
    },
    Definition {
        name: "execute_insert",
        title: "Insert rows",
        kind: Type::Sql,
        operation: Operation::ExecuteInsert,
        writes: true,
        description: "Runs one INSERT statement (or a MERGE that only inserts) and returns affectedRows, and the rows of \
                      RETURNING. Use @name for values and give them in parameters.",
        arguments: &["query", "parameters", "defaultSchema", "timeout", PAGE[0], PAGE[1]],
        required: &["query"],
    },
    Definition {
        name: "execute_update",
        title: "Update or delete rows",
        kind: Type::Sql,
        operation: Operation::ExecuteUpdate,
        writes: true,
        description: "Runs one UPDATE, DELETE or MERGE statement and returns affectedRows, and the rows of RETURNING. \
                      Use @name for values and give them in parameters.",
        arguments: &["query", "parameters", "defaultSchema", "timeout", PAGE[0], PAGE[1]],
        required: &["query"],
    },
];

impl Definition {
    /// The object that `tools/list` shows.
    pub(super) fn describe(&self, offer: &Offer<'_>) -> Value {
        let properties: Map<String, Value> =
            self.arguments.iter().map(|name| ((*name).to_owned(), argument(name, offer))).collect();
        let mut tool = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            },
            "annotations": self.annotations(offer),
        });
        tool["outputSchema"] = match self.operation {
            Operation::GetInstructions => json!({
                "type": "object",
                "properties": {"instructions": {"type": "string", "description": "Markdown"}},
                "required": ["instructions"],
            }),
            _ => output_schema(),
        };
        tool
    }

    /// What any statement and any procedure may do depends on the caller's own access.
    fn annotations(&self, offer: &Offer<'_>) -> Value {
        let any = matches!(self.operation, Operation::ExecuteSql | Operation::ExecuteProcedure);
        let writes = self.writes || (any && offer.may_write());
        let destroys = writes && self.operation != Operation::ExecuteInsert;
        annotations(self.title, !writes, destroys, !writes)
    }
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
        "tableName" => pattern("tables and views", "orders"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_required_argument_is_an_argument() {
        for tool in &DEFINITIONS {
            assert!(tool.required.iter().all(|name| tool.arguments.contains(name)), "{}", tool.name);
        }
    }
}
