//! Finds the relations that a statement lists, and their aliases: for the texts of errors only, never to decide on
//! access.

use crate::dialect::Dialect;
use crate::lexing::lexer;
use crate::lexing::token::{Kind, Token, identifier, words};

/// A relation of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRelation {
    /// Its schema, where the statement says it.
    pub schema: Option<String>,
    /// Its name, in small letters where it was not quoted.
    pub name: String,
    /// The qualifier of its columns: its alias, or its name, as written.
    pub written: String,
}

/// The words in front of a relation, besides a comma.
const BEFORE: &[&str] = &["FROM", "JOIN", "UPDATE", "INTO", "USING", "ONLY"];
/// Words that may follow a relation and are not an alias.
const NO_ALIAS: &[&str] = &[
    "CROSS",
    "DEFAULT",
    "EXCEPT",
    "FETCH",
    "FOR",
    "FULL",
    "GROUP",
    "HAVING",
    "INNER",
    "INTERSECT",
    "JOIN",
    "LEFT",
    "LIMIT",
    "NATURAL",
    "OFFSET",
    "ON",
    "ORDER",
    "OUTER",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SET",
    "TABLESAMPLE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// The relations of `text`, each once, in their order.
pub fn listed_relations(text: &str, dialect: Dialect) -> Vec<ListedRelation> {
    let tokens = lexer::tokens(text, dialect);
    let words = words(&tokens);
    let mut found: Vec<ListedRelation> = Vec::new();
    let mut at = 0;
    while let Some(token) = words.get(at) {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let is_listed = before
            .is_some_and(|before| before.is_any(text, BEFORE) || (before.kind == Kind::Comma && token.in_relations));
        if !is_listed || !token.is_name() || token.is_any(text, &["ONLY", "SELECT", "LATERAL"]) {
            at += 1;
            continue;
        }
        let mut parts = vec![*token];
        at += 1;
        while let [dot, part, ..] = words.get(at..).unwrap_or_default()
            && dot.kind == Kind::Dot
            && part.is_name()
        {
            parts.push(*part);
            at += 2;
        }
        // A function call is not a relation of the catalogue.
        if words.get(at).is_some_and(|next| next.text(text) == "(")
            && !before.is_some_and(|before| before.is_word(text, "INTO"))
        {
            continue;
        }
        let relation = named(text, &parts, words.get(at..).unwrap_or_default());
        if !found.contains(&relation) {
            found.push(relation);
        }
    }
    found
}

fn named(text: &str, parts: &[Token], behind: &[Token]) -> ListedRelation {
    let part = |token: &Token| identifier(token.text(text)).into_owned();
    let behind = match behind {
        [first, rest @ ..] if first.is_word(text, "AS") => rest,
        other => other,
    };
    let alias = behind.first().filter(|token| token.is_name() && !token.is_any(text, NO_ALIAS));
    let written = alias.or(parts.last()).map_or("", |token| token.text(text)).to_owned();
    let schema = parts.len().checked_sub(2).and_then(|at| parts.get(at)).map(part);
    ListedRelation { schema, name: parts.last().map(part).unwrap_or_default(), written }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Option<String>, String, String)> {
        let all = listed_relations(text, Dialect::POSTGRESQL).into_iter();
        all.map(|relation| (relation.schema, relation.name, relation.written)).collect()
    }

    #[test]
    fn relations_are_found_with_the_names_that_columns_stand_behind() {
        let of = |schema: Option<&str>, name: &str, written: &str| {
            (schema.map(str::to_owned), name.to_owned(), written.to_owned())
        };
        assert_eq!(
            found("SELECT a FROM public.Orders AS o JOIN \"Customer Notes\" n ON o.id = n.id, x LEFT JOIN y ON true"),
            [
                of(Some("public"), "orders", "o"),
                of(None, "Customer Notes", "n"),
                of(None, "x", "x"),
                of(None, "y", "y")
            ]
        );
        assert_eq!(found("UPDATE orders SET a = 1 WHERE b"), [of(None, "orders", "orders")]);
        assert_eq!(found("INSERT INTO orders (a, b) VALUES (1, 2)"), [of(None, "orders", "orders")]);
        assert_eq!(
            found("DELETE FROM orders o USING lines l WHERE o.id = l.id"),
            [of(None, "orders", "o"), of(None, "lines", "l")]
        );
        assert_eq!(found("SELECT * FROM (SELECT id FROM inner_one) s"), [of(None, "inner_one", "inner_one")]);
        assert_eq!(
            found("SELECT extract(year FROM placed), a FROM generate_series(1, 2)"),
            [of(None, "placed", "placed")]
        );
        assert_eq!(found("SELECT 1"), []);
    }
}
