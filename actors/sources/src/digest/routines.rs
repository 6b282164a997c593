//! Routines in a line each.

use std::fmt::Write;

use super::line::Style;
use super::words::one_line;
use crate::profile::{Direction, Procedure};
use portico_core::near;
use portico_sql::quoted;

/// Returns a procedure's signature: its parameters, which of them are optional, and its result.
pub fn signature(procedure: &Procedure, style: &Style<'_>) -> String {
    let name = quoted(&procedure.name);
    let mut line = if style.default_schema == Some(&procedure.schema) {
        name.into_owned()
    } else {
        format!("{}.{name}", quoted(&procedure.schema))
    };
    let (mut given, mut returned) = (Vec::new(), Vec::new());
    for parameter in &procedure.parameters {
        let mut told = format!("{} {}", parameter.name, parameter.type_name).trim().to_owned();
        match parameter.direction {
            Direction::In | Direction::InOut => {
                if parameter.optional {
                    let _ = write!(told, " = {}", parameter.default.as_deref().unwrap_or("default"));
                }
                given.push(told);
            }
            Direction::Return if parameter.name == "returnValue" => returned.push(parameter.type_name.clone()),
            Direction::Out | Direction::Return => returned.push(told),
        }
    }
    let _ = write!(line, "({})", given.join(", "));
    if !returned.is_empty() {
        let _ = write!(line, " → {}", returned.join(", "));
    }
    if let Some(remarks) = &procedure.remarks {
        let _ = write!(line, ": {}", one_line(remarks));
    }
    line
}

/// A hint that offers the qualified names in `known` that are most like one that was not found.
pub(crate) fn did_you_mean(schema: Option<&str>, name: &str, known: &[(&str, &str)]) -> Option<String> {
    let near = near::nearest_qualified(schema, name, known).into_iter();
    let names: Vec<String> = near.map(|(schema, name)| format!("{}.{}", quoted(schema), quoted(name))).collect();
    near::did_you_mean(&names)
}

/// Lines within `most` bytes, and how many there are beyond.
pub fn write_list(text: &mut String, lines: impl ExactSizeIterator<Item = String>, most: usize, more: &str) {
    let (end, mut left) = (text.len() + most, lines.len());
    for line in lines {
        if text.len() + line.len() > end {
            let colon = if more.is_empty() { "" } else { ": " };
            let _ = writeln!(text, "- … and {left} more{colon}{more}");
            return;
        }
        text.push_str(&line);
        text.push('\n');
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_with_how_many_are_missing() {
        let mut text = String::new();
        write_list(&mut text, (0..100).map(|n| format!("- {n}")).collect::<Vec<_>>().into_iter(), 25, "look there");
        assert_eq!(text, "- 0\n- 1\n- 2\n- 3\n- 4\n- 5\n- … and 94 more: look there\n");
    }
}
