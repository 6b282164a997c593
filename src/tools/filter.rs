//! The query parameters of an MCP address (`docs/mcp.md`): `tools` and `ops`, which filter `tools/list`, and
//! `structured`, which selects the form of results.

use portico_actors::error::{Error, Result};
use portico_actors::near;

use super::kind::{OPERATIONS, Operation, TYPES, Type};

/// Which tools are listed (absent lists filter nothing), and the form of results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    types: Option<Vec<Type>>,
    operations: Option<Vec<Operation>>,
    structured: Structured,
}

/// Whether a tool's result is sent as `structuredContent` beside its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Structured {
    /// Unless the client is known to show a model both.
    #[default]
    Auto,
    /// To every client.
    Always,
    /// Never.
    Never,
}

const STRUCTURED: [(&str, Structured); 3] =
    [("auto", Structured::Auto), ("always", Structured::Always), ("never", Structured::Never)];

impl Filter {
    /// Reads decoded query parameters. Of several with one name the first counts; nothing is trimmed or folded.
    ///
    /// # Errors
    /// An empty value, an empty element or an unknown word, naming parameter and value.
    pub fn from_query<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let (mut types, mut operations, mut structured) = (None, None, None);
        for (name, value) in parameters {
            match name {
                "tools" if types.is_none() => types = Some(read_list(name, value, &TYPES)?),
                "ops" if operations.is_none() => operations = Some(read_list(name, value, &OPERATIONS)?),
                "structured" if structured.is_none() => structured = Some(read_word(name, value, &STRUCTURED)?),
                _ => {}
            }
        }
        Ok(Self { types, operations, structured: structured.unwrap_or_default() })
    }

    /// Returns the form of results.
    pub fn structured(&self) -> Structured {
        self.structured
    }

    /// Whether it names the tools that are made from the source.
    pub(super) fn asks_for_source(&self) -> bool {
        self.types.as_ref().is_some_and(|types| types.contains(&Type::Source))
    }

    pub(super) fn passes(&self, kind: Type, operation: Operation) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&kind))
            && self.operations.as_ref().is_none_or(|operations| operations.contains(&operation))
    }
}

fn read_list<T: Copy>(parameter: &str, value: &str, known: &[(&str, T)]) -> Result<Vec<T>> {
    value.split(',').map(|word| meaning(parameter, value, word, known, "give a comma-separated list of")).collect()
}

fn read_word<T: Copy>(parameter: &str, value: &str, known: &[(&str, T)]) -> Result<T> {
    meaning(parameter, value, value, known, "give one of")
}

/// Returns the meaning of `word` of `value`.
fn meaning<T: Copy>(parameter: &str, value: &str, word: &str, known: &[(&str, T)], takes: &str) -> Result<T> {
    known.iter().find(|(name, _)| *name == word).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let error = Error::invalid(if word.is_empty() {
            format!("query parameter {parameter}: {value:?} has an empty element")
        } else {
            format!("query parameter {parameter}: {word:?} is not a known word (in {value:?})")
        });
        error.hint(near::suggestion_or_list(word, &format!("{takes}: "), &names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_occurrence_counts_and_nothing_is_trimmed() {
        let filter = Filter::from_query([("tools", "sql,source"), ("tools", "nonsense"), ("other", "")]).unwrap();
        assert!(filter.passes(Type::Sql, Operation::ExecuteSql));
        assert!(!filter.passes(Type::Universal, Operation::GetTables));
        for (name, value) in [
            ("tools", ""),
            ("tools", "sql,"),
            ("tools", "sql, source"),
            ("tools", "SQL"),
            ("ops", "get_table"),
            ("structured", ""),
            ("structured", "Auto"),
            ("structured", "auto,never"),
        ] {
            let error = Filter::from_query([(name, value)]).unwrap_err();
            assert!(error.message.contains(name) && error.message.contains(&format!("{value:?}")), "{}", error.message);
        }
    }
}
