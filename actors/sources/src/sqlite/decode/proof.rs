//! What a statement proves of its columns. The engine tells of a column which table's it is, also where
//! an outer join, an aggregate or another arm of a UNION puts something else in its place. Only what no
//! form of the statement can change is told.

use rusqlite::Connection;

use portico_sql::{Dialect, Kind, Token};

/// What holds for every column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// A column that never holds NULL in its table holds none in the result.
    pub(crate) keeps_nulls_out: bool,
    /// Every value of a column is one of the column that the engine names.
    pub(crate) has_one_source: bool,
}

const COMPOUND: [&str; 3] = ["union", "intersect", "except"];
const OUTER: [&str; 5] = ["left", "right", "full", "outer", "natural"];
/// Words that a parenthesis may follow without being called.
const NO_CALL: [&str; 18] = [
    "in", "values", "and", "or", "not", "from", "where", "on", "using", "select", "distinct", "by", "as", "having",
    "limit", "offset", "case", "when",
];

impl Proof {
    /// Of the statement `text`, in a database where these are the names of the views and their texts.
    fn new(text: &str, views: &[(String, String)]) -> Self {
        let tokens: Vec<Token> = words(text).collect();
        let has = |words: &[&str]| tokens.iter().any(|token| token.is_any(text, words));
        let selects = tokens.iter().filter(|token| token.is_word(text, "select")).count();
        // What is called may be an aggregate, which makes a row of none.
        let calls = tokens.windows(2).any(|pair| match pair {
            [name, open] => open.kind == Kind::Open && name.is_name() && !name.is_any(text, &NO_CALL),
            _ => false,
        });
        let seen = seen(text, views);
        let is_compound = |text: &str| words(text).any(|word| word.is_any(text, &COMPOUND));
        let compound = has(&COMPOUND);
        let groups = selects == 0 || has(&["group"]);
        Self {
            keeps_nulls_out: selects <= 1 && !compound && seen.is_empty() && !has(&OUTER) && (groups || !calls),
            has_one_source: !compound && !seen.into_iter().any(is_compound),
        }
    }

    /// Of a statement on `connection`; nothing is proven where its views cannot be read.
    pub(crate) fn read(connection: &Connection, text: &str) -> Self {
        let views = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut views = connection.prepare_cached(
                "SELECT name, coalesce(sql, '') FROM main.sqlite_schema WHERE type = 'view'
                 UNION ALL SELECT name, coalesce(sql, '') FROM temp.sqlite_schema WHERE type = 'view'",
            )?;
            let rows = views.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let nothing = Self { keeps_nulls_out: false, has_one_source: false };
        views().map_or(nothing, |views| Self::new(text, &views))
    }
}

fn words(text: &str) -> impl Iterator<Item = Token> {
    portico_sql::tokens(text, Dialect::SQLITE).into_iter().filter(|token| token.kind != Kind::Blank)
}

/// The texts of the views that `text` may name, and of those that they name.
fn seen<'a>(text: &str, views: &'a [(String, String)]) -> Vec<&'a str> {
    let mut left: Vec<&'a (String, String)> = views.iter().collect();
    let mut seen: Vec<&'a str> = Vec::new();
    let mut at = 0;
    let mut next = if left.is_empty() { None } else { Some(text) };
    while let Some(text) = next {
        for name in words(text).filter_map(|word| word.name(text)) {
            left.retain(|(view, text)| {
                let is_named = view.eq_ignore_ascii_case(&name);
                if is_named {
                    seen.push(text);
                }
                !is_named
            });
        }
        next = seen.get(at).copied();
        at += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_forms_prove_something() {
        let views = [("v".to_owned(), "CREATE VIEW v AS SELECT id FROM t".to_owned())];
        let joined = [("w".to_owned(), "CREATE VIEW w AS SELECT id FROM t UNION ALL SELECT 1".to_owned())];
        for (text, keeps, one) in [
            ("SELECT id FROM t WHERE id IN (1, 2) AND (name = 'left (union') -- union", true, true),
            ("SELECT t.id FROM t JOIN u ON (t.id = u.id)", true, true),
            ("INSERT INTO t (id) VALUES (1) RETURNING id", true, true),
            ("SELECT id, max(n) FROM t GROUP BY id", true, true),
            ("SELECT id, max(n) FROM t", false, true),
            ("SELECT id, \"max\"(n) FROM t", false, true),
            ("SELECT u.id FROM t LEFT JOIN u ON t.id = u.id", false, true),
            ("SELECT (SELECT id FROM t)", false, true),
            ("SELECT id FROM t UNION ALL SELECT n FROM t", false, false),
            ("WITH c AS (SELECT id FROM t) SELECT id FROM c", false, true),
            ("SELECT id FROM \"V\"", false, true),
        ] {
            assert_eq!(Proof::new(text, &views), Proof { keeps_nulls_out: keeps, has_one_source: one }, "{text}");
        }
        assert!(!Proof::new("SELECT id FROM [w]", &joined).has_one_source);
        let both = [joined.clone(), [("x".to_owned(), "CREATE VIEW x AS SELECT * FROM w".to_owned())]].concat();
        assert!(!Proof::new("SELECT id FROM X", &both).has_one_source);
        assert!(Proof::new("SELECT id FROM v", &[views, joined].concat()).has_one_source);
    }
}
