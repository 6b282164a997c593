//! Names as statements write them.

/// A name as a statement writes it, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
