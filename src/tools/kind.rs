//! The origins and operations of tools: the words of the query parameters `tools` and `ops` (`docs/mcp.md`).

/// The origin of a tool; the words of the `tools` query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Made by Portico for every connection.
    Universal,
    /// Runs SQL text.
    Sql,
    /// Made from a procedure of the source.
    Source,
}

/// The operation of a tool; the words of the `ops` query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the words are the documentation: docs/mcp.md
pub enum Operation {
    GetCatalogs,
    GetSchemas,
    GetTables,
    GetColumns,
    GetProcedures,
    GetProcedureParameters,
    GetInstructions,
    ExecuteProcedure,
    ExecuteSql,
    ExecuteSelect,
    ExecuteInsert,
    ExecuteUpdate,
}

impl Operation {
    /// The word of the `ops` query parameter.
    pub fn as_str(self) -> &'static str {
        OPERATIONS[self as usize].0
    }
}

/// The words of the types.
pub const TYPES: [(&str, Type); 3] = [("universal", Type::Universal), ("sql", Type::Sql), ("source", Type::Source)];

/// The words of the operations, in the order of [`Operation`].
pub const OPERATIONS: [(&str, Operation); 12] = [
    ("get_catalogs", Operation::GetCatalogs),
    ("get_schemas", Operation::GetSchemas),
    ("get_tables", Operation::GetTables),
    ("get_columns", Operation::GetColumns),
    ("get_procedures", Operation::GetProcedures),
    ("get_procedure_parameters", Operation::GetProcedureParameters),
    ("get_instructions", Operation::GetInstructions),
    ("execute_procedure", Operation::ExecuteProcedure),
    ("execute_sql", Operation::ExecuteSql),
    ("execute_select", Operation::ExecuteSelect),
    ("execute_insert", Operation::ExecuteInsert),
    ("execute_update", Operation::ExecuteUpdate),
];

#[cfg(test)]
mod tests {
    use super::OPERATIONS;

    #[test]
    fn each_operation_has_its_own_word() {
        for (word, operation) in OPERATIONS {
            assert_eq!(operation.as_str(), word);
        }
    }
}
