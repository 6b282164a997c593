//! Hints for operators and functions that these types do not have.

/// Returns a hint for types without an operator or function: `text + integer`, `round(double precision, integer)`.
pub(super) fn operator(message: &str) -> Option<String> {
    if let Some((_, types)) = message.split_once(": ") {
        let pieces: Vec<&str> = types.split(' ').collect();
        let at = pieces.iter().position(|piece| piece.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c)))?;
        let (left, right) = (pieces.get(..at)?.join(" "), pieces.get(at + 1..)?.join(" "));
        return beside(&left, pieces.get(at)?, &right);
    }
    let (before, types) = message.split_once('(')?;
    let name = before.rsplit([' ', '.']).next()?;
    let (first, _) = types.split_once([',', ')'])?;
    match name {
        "round" => Some("round(value::numeric, 2) takes a number of digits".to_owned()),
        "sum" | "avg" if first == "boolean" => Some("count(*) FILTER (WHERE value) counts what is true".to_owned()),
        "trunc" if first == "date" || first.starts_with("timestamp") => {
            Some("date_trunc('day', value) cuts a time".to_owned())
        }
        _ if OF_NUMBERS.contains(&name) && (is_text(first) || matches!(first, "json" | "jsonb" | "money")) => {
            Some(format!("{name} takes a number, and this is {first}: write {name}((value)::numeric)"))
        }
        "length" if first.ends_with("[]") => Some("cardinality(value) counts the elements of an array".to_owned()),
        _ if OF_TEXTS.contains(&name) && !is_text(first) && !first.ends_with("[]") => {
            Some(format!("{name} takes a text, and this is {first}: write value::text"))
        }
        "date_trunc" | "extract" | "date_part" | "age" if types.contains("char") || types.contains("text") => {
            Some(format!("{name} takes a time, and this is a text: write value::timestamp"))
        }
        _ => None,
    }
}

/// Functions whose first argument is a number.
const OF_NUMBERS: [&str; 12] =
    ["abs", "avg", "ceil", "floor", "mod", "power", "sqrt", "stddev", "sum", "trunc", "var_pop", "variance"];
/// Functions whose first argument is a text.
const OF_TEXTS: [&str; 18] = [
    "btrim",
    "char_length",
    "initcap",
    "left",
    "length",
    "lower",
    "lpad",
    "ltrim",
    "regexp_replace",
    "replace",
    "right",
    "rpad",
    "rtrim",
    "split_part",
    "string_agg",
    "strpos",
    "substring",
    "upper",
];

fn is_text(of: &str) -> bool {
    matches!(of, "text" | "character varying" | "character" | "unknown" | "name")
}

fn is_number(of: &str) -> bool {
    matches!(of, "smallint" | "integer" | "bigint" | "numeric" | "real" | "double precision")
}

/// Returns a hint for an operator `sign` that does not exist for these types.
fn beside(left: &str, sign: &str, right: &str) -> Option<String> {
    let is_json = |of: &str| matches!(of, "json" | "jsonb");
    let is_day = |of: &str| of == "date" || of.starts_with("timestamp");
    let compares = matches!(sign, "=" | "<>" | "!=" | "<" | ">" | "<=" | ">=");
    Some(match sign {
        "+" if is_text(left) || is_text(right) => "texts are joined by ||: a || b".to_owned(),
        "||" => "|| joins texts, arrays and JSON: write value::text || …".to_owned(),
        "==" => "one = compares".to_owned(),
        "~~" | "!~~" | "~~*" | "!~~*" if is_text(left) => {
            format!(
                "LIKE takes a text as its pattern, and this is {right}: write it in single quotes, or pattern::text"
            )
        }
        "~~" | "!~~" | "~~*" | "!~~*" => {
            format!("LIKE takes a text, and the value is {left}: write value::text LIKE …")
        }
        "=" | "<>" if left == "boolean" || right == "boolean" => {
            "compare a boolean with true or false, or use it as it is".to_owned()
        }
        _ if is_json(left) && is_number(right) => {
            format!("->> takes a member out of JSON as a text, which can be cast: (value ->> 'key')::{right}")
        }
        "+" | "-" if is_day(left) && is_number(right) => {
            "days are added to a time as an interval: value + interval '1 day'; to a date as a whole number: \
             a_date + value::integer"
                .to_owned()
        }
        _ if is_day(left) && is_number(right) => {
            "a date stands in single quotes: '2026-01-31'; to_timestamp(seconds) makes a time of seconds since 1970"
                .to_owned()
        }
        _ if is_day(left) && right == "interval" => {
            "a text beside a time or an interval is read as another of the same type: cast it, as in now() - \
             value::interval, or value::date + interval '1 day'"
                .to_owned()
        }
        _ if compares && right == "interval" && is_number(left) => {
            "the difference of two dates is a number of days: compare it with a number".to_owned()
        }
        _ if sign.starts_with("->") && is_text(left) => {
            format!("the left side of {sign} is {left}: write value::jsonb")
        }
        _ if sign.starts_with("->") && !is_json(left) => {
            format!("the left side of {sign} is {left}, and no JSON: a part of a row is (column).part")
        }
        // It is unclear which of the two types has to change.
        _ if left.is_empty() || left == right => return None,
        _ if left == "name" => {
            format!(
                "the left side of {sign} is a name, as `user` without quotes is: a column of that name is written \"user\""
            )
        }
        // A cast to `character` would cut the number to its first digit.
        _ if compares && ((is_text(left) && is_number(right)) || (is_number(left) && is_text(right))) => {
            format!(
                "the left side of {sign} is {left}, the right side {right}: to compare numbers write (a_text)::numeric, \
                 to compare texts put the number in single quotes"
            )
        }
        _ if is_text(left) || is_text(right) => return None,
        _ => format!("the left side of {sign} is {left}, the right side {right}: cast one, as in value::{left}"),
    })
}
