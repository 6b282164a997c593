//! Every function of this SQLite build, admitted or refused. The engine does not report what a function reads, so
//! an unlisted one is refused; a test compares the lists with the engine's own.

/// Functions that depend only on their arguments, the clock, random numbers or the session's own counters. Sorted.
#[rustfmt::skip]
const ADMITTED: &[&str] = &[
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "bm25", "ceil",
    "ceiling", "changes", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
    "current_date", "current_time", "current_timestamp", "date", "datetime", "degrees", "dense_rank", "exp",
    "first_value", "floor", "format", "fts5_get_locale", "fts5_insttoken", "fts5_locale", "fts5_source_id", "glob",
    "group_concat", "hex", "highlight", "if", "ifnull", "iif", "instr", "json", "json_array", "json_array_insert",
    "json_array_length", "json_error_position", "json_extract", "json_group_array", "json_group_object",
    "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace",
    "json_set", "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_array_insert", "jsonb_extract",
    "jsonb_group_array", "jsonb_group_object", "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove",
    "jsonb_replace", "jsonb_set", "julianday", "lag", "last_insert_rowid", "last_value", "lead", "length", "like",
    "likelihood", "likely", "ln", "log", "log10", "log2", "lower", "ltrim", "match", "matchinfo", "max", "min",
    "mod", "nth_value", "ntile", "nullif", "octet_length", "offsets", "percent_rank", "pi", "pow", "power",
    "printf", "quote", "radians", "random", "randomblob", "rank", "replace", "round", "row_number", "rtreedepth",
    "rtreenode", "rtrim", "sign", "sin", "sinh", "snippet", "soundex",
    // Those of ALTER TABLE are internal to the engine, which refuses other calls of them.
    "sqlite_add_constraint", "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_drop_column",
    "sqlite_drop_constraint", "sqlite_fail", "sqlite_find_constraint", "sqlite_rename_column",
    "sqlite_rename_quotefix", "sqlite_rename_table", "sqlite_rename_test", "sqlite_source_id", "sqlite_version",
    "sqrt", "strftime", "string_agg", "substr", "substring", "subtype", "sum", "tan", "tanh", "time", "timediff",
    "total", "trim", "trunc", "typeof", "unhex", "unicode", "unistr", "unistr_quote", "unixepoch",
    "unlikely", "upper", "zeroblob",
];

/// Functions that reach outside of the database or read what their arguments name, each with its effect. The last
/// ones exist only in other builds of SQLite.
const REFUSED: &[(&str, &str)] = &[
    ("fts3_tokenizer", "installs code"),
    ("fts5", "hands out the engine's own interface"),
    ("load_extension", "loads code from a file"),
    ("optimize", "writes from within a query"),
    ("rtreecheck", "reads the table that its argument names"),
    ("sqlite_log", "writes to the process's log"),
    ("total_changes", "counts what other callers have changed"),
    ("edit", "runs a program"),
    ("readfile", "reads a file"),
    ("writefile", "writes a file"),
];

/// Whether statements may call the function `name`.
pub(crate) fn is_admitted(name: &str) -> bool {
    ADMITTED.binary_search_by(|known| known.bytes().cmp(name.bytes().map(|octet| octet.to_ascii_lowercase()))).is_ok()
}

/// Returns the effect of the function `name`, if it is known and refused.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_of_the_engine_is_admitted_or_refused() {
        for pair in ADMITTED.windows(2) {
            assert!(pair[0] < pair[1], "{} before {}", pair[0], pair[1]);
        }
        let engine = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = engine.prepare("SELECT DISTINCT name FROM pragma_function_list").unwrap();
        let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(names.len() > 100, "{names:?}");
        for name in names {
            assert!(
                is_admitted(&name) != refused(&name).is_some(),
                "{name}: list it among those that are admitted, or refuse it with its reason"
            );
        }
        assert!(is_admitted("Upper") && !is_admitted("LOAD_EXTENSION") && !is_admitted("no_such_function"));
    }
}
