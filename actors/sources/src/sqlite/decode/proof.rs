//! What a statement proves about its columns. The engine reports a column's table even if an outer join, an
//! aggregate or another arm of a UNION replaces its values. A keyword can only be written with its letters: a word
//! that does not occur in the text is not in the statement. The presence of a word proves nothing, since the text
//! would have to be parsed as the engine does.

use rusqlite::Connection;

/// What holds for every column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// A column that is never NULL in its table is never NULL in the result.
    pub(crate) keeps_nulls_out: bool,
    /// Every value of a column is one of the column that the engine names, or NULL.
    pub(crate) has_one_source: bool,
}

/// Words that combine queries.
const COMPOUND: [&str; 3] = ["union", "intersect", "except"];
/// Words of joins that put NULL where they find no row.
const OUTER: [&str; 4] = ["left", "right", "full", "outer"];
/// Functions that may return a row for no rows, including those with a plain variant of the same name.
const AGGREGATES: [&str; 12] = [
    "avg",
    "count",
    "group_concat",
    "json_group_array",
    "json_group_object",
    "jsonb_group_array",
    "jsonb_group_object",
    "max",
    "min",
    "string_agg",
    "sum",
    "total",
];

impl Proof {
    /// Of the statement `text`, in a database where these are the names of the views and their texts.
    fn new(text: &str, views: &[(String, String)]) -> Self {
        let words = Words::new(text);
        let selects = words.count("select");
        // After these a single SELECT may be a scalar value, which is NULL if there is no row.
        let is_value = selects > 0 && (words.any(&["values"]) || words.any(&["returning"]));
        let seen = seen(&words, views);
        let is_compound = |words: &Words| words.any(&COMPOUND) || (words.count("select") > 0 && words.any(&["values"]));
        let compound = is_compound(&words);
        let joins_or_calls = words.any(&OUTER) || words.any(&AGGREGATES);
        Self {
            keeps_nulls_out: selects <= 1 && !is_value && !compound && seen.is_empty() && !joins_or_calls,
            has_one_source: !compound && !seen.iter().any(is_compound),
        }
    }

    /// Reads a statement on `connection`; nothing is proven if its views cannot be read.
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

/// The words of a text in lower case, including those in strings, comments and quotes.
struct Words(Vec<String>);

impl Words {
    /// Splits into words of letters, digits, `_`, `$` and non-ASCII characters. Digits do not start a word, since
    /// `?1union` is a parameter and a keyword; nor does a byte order mark, which the engine takes for a space.
    fn new(text: &str) -> Self {
        let in_word = |each: char| each.is_ascii_alphanumeric() || each == '_' || each == '$' || !each.is_ascii();
        let is_before = |each: char| each.is_ascii_digit() || each == '\u{feff}';
        let words = text.split(|each| !in_word(each)).map(|word| word.trim_start_matches(is_before));
        Self(words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect())
    }

    fn any(&self, wanted: &[&str]) -> bool {
        self.0.iter().any(|word| wanted.contains(&word.as_str()))
    }

    fn count(&self, wanted: &str) -> usize {
        self.0.iter().filter(|word| *word == wanted).count()
    }
}

/// Returns the texts of the views that the text of `words` may name, and of those that they name.
fn seen(words: &Words, views: &[(String, String)]) -> Vec<Words> {
    let mut left: Vec<(Words, &str)> = views.iter().map(|(name, text)| (Words::new(name), text.as_str())).collect();
    let mut seen: Vec<Words> = Vec::new();
    let mut at = 0;
    loop {
        let words = if at == 0 { Some(words) } else { seen.get(at - 1) };
        let Some(words) = words else { return seen };
        let mut found = Vec::new();
        left.retain(|(name, text)| {
            // A name of several words is quoted, and all of its words are in the quotes.
            let is_named = name.0.iter().all(|word| words.any(&[word]));
            if is_named {
                found.push(Words::new(text));
            }
            !is_named
        });
        seen.extend(found);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_forms_prove_something() {
        let views = [("v".to_owned(), "CREATE VIEW v AS SELECT id FROM t".to_owned())];
        let joined = [("w".to_owned(), "CREATE VIEW w AS SELECT id FROM t UNION ALL SELECT 1".to_owned())];
        let odd = [("1 a\"é".to_owned(), "CREATE VIEW o AS VALUES ((SELECT id FROM t)), (5)".to_owned())];
        for (text, keeps, one) in [
            ("SELECT id FROM t WHERE id IN (1, 2) AND (name = 'leftover' OR upper(name) = ?1)", true, true),
            ("SELECT t.id, left_over, discount FROM t JOIN u ON (t.id = u.id) ORDER BY 1", true, true),
            ("INSERT INTO t (id) VALUES (1) RETURNING id", true, true),
            ("UPDATE t SET n = 1 RETURNING id", true, true),
            ("SELECT id FROM t WHERE name = 'union'", false, false),
            ("SELECT id, max(n) FROM t GROUP BY id", false, true),
            ("SELECT id, max(n) FROM t", false, true),
            ("SELECT id, \"max\"(n) FROM t", false, true),
            ("SELECT id, sum(max(n)) OVER (ORDER BY max(n) ROWS 1 PRECEDING EXCLUDE GROUP) FROM t", false, true),
            ("SELECT u.id FROM t LEFT JOIN u ON t.id = u.id", false, true),
            ("SELECT u.id FROM t WHERE ?1left", false, true),
            ("SELECT (SELECT id FROM t)", false, true),
            ("SELECT id FROM t UNION ALL SELECT n FROM t", false, false),
            ("SELECT id FROM t \u{feff}UNION ALL SELECT n FROM t", false, false),
            ("SELECT ?1union ALL SELECT n FROM t", false, false),
            ("VALUES ((SELECT id FROM t WHERE 0))", false, false),
            ("VALUES ((SELECT id FROM t)), (5)", false, false),
            ("INSERT INTO t (n) VALUES (3) RETURNING (SELECT id FROM t WHERE 0)", false, false),
            ("UPDATE t SET n = 1 RETURNING (SELECT a FROM u WHERE 0)", false, true),
            ("WITH c AS (SELECT id FROM t) SELECT id FROM c", false, true),
            ("SELECT id FROM \"V\"", false, true),
            ("SELECT id FROM 'v'", false, true),
            ("SELECT id FROM \"1 a\"\"é\"", false, false),
        ] {
            let views = [views.as_slice(), odd.as_slice()].concat();
            assert_eq!(Proof::new(text, &views), Proof { keeps_nulls_out: keeps, has_one_source: one }, "{text}");
        }
        assert!(!Proof::new("SELECT id FROM [w]", &joined).has_one_source);
        let both = [joined.clone(), [("x".to_owned(), "CREATE VIEW x AS SELECT * FROM w".to_owned())]].concat();
        assert!(!Proof::new("SELECT id FROM X", &both).has_one_source);
        assert!(Proof::new("SELECT id FROM v", &[views, joined].concat()).has_one_source);
        // A name without a word may be written wherever.
        let nameless = [("+".to_owned(), "CREATE VIEW \"+\" AS SELECT id FROM t UNION SELECT 1".to_owned())];
        assert!(!Proof::new("SELECT id FROM t", &nameless).has_one_source);
    }

    #[test]
    fn each_aggregate_of_the_engine_is_known() {
        // These look at the rows that there are.
        const WINDOW: [&str; 11] = [
            "cume_dist",
            "dense_rank",
            "first_value",
            "lag",
            "last_value",
            "lead",
            "nth_value",
            "ntile",
            "percent_rank",
            "rank",
            "row_number",
        ];
        let engine = Connection::open_in_memory().unwrap();
        let query = "SELECT DISTINCT name FROM pragma_function_list WHERE type <> 's'";
        let mut statement = engine.prepare(query).unwrap();
        let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(names.len() > 15, "{names:?}");
        for name in names {
            assert!(AGGREGATES.contains(&name.as_str()) || WINDOW.contains(&name.as_str()), "{name}");
        }
    }
}
