//! White space and comments, where they end.

use crate::dialect::Dialect;

const VERTICAL_TAB: u8 = 0x0b;

/// Returns true for white space in any position. PostgreSQL accepts a vertical tab as white space since 16; earlier
/// servers refuse it outside of literals. SQLite accepts it only after other white space.
pub(crate) const fn is_space(byte: u8, dialect: Dialect) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c) || (byte == VERTICAL_TAB && !dialect.wide_blanks)
}

/// Returns the end of the white space or comment at `at`. Returns `None` if there is neither, or if the comment is
/// not closed, which PostgreSQL refuses.
pub(crate) fn end(bytes: &[u8], at: usize, dialect: Dialect) -> Option<usize> {
    match (bytes.get(at)?, bytes.get(at + 1)) {
        (first, _) if is_space(*first, dialect) => {
            let blank = |byte: &u8| is_space(*byte, dialect) || *byte == VERTICAL_TAB;
            Some(bytes.iter().skip(at).position(|byte| !blank(byte)).map_or(bytes.len(), |length| at + length))
        }
        (b'-', Some(b'-')) => Some(line_end(bytes, at, dialect)),
        (b'/', Some(b'*')) => comment_end(bytes, at, dialect.nested_comments),
        // SQLite treats a byte order mark as white space in any position.
        (0xef, Some(0xbb)) if dialect.wide_blanks && bytes.get(at + 2) == Some(&0xbf) => Some(at + 3),
        _ => None,
    }
}

/// Where the line ends that `at` is on.
pub(crate) fn line_end(bytes: &[u8], at: usize, dialect: Dialect) -> usize {
    let ends = |byte: &u8| *byte == b'\n' || (*byte == b'\r' && !dialect.wide_blanks);
    bytes.iter().skip(at).position(ends).map_or(bytes.len(), |length| at + length)
}

/// Returns the end of a comment. PostgreSQL's comments nest and must be closed. SQLite's do not nest and may be
/// open at the end of the text, unless they are empty.
fn comment_end(bytes: &[u8], start: usize, nest: bool) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'/'), Some(b'*')) if depth == 0 || nest => {
                depth += 1;
                at += 2;
            }
            (Some(b'*'), Some(b'/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    (!nest && bytes.len() > start + 2).then_some(bytes.len())
}

/// Returns the text after the white space and comments at `at`.
pub(crate) fn behind(text: &str, at: usize, dialect: Dialect) -> &str {
    let mut at = at;
    while let Some(end) = end(text.as_bytes(), at, dialect) {
        at = end;
    }
    text.get(at..).unwrap_or_default()
}
