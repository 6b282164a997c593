//! The `tools` and `ops` query parameters, which narrow `tools/list` (`wire.md` §3).

use portico_actors::error::{Error, Result};
use portico_actors::near;

use super::kind::{OPERATIONS, Operation, TYPES, Type};

/// Which tools are listed; absent lists let everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    types: Option<Vec<Type>>,
    operations: Option<Vec<Operation>>,
}

impl Filter {
    /// Reads decoded query parameters. Of several with one name the first counts; nothing is
    /// trimmed or folded.
    ///
    /// # Errors
    /// An empty value, an empty element or an unknown word, naming parameter and value.
    pub fn from_query<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let (mut types, mut operations) = (None, None);
        for (name, value) in parameters {
            match name {
                "tools" if types.is_none() => types = Some(read_list(name, value, &TYPES)?),
                "ops" if operations.is_none() => operations = Some(read_list(name, value, &OPERATIONS)?),
                _ => {}
            }
        }
        Ok(Self { types, operations })
    }

    pub(super) fn passes(&self, kind: Type, operation: Operation) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&kind))
            && self.operations.as_ref().is_none_or(|operations| operations.contains(&operation))
    }
}

fn read_list<T: Copy>(parameter: &str, value: &str, known: &[(&str, T)]) -> Result<Vec<T>> {
    value
        .split(',')
        .map(|word| {
            known.iter().find(|(name, _)| *name == word).map(|(_, meaning)| *meaning).ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let error = Error::invalid(if word.is_empty() {
                    format!("query parameter {parameter}: {value:?} has an empty element")
                } else {
                    format!("query parameter {parameter}: {word:?} is not a word it knows (in {value:?})")
                });
                let hint = near::did_you_mean(&near::nearest(word, names.iter().copied()));
                error.hint(hint.unwrap_or_else(|| format!("a comma-separated list of: {}", names.join(", "))))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_occurrence_counts_and_nothing_is_trimmed() {
        let filter = Filter::from_query([("tools", "sql,source"), ("tools", "nonsense"), ("other", "")]).unwrap();
        assert!(filter.passes(Type::Sql, Operation::ExecuteSql));
        assert!(!filter.passes(Type::Universal, Operation::GetTables));
        for (name, value) in
            [("tools", ""), ("tools", "sql,"), ("tools", "sql, source"), ("tools", "SQL"), ("ops", "get_table")]
        {
            let error = Filter::from_query([(name, value)]).unwrap_err();
            assert!(error.message.contains(name) && error.message.contains(&format!("{value:?}")), "{}", error.message);
        }
    }
}
