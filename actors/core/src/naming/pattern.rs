//! SQL's LIKE for names of connections, and for names if the database is not asked: `%`, `_`, and `\` before either
//! of them. LIKE in statements is the database's own.

/// Returns true if `name` equals `wanted` or matches it as a pattern, in any case, as names of connections and
/// SQLite's are compared. `None` matches all.
pub fn matches(wanted: Option<&str>, name: &str) -> bool {
    wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name) || like(&compile(wanted), name))
}

/// Returns the names and patterns that `text` can mean if it may be a comma list: the whole text, because a name
/// may contain a comma, and each element.
pub fn alternatives(text: &str) -> Vec<&str> {
    let each = text.split(',').map(str::trim).filter(|each| !each.is_empty() && *each != text);
    std::iter::once(text).chain(each).collect()
}

/// As [`matches()`], with `wanted` as a comma list.
pub fn matches_any(wanted: Option<&str>, name: &str) -> bool {
    wanted.is_none_or(|wanted| alternatives(wanted).iter().any(|each| matches(Some(each), name)))
}

/// Returns true if `name` equals `entry`, in any case, or matches it as a pattern whose only wildcard is `%`; `_`
/// stands for itself.
pub fn speaks_of(entry: &str, name: &str) -> bool {
    let literal = |piece| if matches!(piece, Segment::One) { Segment::Exactly('_') } else { piece };
    let pieces: Vec<Segment> = compile(entry).into_iter().map(literal).collect();
    entry.eq_ignore_ascii_case(name) || like(&pieces, name)
}

/// Prepares `pattern` for a LIKE that treats `\` as an escape before any character and refuses it at the end: a `\`
/// that escapes nothing here is doubled.
pub fn for_like(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    for piece in compile(pattern) {
        match piece {
            Segment::Any => text.push('%'),
            Segment::One => text.push('_'),
            Segment::Exactly(character) => {
                if matches!(character, '%' | '_' | '\\') {
                    text.push('\\');
                }
                text.push(character);
            }
        }
    }
    text
}

/// Escapes a name, so that the pattern matches only this name.
pub fn literal(name: &str) -> String {
    name.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

enum Segment {
    Any,
    One,
    Exactly(char),
}

fn compile(pattern: &str) -> Vec<Segment> {
    let mut pieces = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '%' => Segment::Any,
            '_' => Segment::One,
            '\\' => match characters.next_if(|next| matches!(next, '%' | '_' | '\\')) {
                Some(escaped) => Segment::Exactly(escaped),
                None => Segment::Exactly('\\'),
            },
            other => Segment::Exactly(other),
        });
    }
    pieces
}

/// Backtracks to the last `%` only, so that time is bounded by the product of the lengths.
fn like(pieces: &[Segment], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut at) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while let Some(character) = name.get(at) {
        let fits = match pieces.get(piece) {
            Some(Segment::Any) => {
                last_any = Some((piece, at));
                piece += 1;
                continue;
            }
            Some(Segment::One) => true,
            Some(Segment::Exactly(expected)) => expected.eq_ignore_ascii_case(character),
            None => false,
        };
        if fits {
            piece += 1;
            at += 1;
        } else if let Some((any, from)) = last_any {
            last_any = Some((any, from + 1));
            piece = any + 1;
            at = from + 1;
        } else {
            return false;
        }
    }
    pieces.iter().skip(piece).all(|piece| matches!(piece, Segment::Any))
}

#[cfg(test)]
mod tests {
    use super::{for_like, matches, speaks_of};

    #[test]
    fn names_match_exactly_or_by_pattern() {
        for (pattern, name, expected) in [
            ("orders", "Orders", true),
            ("order", "orders", false),
            ("order%", "order_lines", true),
            ("%", "", true),
            ("_", "ł", true),
            ("_", "", false),
            ("order\\_lines", "order_lines", true),
            ("order\\_lines", "orderxlines", false),
            ("order_lines", "orderxlines", true),
            ("%a%b%c", "xxaxxbxxc", true),
            ("%a%b%c", "xxaxxbxx", false),
            ("%lines", "order_lines_lines", true),
            ("100\\%", "100%", true),
            ("", "", true),
            ("", "x", false),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(matches(Some(pattern), name), expected, "{pattern} {name}");
        }
        assert!(matches(None, "anything"));
    }

    #[test]
    fn an_underscore_in_a_list_is_itself() {
        for (entry, name, expected) in [
            ("pub_x", "pub_x", true),
            ("pub_x", "PUB_X", true),
            ("pub_x", "pubAx", false),
            ("pub\\_x", "pub_x", true),
            ("pub_%", "pub_anything", true),
            ("pub_%", "pubAanything", false),
            ("_", "a", false),
            ("100\\%", "100%", true),
            ("100\\%", "100x", false),
            ("%", "", true),
        ] {
            assert_eq!(speaks_of(entry, name), expected, "{entry} {name}");
        }
    }

    #[test]
    fn a_pattern_for_the_engine_means_the_same() {
        for (pattern, expected) in [
            ("orders", "orders"),
            ("a%b_", "a%b_"),
            ("\\", "\\\\"),
            ("a\\", "a\\\\"),
            ("\\a", "\\\\a"),
            ("100\\%", "100\\%"),
            ("\\\\", "\\\\"),
            ("\\\\\\", "\\\\\\\\"),
        ] {
            assert_eq!(for_like(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = "%a".repeat(200);
        assert!(!matches(Some(&pattern), &"a".repeat(199)));
        assert!(matches(Some(&pattern), &"a".repeat(200)));
    }
}
