//! Rows become bytes here, incrementally; this is the only place that writes cells.

mod failure;
mod forms;
mod packing;
mod rest;
mod stream;
mod values;

pub use failure::ErrorBody;
pub(crate) use failure::surplus;
pub use forms::arrow::Arrow;
pub use forms::document::Document;
pub use forms::lines::{LineForm, Lines};
pub use forms::table::{Pieces, Table, tabulate};
pub use forms::text::{FORMATS, Format};
pub use packing::Packing;
pub use rest::{Caps, Rest};
pub use stream::Encoded;
pub use values::columns::Descriptor;
pub(crate) use values::columns::write_schema;
pub use values::shape::{NumberShape, RowShape, Shape};
