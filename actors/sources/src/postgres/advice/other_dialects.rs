//! Words of other databases and programs, and what PostgreSQL has instead.

use crate::statements::foreign::Foreign;

/// Functions of other databases, and what PostgreSQL has instead.
pub(super) const FUNCTIONS: &[Foreign] = &[
    ("ADD_MONTHS", "a_date + interval '1 month'"),
    ("CHARINDEX", "strpos(text, part)"),
    ("CONVERT", "CAST(value AS type)"),
    ("CURDATE", "CURRENT_DATE"),
    ("DATEADD", "a_date + interval '7 days'"),
    ("DATEDIFF", "date1 - date2, which is the number of days"),
    ("DATEPART", "extract(year FROM a_date)"),
    ("DATETIME", "CAST(value AS timestamp)"),
    ("DATE_FORMAT", "to_char(a_date, 'YYYY-MM-DD')"),
    ("DAY", "extract(day FROM a_date)"),
    ("EOMONTH", "(date_trunc('month', a_date) + interval '1 month - 1 day')::date"),
    ("FROM_UNIXTIME", "to_timestamp(seconds)"),
    ("GETDATE", "now()"),
    ("GROUP_CONCAT", "string_agg(value, ', ')"),
    ("HOUR", "extract(hour FROM a_time)"),
    ("IF", "CASE WHEN condition THEN a ELSE b END"),
    ("IFNULL", "COALESCE(a, b)"),
    ("JSON_VALUE", "a_column #>> '{key,key}'"),
    ("MEDIAN", "percentile_cont(0.5) WITHIN GROUP (ORDER BY value)"),
    ("SAFE_CAST", "CAST(value AS type); CASE WHEN value ~ '^[0-9]+$' THEN … leaves out what cannot be cast"),
    ("TIMESTAMPDIFF", "extract(epoch FROM later - earlier), which is in seconds"),
    ("TRY_CAST", "CAST(value AS type); CASE WHEN value ~ '^[0-9]+$' THEN … leaves out what cannot be cast"),
    ("UUID", "gen_random_uuid()"),
    ("IIF", "CASE WHEN condition THEN a ELSE b END"),
    ("INSTR", "strpos(text, part)"),
    ("ISNULL", "COALESCE(a, b)"),
    ("JSON_EXTRACT", "a_column #>> '{key,key}' for the path $.key.key"),
    ("JULIANDAY", "extract(julian FROM a_date)"),
    ("LAST_DAY", "(date_trunc('month', a_date) + interval '1 month - 1 day')::date"),
    ("LEN", "length(text)"),
    ("LISTAGG", "string_agg(value, ', ')"),
    ("MONTH", "extract(month FROM a_date)"),
    ("NEWID", "gen_random_uuid()"),
    ("NVL", "COALESCE(a, b)"),
    ("RAND", "random()"),
    ("STRFTIME", "to_char(a_date, 'YYYY-MM')"),
    ("STR_TO_DATE", "to_date(text, 'YYYY-MM-DD')"),
    ("SUBSTRING_INDEX", "split_part(text, ',', 1)"),
    ("SYSDATE", "now()"),
    ("TOTAL", "sum(value)"),
    ("UNIX_TIMESTAMP", "extract(epoch FROM a_time)"),
    ("YEAR", "extract(year FROM a_date)"),
];
/// Words of other databases that are not functions.
pub(super) const WORDS: &[Foreign] = &[
    ("==", "="),
    ("AUTO_INCREMENT", "GENERATED ALWAYS AS IDENTITY"),
    ("AUTOINCREMENT", "GENERATED ALWAYS AS IDENTITY"),
    ("DIV", "div(a, b)"),
    ("GLOB", "LIKE, or ~ for a regular expression"),
    ("REGEXP", "~"),
    ("RLIKE", "~"),
];

/// Words of other databases that may be names, and are none beside the word that an error is about.
pub(super) const NEAR_WORDS: &[Foreign] = &[
    ("DUPLICATE", "ON CONFLICT (key) DO UPDATE SET a_column = excluded.a_column"),
    ("MINUS", "EXCEPT"),
    ("NOLOCK", "the table alone: readers wait for nobody here"),
    ("OUTPUT", "RETURNING at the end"),
    ("QUALIFY", "SELECT * FROM (SELECT …, row_number() OVER (…) AS n FROM …) AS q WHERE n = 1"),
];

/// Types of other databases.
pub(super) const TYPES: &[Foreign] = &[
    ("BLOB", "bytea"),
    ("CLOB", "text"),
    ("DATETIME", "timestamp"),
    ("FLOAT64", "double precision"),
    ("INT64", "bigint"),
    ("LONG", "bigint"),
    ("NUMBER", "numeric"),
    ("NVARCHAR", "varchar"),
    ("SIGNED", "bigint"),
    ("STRING", "text"),
    ("TINYINT", "smallint"),
    ("UNSIGNED", "bigint"),
    ("VARCHAR2", "varchar"),
];

/// Commands of other programs.
pub(super) const COMMANDS: &[Foreign] = &[
    ("DESC", DESCRIBING),
    ("DESCRIBE", DESCRIBING),
    ("PRAGMA", DESCRIBING),
    ("SHOW", "SELECT table_schema, table_name FROM information_schema.tables lists tables"),
    ("USE", "write schema.table, or give defaultSchema"),
];
const DESCRIBING: &str =
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '…' lists columns";
