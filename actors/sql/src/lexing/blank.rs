//! White space and comments, where they end.

use crate::dialect::Dialect;

const VERTICAL_TAB: u8 = 0x0b;

/// White space wherever it stands. A vertical tab is that to PostgreSQL since 16: earlier servers refuse the text that has
/// one outside of literals. To SQLite it is so behind other white space alone.
pub(crate) const fn is_space(byte: u8, dialect: Dialect) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c) || (byte == VERTICAL_TAB && !dialect.wide_blanks)
}

/// Where the white space or the comment ends that begins at `at`. `None` where there is neither, or a
/// comment that PostgreSQL would refuse because it is open at the end of the text.
pub(crate) fn end(bytes: &[u8], at: usize, dialect: Dialect) -> Option<usize> {
    match (bytes.get(at)?, bytes.get(at + 1)) {
        (first, _) if is_space(*first, dialect) => {
            let blank = |byte: &u8| is_space(*byte, dialect) || *byte == VERTICAL_TAB;
            Some(bytes.iter().skip(at).position(|byte| !blank(byte)).map_or(bytes.len(), |length| at + length))
        }
        (b'-', Some(b'-')) => Some(line_end(bytes, at, dialect)),
        (b'/', Some(b'*')) => comment_end(bytes, at, dialect.nested_comments),
        // To SQLite a byte order mark is white space, wherever it stands.
        (0xef, Some(0xbb)) if dialect.wide_blanks && bytes.get(at + 2) == Some(&0xbf) => Some(at + 3),
        _ => None,
    }
}

/// Where the line ends that `at` is on.
pub(crate) fn line_end(bytes: &[u8], at: usize, dialect: Dialect) -> usize {
    let ends = |byte: &u8| *byte == b'\n' || (*byte == b'\r' && !dialect.wide_blanks);
    bytes.iter().skip(at).position(ends).map_or(bytes.len(), |length| at + length)
}

/// PostgreSQL's comments nest, and must be closed. SQLite's do neither, but one without a letter is none.
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

/// What stands behind the white space and the comments at `at`.
pub(crate) fn behind(text: &str, at: usize, dialect: Dialect) -> &str {
    let mut at = at;
    while let Some(end) = end(text.as_bytes(), at, dialect) {
        at = end;
    }
    text.get(at..).unwrap_or_default()
}
