//! Maps declared types: from the words of CREATE TABLE to the protocol's type. How values are written is in
//! `rows.rs`.

use rusqlite::types::Type;

use portico_core::reply::DataType;

/// A declared type, read from its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredType {
    /// The type on the wire.
    pub(crate) data_type: DataType,
    /// The words without their numbers, as they stand: `DECIMAL`, `double precision`.
    pub(crate) name: String,
    /// Characters or bytes; 0 if none were declared.
    pub(crate) length: i64,
    /// Decimal digits; 0 if the type has none.
    pub(crate) precision: i64,
    /// Digits behind the decimal point, where they were declared.
    pub(crate) scale: Option<i64>,
    /// How its values are written.
    pub(crate) form: ColumnDecoder,
}

/// How values of a column are written, where their own storage class does not say enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnDecoder {
    /// By storage class; a blob, which is not a regular value of the column, as a blob literal.
    Plain,
    /// By storage class; blobs are the column's regular values.
    Octets,
    /// 0 and 1 are truth values.
    Boolean,
    /// Numbers are exact decimals, padded to so many digits behind the point.
    Decimal(usize),
    /// Text that is JSON is JSON.
    Json,
    /// In a text with a space between date and time the space becomes `T`.
    Timestamp,
}

/// The type of a column without declared words, by its first value.
pub(crate) const fn of_value(class: Type) -> DataType {
    match class {
        Type::Integer => DataType::BigInt,
        Type::Real => DataType::Double,
        Type::Blob => DataType::Binary,
        Type::Text | Type::Null => DataType::Varchar,
    }
}

/// Returns the decimal digits that a number of this type can have; 0 for other types.
pub(crate) const fn digits(data_type: DataType) -> i64 {
    match data_type {
        DataType::TinyInt => 3,
        DataType::SmallInt => 5,
        DataType::Integer => 10,
        DataType::BigInt => 19,
        DataType::Float => 7,
        DataType::Double => 15,
        _ => 0,
    }
}

/// Larger declared scales are not meant seriously, and would cost memory for every value.
const MOST_DIGITS: i64 = 100;

impl DeclaredType {
    /// Reads declared words; any words are legal in SQLite, so that this cannot fail.
    pub(crate) fn read(words: &str) -> Self {
        let (before, numbers) = match words.split_once('(') {
            Some((before, rest)) => (before, rest.split_once(')').map_or(rest, |(inside, _)| inside)),
            None => (words, ""),
        };
        let mut numbers = numbers.split(',').map(|number| number.trim().parse::<i64>().ok().filter(|n| *n >= 0));
        let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
        let name = before.split_whitespace().collect::<Vec<_>>().join(" ");
        let upper = name.to_ascii_uppercase();
        let (data_type, form) = classify(&upper);
        let mut declared = Self { data_type, name, length: 0, precision: digits(data_type), scale: None, form };
        match data_type {
            DataType::Decimal | DataType::Numeric => {
                declared.precision = first.unwrap_or(0);
                declared.scale = first.map(|_| second.unwrap_or(0));
                let scale = declared.scale.unwrap_or(0).min(MOST_DIGITS);
                declared.form = ColumnDecoder::Decimal(usize::try_from(scale).unwrap_or(0));
            }
            DataType::Varchar | DataType::Binary => declared.length = first.unwrap_or(0),
            _ => {}
        }
        declared
    }
}

fn classify(upper: &str) -> (DataType, ColumnDecoder) {
    use DataType as D;
    let data_type = match upper {
        "INTEGER" | "BIGINT" | "INT8" | "UNSIGNED BIG INT" | "BIG INT" => D::BigInt,
        "INT" | "MEDIUMINT" | "INT4" => D::Integer,
        "SMALLINT" | "INT2" => D::SmallInt,
        "TINYINT" | "INT1" => D::TinyInt,
        "BOOL" | "BOOLEAN" => return (D::Boolean, ColumnDecoder::Boolean),
        "DATE" => D::Date,
        "TIME" => D::Time,
        "TIMESTAMP" | "DATETIME" => return (D::Timestamp, ColumnDecoder::Timestamp),
        "DECIMAL" | "DEC" => return (D::Decimal, ColumnDecoder::Decimal(0)),
        "NUMERIC" | "NUM" | "NUMBER" => return (D::Numeric, ColumnDecoder::Decimal(0)),
        "UUID" | "GUID" => D::Uuid,
        "JSON" | "JSONB" => return (D::Varchar, ColumnDecoder::Json),
        "BINARY" | "VARBINARY" | "BYTEA" => return (D::Binary, ColumnDecoder::Octets),
        // The rest follows SQLite's own rules of affinity (datatype3.html §3.1).
        _ if upper.contains("INT") => D::BigInt,
        _ if upper.contains("CHAR") || upper.contains("CLOB") || upper.contains("TEXT") => D::Varchar,
        _ if upper.contains("BLOB") => return (D::Binary, ColumnDecoder::Octets),
        _ if upper.contains("REAL") || upper.contains("FLOA") || upper.contains("DOUB") => D::Double,
        _ if upper.starts_with("TIMESTAMP") => return (D::Timestamp, ColumnDecoder::Timestamp),
        _ => D::Varchar,
    };
    (data_type, ColumnDecoder::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_words_give_the_types_of_the_wire() {
        for (words, expected) in [
            ("INTEGER", DataType::BigInt),
            ("int", DataType::Integer),
            ("SMALLINT", DataType::SmallInt),
            ("TinyInt", DataType::TinyInt),
            ("boolean", DataType::Boolean),
            ("DATE", DataType::Date),
            ("time", DataType::Time),
            ("DATETIME", DataType::Timestamp),
            ("timestamp with time zone", DataType::Timestamp),
            ("DECIMAL(10,2)", DataType::Decimal),
            ("numeric", DataType::Numeric),
            ("REAL", DataType::Double),
            ("double precision", DataType::Double),
            ("FLOAT", DataType::Double),
            ("BLOB", DataType::Binary),
            ("UUID", DataType::Uuid),
            ("JSON", DataType::Varchar),
            ("NVARCHAR(30)", DataType::Varchar),
            ("anything else", DataType::Varchar),
        ] {
            assert_eq!(DeclaredType::read(words).data_type, expected, "{words}");
        }
    }

    #[test]
    fn numbers_in_parentheses_are_size_or_digits() {
        let price = DeclaredType::read("decimal ( 10 , 2 )");
        assert_eq!((price.precision, price.scale, price.form), (10, Some(2), ColumnDecoder::Decimal(2)));
        assert_eq!(price.name, "decimal");
        assert_eq!(DeclaredType::read("VARCHAR(40)").length, 40);
        for odd in ["DECIMAL(", "DECIMAL()", "DECIMAL(,)", "DECIMAL(-1,x)", "DECIMAL(99999999999999999999,5)"] {
            assert_eq!(DeclaredType::read(odd).data_type, DataType::Decimal, "{odd}");
        }
        assert_eq!(DeclaredType::read("NUMERIC(5,999999999)").form, ColumnDecoder::Decimal(100));
    }
}
