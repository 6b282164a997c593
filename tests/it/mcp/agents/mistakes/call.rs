//! A mistake, and what code makes of it from the words of the failure.

use serde_json::{Value, json};

/// A call of a tool.
#[derive(Clone, Debug)]
pub(super) struct Call(pub(super) &'static str, pub(super) Value);

/// A mistake, and what code makes of it and of the failure's words.
pub(super) struct Mistake {
    pub(super) name: &'static str,
    pub(super) call: Call,
    pub(super) mend: fn(&str, &Call) -> Option<Call>,
}

/// What stands between two pieces of a text.
pub(super) fn between<'t>(text: &'t str, before: &str, behind: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(behind).map_or(rest, |(piece, _)| piece).trim())
}

/// The first name that is offered.
pub(super) fn near(told: &str) -> Option<&str> {
    Some(between(told, "did you mean ", "?")?.split(", ").next()?.trim())
}

#[expect(clippy::unnecessary_wraps, reason = "it ends what may find nothing in a failure's words")]
/// The same call with another text in the place of its statement.
pub(super) fn with(call: &Call, query: impl Into<String>) -> Option<Call> {
    let mut arguments = call.1.clone();
    arguments["query"] = Value::from(query.into());
    Some(Call(call.0, arguments))
}

pub(super) fn query(call: &Call) -> &str {
    call.1["query"].as_str().unwrap_or_default()
}

/// The name that is said to be missing, as the statement has it: what the failure quotes, or what stands at its position.
pub(super) fn at_position(told: &str, call: &Call) -> Option<String> {
    let position: usize = between(told, "Position: ", "\n")?.parse().ok()?;
    let rest: String = query(call).chars().skip(position - 1).collect();
    if let Some(quoted) = rest.strip_prefix('"') {
        return Some(format!("\"{}\"", quoted.split_once('"')?.0));
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Puts what is offered in the place of what is at the position.
pub(super) fn replace_near(told: &str, call: &Call) -> Option<Call> {
    let missing = at_position(told, call)?;
    with(call, query(call).replacen(&missing, near(told)?, 1))
}

/// Puts the words behind "write" in the place of a function's call, with its first argument for what they leave open.
pub(super) fn replace_function(told: &str, call: &Call) -> Option<Call> {
    let name = between(told, "Hint: ", " is not known here")?;
    let instead = between(told, "write ", "\n")?.split(", which").next()?;
    let text = query(call);
    let start = text.to_uppercase().find(&format!("{name}("))?;
    let inside = between(&text[start..], "(", ")")?;
    let arguments: Vec<&str> = inside.split(',').map(str::trim).collect();
    let mut filled = instead.to_owned();
    for open in ["a_date", "a_time"] {
        let given = arguments.iter().find(|given| given.contains("placed") || given.contains("sent"));
        filled = filled.replace(open, given.unwrap_or(&""));
    }
    if let Some(open) = between(&filled, "COALESCE(", ")").map(str::to_owned).filter(|open| open == "a, b") {
        filled = filled.replace(&open, inside);
    }
    if let Some(open) = between(&filled, "ifnull(", ")").map(str::to_owned).filter(|open| open == "a, b") {
        filled = filled.replace(&open, inside);
    }
    let end = start + name.len() + inside.len() + 2;
    with(call, format!("{}{filled}{}", &text[..start], &text[end..]))
}

/// Leaves TOP out and puts the LIMIT that is told at the end.
pub(super) fn top(told: &str, call: &Call) -> Option<Call> {
    let limit = between(told, "write LIMIT ", " at the end")?;
    with(call, format!("{} LIMIT {limit}", query(call).replacen(&format!("TOP {limit} "), "", 1)))
}

pub(super) fn limit_pair(told: &str, call: &Call) -> Option<Call> {
    let (before, _) = query(call).split_once("LIMIT")?;
    with(call, format!("{before}{}", between(told, "write ", "\n")?))
}

pub(super) fn use_tool(told: &str, call: &Call) -> Option<Call> {
    let name = between(told, "Hint: use ", "\n")?;
    let known = ["execute_select", "execute_insert", "execute_update", "execute_sql", "execute_procedure"];
    Some(Call(known.into_iter().find(|known| *known == name)?, call.1.clone()))
}

pub(super) fn select(query: &str) -> Call {
    Call("execute_select", json!({"query": query}))
}
