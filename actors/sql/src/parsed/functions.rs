//! Built-in functions that neither write nor reach outside of the query. Deliberately excluded are functions that
//! run a text as SQL, read files, take locks, wait, signal backends, change settings or draw numbers from a
//! sequence.

/// Returns true if this built-in function, by its folded name, has no side effect.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.binary_search(&name).is_ok()
}

/// Sorted; of PostgreSQL and of SQLite.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "abs", "acos", "acosd", "acosh", "age", "any_value", "area", "array_agg", "array_append", "array_cat",
    "array_dims", "array_fill", "array_length", "array_lower", "array_ndims", "array_position",
    "array_positions", "array_prepend", "array_remove", "array_replace", "array_reverse", "array_sort",
    "array_to_json", "array_to_string", "array_upper", "ascii", "asin", "asind", "asinh", "atan", "atan2",
    "atan2d", "atand", "atanh", "avg", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool",
    "bool_and", "bool_or", "box", "btrim", "cardinality", "cbrt", "ceil", "ceiling", "center", "changes",
    "char", "char_length", "character_length", "chr", "circle", "clock_timestamp", "coalesce",
    "col_description", "concat", "concat_ws", "convert_from", "convert_to", "corr", "cos", "cosd", "cosh",
    "cot", "cotd", "count", "covar_pop", "covar_samp", "cume_dist", "current_schema", "current_schemas",
    "current_setting", "date", "date_add", "date_bin", "date_part", "date_subtract", "date_trunc", "daterange",
    "datetime", "decode", "degrees", "dense_rank", "diameter", "div", "encode", "enum_first", "enum_last",
    "enum_range", "erf", "erfc", "every", "exp", "extract", "factorial", "first_value", "float8", "floor",
    "format", "format_type", "gamma", "gcd", "gen_random_uuid", "generate_series", "generate_subscripts",
    "get_bit", "get_byte", "glob", "greatest", "group_concat", "grouping", "height", "hex", "host", "ifnull",
    "iif", "inet_same_family", "initcap", "instr", "int4", "int4range", "int8", "int8range", "isempty",
    "isfinite", "json", "json_agg", "json_array", "json_array_elements", "json_array_elements_text",
    "json_array_length", "json_build_array", "json_build_object", "json_each", "json_each_text", "json_extract",
    "json_extract_path", "json_extract_path_text", "json_group_array", "json_group_object", "json_insert",
    "json_object", "json_object_agg", "json_object_keys", "json_patch", "json_populate_record",
    "json_populate_recordset", "json_quote", "json_remove", "json_replace", "json_set", "json_strip_nulls",
    "json_to_record", "json_to_recordset", "json_tree", "json_type", "json_typeof", "json_valid", "jsonb",
    "jsonb_agg", "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_array_length", "jsonb_build_array",
    "jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_extract_path", "jsonb_extract_path_text",
    "jsonb_insert", "jsonb_object", "jsonb_object_agg", "jsonb_object_keys", "jsonb_path_exists",
    "jsonb_path_match", "jsonb_path_query", "jsonb_path_query_array", "jsonb_path_query_first",
    "jsonb_populate_record", "jsonb_populate_recordset", "jsonb_pretty", "jsonb_set", "jsonb_set_lax",
    "jsonb_strip_nulls", "jsonb_to_record", "jsonb_to_recordset", "jsonb_typeof", "julianday", "justify_days",
    "justify_hours", "justify_interval", "lag", "last_insert_rowid", "last_value", "lcm", "lead", "least",
    "left", "length", "like", "likelihood", "likely", "line", "ln", "log", "log10", "lower", "lower_inc",
    "lower_inf", "lpad", "lseg", "ltrim", "make_date", "make_interval", "make_time", "make_timestamp",
    "make_timestamptz", "max", "md5", "min", "min_scale", "mod", "mode", "multirange", "netmask", "network",
    "normalize", "now", "nth_value", "ntile", "nullif", "num_nonnulls", "num_nulls", "numeric", "numnode",
    "numrange", "obj_description", "octet_length", "overlay", "parse_ident", "path", "percent_rank",
    "percentile_cont", "percentile_disc", "pg_column_size", "pg_get_constraintdef", "pg_get_expr",
    "pg_get_functiondef", "pg_get_indexdef", "pg_get_viewdef", "pg_size_pretty", "pg_typeof",
    "phraseto_tsquery", "pi", "plainto_tsquery", "point", "polygon", "position", "power", "printf", "quote",
    "quote_ident", "quote_literal", "quote_nullable", "radians", "radius", "random", "randomblob", "range_agg",
    "range_intersect_agg", "range_merge", "rank", "regexp_count", "regexp_instr", "regexp_like", "regexp_match",
    "regexp_matches", "regexp_replace", "regexp_split_to_array", "regexp_split_to_table", "regexp_substr",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy",
    "regr_syy", "repeat", "replace", "reverse", "right", "round", "row_number", "row_to_json", "rpad", "rtrim",
    "scale", "setweight", "sha224", "sha256", "sha384", "sha512", "shobj_description", "sign", "sin", "sind",
    "sinh", "split_part", "sqlite_version", "sqrt", "starts_with", "statement_timestamp", "stddev",
    "stddev_pop", "stddev_samp", "strftime", "string_agg", "string_to_array", "string_to_table", "strip",
    "strpos", "substr", "substring", "sum", "tan", "tand", "tanh", "text", "time", "timediff", "timeofday",
    "timestamp", "timestamptz", "timezone", "to_ascii", "to_bin", "to_char", "to_date", "to_hex", "to_json",
    "to_jsonb", "to_number", "to_oct", "to_regclass", "to_regtype", "to_timestamp", "to_tsquery", "to_tsvector",
    "total", "total_changes", "transaction_timestamp", "translate", "trim", "trim_array", "trim_scale", "trunc",
    "ts_headline", "ts_rank", "ts_rank_cd", "tsrange", "tstzrange", "typeof", "unhex", "unicode",
    "unicode_assigned", "unistr", "unixepoch", "unlikely", "unnest", "upper", "upper_inc", "upper_inf",
    "uuid_extract_timestamp", "uuid_extract_version", "uuidv4", "uuidv7", "var_pop", "var_samp", "varchar",
    "variance", "version", "websearch_to_tsquery", "width", "width_bucket", "xmlagg", "xmlconcat", "xmlforest",
    "xpath", "xpath_exists", "zeroblob",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_for_the_search_and_has_no_doubles() {
        for pair in HARMLESS.windows(2) {
            assert!(pair[0] < pair[1], "{} before {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn what_acts_is_not_in_the_list() {
        for acting in [
            "dblink",
            "lo_import",
            "nextval",
            "pg_advisory_lock",
            "pg_cancel_backend",
            "pg_notify",
            "pg_read_file",
            "pg_sleep",
            "query_to_xml",
            "set_config",
            "setval",
            "load_extension",
        ] {
            assert!(!is_harmless(acting), "{acting}");
        }
        for harmless in ["abs", "count", "lower", "now", "jsonb_agg", "row_number", "strftime", "zeroblob"] {
            assert!(is_harmless(harmless), "{harmless}");
        }
    }
}
