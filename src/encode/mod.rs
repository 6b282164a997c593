//! Rows become bytes here, incrementally; this is the only place that writes cells.

mod compressor;
mod failure;
mod formats;
mod stream;
mod truncation;
mod values;

pub use compressor::Compressor;
pub use failure::ErrorBody;
pub(crate) use failure::surplus;
pub use formats::arrow::Arrow;
pub use formats::document::Document;
pub use formats::lines::{LineFormat, Lines};
pub use formats::text::{FORMATS, Format};
pub use formats::tool_result::{JsonChunks, ToolResult, read_tool_result};
pub use stream::Encoded;
pub use truncation::{Caps, TruncationHint};
pub use values::columns::Descriptor;
pub(crate) use values::columns::write_schema;
pub use values::shape::{NumberShape, RowShape, Shape};
