//! Names in the texts that agents read.

/// A name as it must stand in a statement.
pub(super) fn plain_or_quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '_');
    let reserved =
        ["user", "order", "group", "table", "select", "from", "where", "end", "check", "default", "references"];
    if plain && !reserved.contains(&name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
