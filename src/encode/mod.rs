//! Rows become bytes here, incrementally; this is the only place that writes cells.

mod arrow;
mod cell;
mod columns;
mod document;
mod failure;
mod labels;
mod lines;
mod long;
mod packing;
mod rest;
mod shape;
mod stream;
mod strict;
mod table;
mod text;

pub use arrow::Arrow;
pub use columns::Descriptor;
pub(crate) use columns::write_schema;
pub use document::Document;
pub use failure::ErrorBody;
pub(crate) use failure::surplus;
pub use lines::{LineForm, Lines};
pub use packing::Packing;
pub use rest::{Caps, Rest};
pub use shape::{NumberShape, RowShape, Shape};
pub use stream::Encoded;
pub use table::{Pieces, Table, tabulate};
pub use text::{FORMATS, Format};
