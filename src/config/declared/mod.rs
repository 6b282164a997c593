//! How a setting is declared once, and read from a table of the file.

pub(in crate::config) mod environment;
pub(in crate::config) mod fingerprint;
pub(in crate::config) mod problem;
pub(in crate::config) mod section;
pub(in crate::config) mod setting;
pub(in crate::config) mod table;
