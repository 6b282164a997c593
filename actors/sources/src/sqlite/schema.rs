//! The only schema of a file, and texts of the file that may not be UTF-8.

/// The only schema of a connection.
pub(crate) const SCHEMA: &str = "main";

/// Reads a text of the catalogue; NULL becomes empty, and invalid UTF-8 is replaced.
pub(crate) fn lossy(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(column)? {
        ValueRef::Text(octets) | ValueRef::Blob(octets) => String::from_utf8_lossy(octets).into_owned(),
        _ => String::new(),
    })
}
