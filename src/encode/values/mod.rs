//! Cells and columns, as the forms write them.

pub(in crate::encode) mod cell;
pub(in crate::encode) mod columns;
pub(in crate::encode) mod labels;
pub(in crate::encode) mod long;
pub(in crate::encode) mod shape;
pub(in crate::encode) mod strict;
