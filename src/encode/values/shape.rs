//! Options for rows in JSON: objects instead of arrays, and numbers with many digits as texts.

use portico_actors::error::Result;
use portico_actors::reply::{Batch, Cell, Column, DataType};

use super::cell::{Nesting, write_cell, write_string};
use super::labels;

/// Every whole number up to this one is a double too.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// The JSON form of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowShape {
    /// An array of values, in the order of the columns.
    #[default]
    Array,
    /// An object of labels and values; of equal labels the later ones are numbered: `id`, `id_2`.
    Object,
}

/// The JSON form of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberShape {
    /// A number with all of its digits.
    #[default]
    Number,
    /// A number, but BIGINT, DECIMAL and NUMERIC are strings, and so is each integer that no double holds: for readers
    /// that have only doubles.
    Text,
}

impl NumberShape {
    /// For each column, whether its numbers are strings.
    fn texts(self, columns: &[Column]) -> Vec<bool> {
        let is_long =
            |column: &Column| matches!(column.data_type, DataType::BigInt | DataType::Decimal | DataType::Numeric);
        columns.iter().map(|column| self == Self::Text && is_long(column)).collect()
    }
}

/// The JSON form of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The form of a row.
    pub rows: RowShape,
    /// The form of a number.
    pub numbers: NumberShape,
}

/// Writes the rows of one result in a shape other than the usual one.
#[derive(Debug)]
pub(in crate::encode) struct ShapedRows {
    brackets: [u8; 2],
    columns: Vec<ShapedColumn>,
    numbers: NumberShape,
}

#[derive(Debug)]
struct ShapedColumn {
    /// The text before the value.
    before: Vec<u8>,
    is_text: bool,
}

impl ShapedRows {
    /// Returns `None` for the default form.
    pub(in crate::encode) fn new(shape: Shape, columns: &[Column]) -> Option<Self> {
        if shape == Shape::default() {
            return None;
        }
        let labels = match shape.rows {
            RowShape::Array => Vec::new(),
            RowShape::Object => labels::distinct(columns),
        };
        let shaped = shape.numbers.texts(columns).into_iter().enumerate().map(|(place, is_text)| {
            let mut before = if place > 0 { vec![b','] } else { Vec::new() };
            if let Some(label) = labels.get(place) {
                write_string(&mut before, label);
                before.push(b':');
            }
            ShapedColumn { before, is_text }
        });
        let brackets = if shape.rows == RowShape::Object { *b"{}" } else { *b"[]" };
        Some(Self { brackets, columns: shaped.collect(), numbers: shape.numbers })
    }

    /// Appends `between` and a row; nothing if one of its values cannot be read.
    pub(in crate::encode) fn write(
        &self,
        out: &mut Vec<u8>,
        between: &[u8],
        batch: &dyn Batch,
        row: usize,
    ) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(between);
        out.push(self.brackets[0]);
        for (place, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(&column.before);
            match batch.cell(row, place) {
                Ok(cell) if column.is_text || self.is_long(&cell) => write_text(out, &cell),
                Ok(cell) => write_cell(out, &cell, Nesting::Quoted),
                Err(error) => {
                    out.truncate(start);
                    return Err(error);
                }
            }
        }
        out.push(self.brackets[1]);
        Ok(())
    }

    /// Whether `cell` is a string because of its value: SQLite puts 64 bits into a column of whatever type.
    fn is_long(&self, cell: &Cell<'_>) -> bool {
        matches!(cell, Cell::Integer(value) if value.unsigned_abs() > EXACT && self.numbers == NumberShape::Text)
    }
}

/// Appends a value of a column whose numbers are strings.
fn write_text(out: &mut Vec<u8>, cell: &Cell<'_>) {
    let is_number = matches!(cell, Cell::Integer(_) | Cell::Float(_) | Cell::Double(_) | Cell::Decimal(_));
    let start = out.len();
    write_cell(out, cell, Nesting::Quoted);
    // NaN and the infinities are strings already.
    if is_number && out.get(start) != Some(&b'"') {
        out.insert(start, b'"');
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row(Vec<Cell<'static>>);

    impl Batch for Row {
        fn rows(&self) -> usize {
            1
        }

        fn octets(&self) -> usize {
            0
        }

        fn cell(&self, _: usize, column: usize) -> Result<Cell<'_>> {
            Ok(self.0[column].clone())
        }
    }

    #[test]
    fn rows_are_written_in_each_shape() {
        let columns = [
            Column::computed("id", DataType::BigInt),
            Column::computed("a\"b", DataType::Integer),
            Column::computed("id", DataType::Numeric),
            Column::computed("id", DataType::Decimal),
        ];
        let cells = || vec![Cell::Integer(i64::MAX), Cell::Integer(-1), Cell::Decimal("NaN".into()), Cell::Null];
        let written = |rows, numbers, columns: &[Column], cells| {
            let mut out = Vec::new();
            let shaped = ShapedRows::new(Shape { rows, numbers }, columns).unwrap();
            shaped.write(&mut out, b",", &Row(cells), 0).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            written(RowShape::Object, NumberShape::Number, &columns, cells()),
            r#",{"id":9223372036854775807,"a\"b":-1,"id_2":"NaN","id_3":null}"#
        );
        assert_eq!(
            written(RowShape::Array, NumberShape::Text, &columns, cells()),
            r#",["9223372036854775807",-1,"NaN",null]"#
        );
        let narrow = [DataType::Integer, DataType::TinyInt, DataType::Varchar, DataType::Boolean];
        let narrow = narrow.map(|data_type| Column::computed("n", data_type));
        let long = [1 << 53, (1 << 53) + 1, -(1 << 53) - 1, i64::MIN].map(Cell::Integer).to_vec();
        assert_eq!(
            written(RowShape::Array, NumberShape::Text, &narrow, long.clone()),
            r#",[9007199254740992,"9007199254740993","-9007199254740993","-9223372036854775808"]"#,
            "what a double does not hold is a string in whatever column"
        );
        assert_eq!(
            written(RowShape::Object, NumberShape::Number, &narrow, long),
            r#",{"n":9007199254740992,"n_2":9007199254740993,"n_3":-9007199254740993,"n_4":-9223372036854775808}"#
        );
        assert_eq!(
            written(
                RowShape::Object,
                NumberShape::Text,
                &columns[2..],
                vec![Cell::Decimal("-0.10".into()), Cell::Text("five".into())]
            ),
            r#",{"id":"-0.10","id_2":"five"}"#
        );
        assert_eq!(written(RowShape::Object, NumberShape::Number, &[], vec![]), ",{}");
        assert!(ShapedRows::new(Shape::default(), &columns).is_none());
    }
}
