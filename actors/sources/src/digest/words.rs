//! Names, types, numbers and values in few words.

use portico_core::reply::DataType;

/// Characters of a comment.
const REMARK_LENGTH: usize = 120;
/// Characters of a value.
const VALUE_LENGTH: usize = 40;

/// Text on one line, cut at so many characters.
fn cut(text: &str, most: usize) -> String {
    let mut words = String::with_capacity(text.len().min(4 * most));
    let mut characters = text.chars();
    words.extend(characters.by_ref().take(most).map(|it| if it.is_control() { ' ' } else { it }));
    if characters.next().is_some() {
        words.push('…');
    }
    words
}

/// A comment on one line, cut where it is long.
pub fn one_line(remarks: &str) -> String {
    cut(&remarks.split_whitespace().collect::<Vec<_>>().join(" "), REMARK_LENGTH)
}

/// A comment as one of SQL, which it does not end itself.
pub(super) fn comment(remarks: &str) -> String {
    format!("/*{}*/", one_line(remarks).replace("*/", "* /").replace("/*", "/ *"))
}

/// Returns a value as a SQL literal; special characters are escaped, and long values are cut.
pub(super) fn literal(value: Option<&str>, is_bare: bool) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(value) if is_bare => cut(value, VALUE_LENGTH),
        Some(value) => {
            let visible = value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            // A backslash that escapes nothing is a plain one.
            let visible = if visible.replace("\\\\", "\\") == value { value } else { visible.as_str() };
            format!("'{}'", cut(visible, VALUE_LENGTH).replace('\'', "''"))
        }
    }
}

/// Words of the standard that have shorter ones.
const SHORT: &[(&str, &str)] = &[
    ("character varying", "varchar"),
    ("character", "char"),
    ("timestamp without time zone", "timestamp"),
    ("timestamp with time zone", "timestamptz"),
    ("time without time zone", "time"),
    ("time with time zone", "timetz"),
    ("double precision", "float8"),
    ("integer", "int"),
    ("boolean", "bool"),
];

/// A type in its shortest words, with its length or its digits.
pub(super) fn type_name(name: &str, data_type: i64, size: i64, scale: i64) -> String {
    let is = |data_type_: DataType| data_type == i64::from(data_type_.code());
    // A name in capitals only needs no quotes.
    let plain = if name.contains(|it: char| it.is_ascii_lowercase() || it == '"') {
        name.to_owned()
    } else {
        name.to_ascii_lowercase()
    };
    let short = SHORT.iter().find_map(|(long, short)| {
        let rest = plain.strip_prefix(long)?;
        (!rest.starts_with(|it: char| it.is_alphanumeric() || it == '_' || it == ' ')).then(|| format!("{short}{rest}"))
    });
    let mut told = short.unwrap_or(plain);
    let is_exact = is(DataType::Numeric) || is(DataType::Decimal);
    // For other types, and for domains, the length is not a part of the name.
    let has_length = matches!(
        told.as_str(),
        "numeric" | "decimal" | "varchar" | "nvarchar" | "char" | "nchar" | "bpchar" | "bit" | "bit varying" | "varbit"
    );
    if size > 0 && has_length && !told.contains(['(', '[']) {
        let scale = if is_exact && scale != 0 { format!(",{scale}") } else { String::new() };
        told.push_str(&format!("({size}{scale})"));
    }
    told
}

/// A number of rows in short.
#[expect(clippy::cast_precision_loss, reason = "two digits of it are told")]
pub(super) fn count(rows: i64) -> String {
    let (value, unit) = match rows {
        ..1_000 => return rows.to_string(),
        1_000..1_000_000 => (rows as f64 / 1e3, "k"),
        1_000_000..1_000_000_000 => (rows as f64 / 1e6, "M"),
        _ => (rows as f64 / 1e9, "G"),
    };
    if value < 9.95 { format!("{value:.1}{unit}").replace(".0", "") } else { format!("{value:.0}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_are_short() {
        let told = [0, 20, 999, 1_000, 1_234, 9_949, 9_960, 12_345, 3_400_000, 2_000_000_000].map(count);
        assert_eq!(told, ["0", "20", "999", "1k", "1.2k", "9.9k", "10k", "12k", "3.4M", "2G"]);
    }

    #[test]
    fn types_are_short_and_still_ones() {
        let numeric = i64::from(DataType::Numeric.code());
        for (name, data_type, size, scale, expected) in [
            ("character varying", 5, 20, 0, "varchar(20)"),
            ("character varying[]", 5, 0, 0, "varchar[]"),
            ("timestamp with time zone", 17, 0, 0, "timestamptz"),
            ("integer", 8, 10, 0, "int"),
            ("INTEGER", 8, 0, 0, "int"),
            ("numeric", numeric, 10, 2, "numeric(10,2)"),
            ("numeric", numeric, 5, 0, "numeric(5)"),
            ("VARCHAR", 5, 80, 0, "varchar(80)"),
            ("crm.\"Mood\"", 5, 0, 0, "crm.\"Mood\""),
            ("integer_range", 5, 0, 0, "integer_range"),
            ("character(3)", 5, 3, 0, "char(3)"),
            ("currency", 5, 3, 0, "currency"),
            ("bit", 5, 8, 0, "bit(8)"),
            ("name", 5, 63, 0, "name"),
        ] {
            assert_eq!(type_name(name, data_type, size, scale), expected);
        }
    }

    #[test]
    fn what_is_told_stays_on_its_line_and_within_its_quotes() {
        assert_eq!(comment("ends */ here\nand /* there"), "/*ends * / here and / * there*/");
        assert_eq!(literal(Some("it's\nnew"), false), "'it''s\\nnew'");
        assert_eq!(literal(Some("C:\\x"), false), "'C:\\x'");
        assert_eq!(literal(Some(&"ä".repeat(50)), false), format!("'{}…'", "ä".repeat(40)));
        assert_eq!((literal(None, false), literal(Some("7"), true)), ("NULL".to_owned(), "7".to_owned()));
    }
}
