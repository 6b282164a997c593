//! Checks that list the values which a column may have, as `pg_get_expr` writes them.

use serde_json::Value;

/// Returns the values, as a JSON array, of the first of `checks` that lists values; `details.rs` defines their
/// format.
pub(crate) fn listed_values(checks: &str) -> Option<String> {
    let values = checks.split('\u{2}').find_map(|check| {
        let (column, expression) = check.split_once('\u{1}')?;
        values(column, expression)
    })?;
    serde_json::to_string(&values).ok()
}

/// Returns the values of `column = ANY (ARRAY[…])`, which may admit NULL as well; `None` for other expressions.
fn values(column: &str, expression: &str) -> Option<Vec<Value>> {
    let (before, behind) = expression.split_once("ARRAY[")?;
    let bare = plain(before);
    let (column, is_any) = (plain(column), bare.strip_suffix("=ANY")?);
    let alone = is_any == column || *is_any == format!("{column}ISNULLOR{column}");
    let (values, rest) = literals(behind)?;
    // After the list only its end and the type that it is cast to may follow.
    let closes = plain(rest.trim_start_matches("::").trim_start_matches(')'));
    (alone && closes.is_empty() && !values.is_empty()).then_some(values)
}

/// An expression without parentheses, spaces and casts.
fn plain(expression: &str) -> String {
    let mut out = String::new();
    let mut rest = expression;
    while let Some(next) = rest.chars().next() {
        if let Some(cast) = rest.strip_prefix("::") {
            rest = behind_type(cast);
            continue;
        }
        if !matches!(next, '(' | ')' | ' ') {
            out.push(next);
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    out
}

/// Returns the text after a type's name: words, a length, brackets.
fn behind_type(text: &str) -> &str {
    let names = ["character varying", "timestamp without time zone", "timestamp with time zone", "double precision"];
    let named = names.into_iter().find_map(|name| text.strip_prefix(name));
    let rest = named.unwrap_or_else(|| text.trim_start_matches(|it: char| it.is_alphanumeric() || "_.\"".contains(it)));
    let rest = match rest.strip_prefix('(').and_then(|length| length.split_once(')')) {
        Some((length, rest)) if length.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') => rest,
        _ => rest,
    };
    rest.strip_prefix("[]").unwrap_or(rest)
}

/// Returns the literals up to the bracket that ends the list, and the text after it.
fn literals(text: &str) -> Option<(Vec<Value>, &str)> {
    let (mut values, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start_matches(['(', ' ']);
        if let Some(text) = rest.strip_prefix('\'') {
            let (value, behind) = quoted(text)?;
            values.push(Value::from(value));
            rest = behind;
        } else {
            let end = rest.find([',', ']', ':', ')'])?;
            let number: serde_json::Number = serde_json::from_str(rest.get(..end)?).ok()?;
            values.push(Value::Number(number));
            rest = rest.get(end..)?;
        }
        while !rest.starts_with([',', ']']) {
            rest = match rest.strip_prefix("::") {
                Some(cast) => behind_type(cast),
                None => rest.strip_prefix([')', ' '])?,
            };
        }
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((values, rest.strip_prefix(']')?)),
        }
    }
}

/// Returns a literal whose first quote was read, and the text after its last.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text);
    loop {
        let (part, behind) = rest.split_once('\'')?;
        value.push_str(part);
        match behind.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Some((value, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_values_is_read_and_nothing_else_is_one() {
        for (column, expression, expected) in [
            ("status", "(status = ANY (ARRAY['open'::text, 'it''s'::text]))", Some(r#"["open","it's"]"#)),
            (
                "kind",
                "((kind)::text = ANY ((ARRAY['a, b'::character varying, 'c]'::character varying])::text[]))",
                Some(r#"["a, b","c]"]"#),
            ),
            (
                "kind",
                "((kind)::text = ANY (ARRAY[('x'::character varying)::text, ('y'::character varying)::text]))",
                Some(r#"["x","y"]"#),
            ),
            ("\"Prio\"", "(\"Prio\" = ANY (ARRAY[1, 2, 30]))", Some("[1,2,30]")),
            ("p", "((p IS NULL) OR (p = ANY (ARRAY[1, 2])))", Some("[1,2]")),
            ("VALUE", "(VALUE = ANY (ARRAY['EUR'::bpchar, 'USD'::bpchar]))", Some(r#"["EUR","USD"]"#)),
            ("n", "(n = ANY (ARRAY[1.5, 2.25]))", Some("[1.5,2.25]")),
            ("p", "(p > 0)", None),
            ("p", "(p <> ALL (ARRAY[1, 2]))", None),
            ("p", "(q = ANY (ARRAY[1, 2]))", None),
            ("p", "((p = ANY (ARRAY[1, 2])) AND (p > 1))", None),
            ("p", "(NOT (p = ANY (ARRAY[1, 2])))", None),
            ("p", "(p = ANY (ARRAY[f(1), 2]))", None),
            ("p", "(p = ANY (ARRAY[", None),
            ("p", "(p = ANY (ARRAY[E'a\\\\b'::text]))", None),
            ("status", "(lower(status) = ANY (ARRAY['a'::text]))", None),
        ] {
            let told = listed_values(&format!("other\u{1}(other > 0)\u{2}{column}\u{1}{expression}"));
            assert_eq!(told.as_deref(), expected, "{expression}");
        }
    }
}
