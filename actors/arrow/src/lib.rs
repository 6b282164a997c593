//! Rows as arrays of Apache Arrow: which type a column has, and how its values are taken.

mod column;
mod parse;
mod types;

pub use self::column::{FormatText, Values};
pub use self::types::arrow_type;
