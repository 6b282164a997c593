//! Types as PostgreSQL has them: casts, and values that stand beside each other.

pub(crate) mod casts;
pub(crate) mod categories;
pub(crate) mod common_type;
pub(crate) mod named_cast;
pub(crate) mod outer_types;
pub(crate) mod padded;
pub(crate) mod type_names;
pub(crate) mod typed;
