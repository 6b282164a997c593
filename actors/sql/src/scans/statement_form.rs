//! Determines the form of a PostgreSQL statement, and the query in it: the server describes a query completely, but
//! not a statement that contains one. Only forms that are understood to the last word have a kind of their own.

use std::ops::Range;

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Kind, Token, words};

/// A statement as a whole. Ranges are bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementForm {
    /// SELECT, VALUES, TABLE, WITH, INSERT, UPDATE, DELETE, MERGE.
    Query,
    /// EXPLAIN of a query.
    Explain {
        /// The query.
        query: Range<usize>,
        /// Whether it runs.
        runs: bool,
        /// The range that names the table, in front of the query or in it, if the query fills a table.
        target: Option<Range<usize>>,
    },
    /// CREATE TABLE, VIEW or MATERIALIZED VIEW … AS a query.
    CreateAs {
        /// The range in front of the query.
        head: Range<usize>,
        /// The query.
        query: Range<usize>,
    },
    /// SELECT … INTO a table.
    SelectInto {
        /// The clause that names the table: without it the statement is a query.
        into: Range<usize>,
    },
    /// SHOW of one setting, by its name in small letters.
    Show(String),
    /// CALL.
    Call,
    /// A statement that defines, changes or removes plain objects, which it names one by one.
    Definition,
    /// Anything else; the word that it begins with.
    Other(String),
}

const QUERIES: &[&str] = &["SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"];
const EXPLAIN_OPTIONS: &[&str] = &[
    "ANALYZE",
    "ANALYSE",
    "VERBOSE",
    "COSTS",
    "SETTINGS",
    "GENERIC_PLAN",
    "BUFFERS",
    "WAL",
    "TIMING",
    "SUMMARY",
    "FORMAT",
    "MEMORY",
    "SERIALIZE",
];
const EXPLAIN_VALUES: &[&str] = &["TRUE", "FALSE", "ON", "OFF", "TEXT", "XML", "JSON", "YAML", "NONE", "BINARY"];
/// Objects that can be created, altered and dropped, as the words after the verb name them.
const PLAIN_OBJECTS: &[&[&str]] = &[
    &["TABLE"],
    &["INDEX"],
    &["UNIQUE", "INDEX"],
    &["VIEW"],
    &["MATERIALIZED", "VIEW"],
    &["SEQUENCE"],
    &["TYPE"],
    &["DOMAIN"],
    &["STATISTICS"],
    &["POLICY"],
    &["SCHEMA"],
];
const ADJECTIVES: &[&str] = &["OR", "REPLACE", "TEMP", "TEMPORARY", "UNLOGGED", "LOCAL", "GLOBAL"];
/// Objects on which no privileges may be granted: whole schemas, and objects that are not relations.
const NO_RELATIONS: &[&str] = &[
    "ALL",
    "DATABASE",
    "DOMAIN",
    "FOREIGN",
    "FUNCTION",
    "LANGUAGE",
    "LARGE",
    "PARAMETER",
    "PROCEDURE",
    "ROUTINE",
    "SCHEMA",
    "TABLESPACE",
    "TYPE",
];

/// Returns the form of `text`, one PostgreSQL statement, and the text to send if it differs: in a statement that is
/// not a query, comments become blanks, so that nothing is sent that was not read.
pub fn statement_form(text: &str) -> (StatementForm, Option<String>) {
    let found = kind(text);
    if matches!(found, StatementForm::Query | StatementForm::Other(_)) {
        return (found, None);
    }
    let tokens = tokens_at_source(text, Dialect::POSTGRESQL);
    if !tokens.iter().any(|token| token.is_comment(text)) {
        return (found, None);
    }
    let mut plain = String::with_capacity(text.len());
    for token in &tokens {
        let own = token.text(text);
        if token.is_comment(text) {
            // As many characters, so that positions stay true.
            plain.extend(own.chars().map(|each| if each == '\n' { '\n' } else { ' ' }));
        } else {
            plain.push_str(own);
        }
    }
    (kind(&plain), Some(plain))
}

fn kind(text: &str) -> StatementForm {
    let tokens = tokens_at_source(text, Dialect::POSTGRESQL);
    let words = words(&tokens);
    let Some(first) = words.iter().find(|word| word.kind != Kind::Open) else {
        return StatementForm::Other(String::new());
    };
    let reader = Reader { text, words: &words };
    let bare = words.first().is_some_and(|token| token.start == first.start);
    let other = || StatementForm::Other(first.text(text).to_ascii_uppercase());
    if first.is_any(text, QUERIES) {
        return reader.select_into().unwrap_or(StatementForm::Query);
    }
    if !bare {
        return other();
    }
    match first.text(text).to_ascii_uppercase().as_str() {
        "EXPLAIN" => reader.explain(),
        "SHOW" => reader.show(),
        "CALL" => Some(StatementForm::Call),
        "CREATE" => reader.create_as().or_else(|| reader.definition()),
        "ALTER" | "DROP" | "COMMENT" => reader.definition(),
        "TRUNCATE" | "ANALYZE" | "ANALYSE" | "LOCK" | "REFRESH" | "GRANT" | "REVOKE" => reader.named(),
        _ => None,
    }
    .unwrap_or_else(other)
}

struct Reader<'a> {
    text: &'a str,
    words: &'a [Token],
}

impl Reader<'_> {
    fn is(&self, at: usize, words: &[&str]) -> bool {
        self.words.get(at).is_some_and(|word| word.is_any(self.text, words))
    }

    fn sign(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.text(self.text))
    }

    fn begins_query(&self, at: usize) -> bool {
        let inner = (at..self.words.len()).find(|at| self.sign(*at) != "(");
        inner.is_some_and(|at| self.is(at, QUERIES))
    }

    /// Returns the index of `word` outside of parentheses, at `from` or after it.
    fn outside(&self, from: usize, word: &str) -> Option<usize> {
        let mut depth = 0_usize;
        (from..self.words.len()).find(|at| {
            match self.sign(*at) {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && self.is(*at, &[word])
        })
    }

    /// Returns the bytes of the words from `at` to the one before `end`.
    fn range(&self, at: usize, end: usize) -> Option<Range<usize>> {
        let last = end.checked_sub(1).and_then(|last| self.words.get(last))?;
        Some(self.words.get(at)?.start..last.end)
    }

    /// A query with INTO in front of a table to make.
    fn select_into(&self) -> Option<StatementForm> {
        if !self.begins_query(0) {
            return None;
        }
        let into = self.outside(0, "INTO")?;
        let before = into.checked_sub(1)?;
        if self.is(before, &["INSERT", "MERGE"]) || self.sign(before) == "." || self.is(before, &["AS"]) {
            return None;
        }
        let adjectives = &["TEMP", "TEMPORARY", "LOCAL", "GLOBAL", "UNLOGGED", "TABLE"];
        let name = (into + 1..self.words.len()).find(|at| !self.is(*at, adjectives))?;
        let mut end = name + 1;
        while self.sign(end) == "." {
            end += 2;
        }
        self.words.get(name).filter(|word| word.is_name())?;
        Some(StatementForm::SelectInto { into: self.range(into, end)? })
    }

    fn show(&self) -> Option<StatementForm> {
        let named = self.words.get(1..)?;
        let plain = named.iter().all(|word| matches!(word.kind, Kind::Word | Kind::Dot));
        let name: String = named.iter().map(|word| word.text(self.text).to_ascii_lowercase()).collect();
        // Of `SHOW TRANSACTION ISOLATION LEVEL` and `SHOW TIME ZONE` the words are one name.
        let name = if name == "transactionisolationlevel" { "transaction_isolation".to_owned() } else { name };
        (plain && !name.is_empty()).then_some(StatementForm::Show(name))
    }

    fn explain(&self) -> Option<StatementForm> {
        let mut at = 1;
        let mut runs = false;
        if self.sign(1) == "(" && self.is(2, EXPLAIN_OPTIONS) {
            at = 2;
            loop {
                if !self.is(at, EXPLAIN_OPTIONS) {
                    return None;
                }
                let analyses = self.is(at, &["ANALYZE", "ANALYSE"]);
                at += 1;
                let mut on = true;
                if self.is(at, EXPLAIN_VALUES) || matches!(self.sign(at), "0" | "1") {
                    on = !(self.is(at, &["FALSE", "OFF"]) || self.sign(at) == "0");
                    at += 1;
                }
                // The last one of a kind counts; either of them is enough for us.
                runs |= analyses && on;
                match self.sign(at) {
                    "," => at += 1,
                    ")" => break,
                    _ => return None,
                }
            }
            at += 1;
        } else {
            while self.is(at, &["ANALYZE", "ANALYSE", "VERBOSE"]) {
                runs |= !self.is(at, &["VERBOSE"]);
                at += 1;
            }
        }
        let explained = Reader { text: self.text, words: self.words.get(at..)? };
        let query = self.range(at, self.words.len())?;
        match explained.create_as().or_else(|| explained.select_into()) {
            // What it creates would have to be checked as well.
            Some(_) if runs => None,
            Some(StatementForm::CreateAs { head, query }) => {
                Some(StatementForm::Explain { query, runs, target: Some(head) })
            }
            Some(StatementForm::SelectInto { into }) => {
                Some(StatementForm::Explain { query, runs, target: Some(into) })
            }
            _ => explained.begins_query(0).then_some(StatementForm::Explain { query, runs, target: None }),
        }
    }

    fn create_as(&self) -> Option<StatementForm> {
        if !self.is(0, &["CREATE"]) {
            return None;
        }
        let kind = (1..self.words.len()).find(|at| !self.is(*at, ADJECTIVES))?;
        let made =
            self.is(kind, &["TABLE", "VIEW"]) || (self.is(kind, &["MATERIALIZED"]) && self.is(kind + 1, &["VIEW"]));
        if !made {
            return None;
        }
        let as_ = self.outside(kind, "AS")?;
        if !self.begins_query(as_ + 1) || self.reaches(0, as_) {
            return None;
        }
        let mut end = self.words.len();
        for tail in [
            &["WITH", "NO", "DATA"][..],
            &["WITH", "DATA"],
            &["WITH", "LOCAL", "CHECK", "OPTION"],
            &["WITH", "CASCADED", "CHECK", "OPTION"],
            &["WITH", "CHECK", "OPTION"],
        ] {
            let from = end.saturating_sub(tail.len());
            if tail.iter().enumerate().all(|(number, word)| self.is(from + number, &[word])) {
                end = from;
                break;
            }
        }
        Some(StatementForm::CreateAs { head: self.range(0, as_ + 1)?, query: self.range(as_ + 1, end)? })
    }

    fn definition(&self) -> Option<StatementForm> {
        let at = if self.is(0, &["COMMENT"]) {
            if !self.is(1, &["ON"]) {
                return None;
            }
            if self.is(2, &["COLUMN", "CONSTRAINT"]) && !self.reaches(0, self.words.len()) {
                return Some(StatementForm::Definition);
            }
            2
        } else {
            (1..self.words.len()).find(|at| !self.is(*at, ADJECTIVES))?
        };
        let plain = PLAIN_OBJECTS.iter().any(|kind| kind.iter().enumerate().all(|(n, word)| self.is(at + n, &[word])));
        // Lists may name things by their schema; a domain is checked in every table that has it.
        let elsewhere = self.is(0, &["ALTER"]) && (self.is(at, &["SCHEMA", "DOMAIN"]) || self.is(at + 1, &["ALL"]));
        // CREATE SCHEMA may contain statements of its own, and CREATE TABLE may run a prepared one.
        let holds = (at..self.words.len()).any(|at| self.is(at, &["CREATE", "GRANT", "AUTHORIZATION", "EXECUTE"]))
            && self.is(0, &["CREATE"]);
        (plain && !elsewhere && !holds && !self.reaches(0, self.words.len())).then_some(StatementForm::Definition)
    }

    /// A statement about relations that it has to name.
    fn named(&self) -> Option<StatementForm> {
        let names =
            self.words.iter().skip(1).any(|word| word.is_name() && !word.is_any(self.text, &["TABLE", "VERBOSE"]));
        let grants = self.is(0, &["GRANT", "REVOKE"]);
        let on = (1..self.words.len()).find(|at| self.is(*at, &["ON"]));
        let relations = on.is_some_and(|on| !self.is(on + 1, NO_RELATIONS));
        let fits = names && (!grants || relations);
        (fits && !self.reaches(0, self.words.len())).then_some(StatementForm::Definition)
    }

    /// Returns true if the statement affects more than it names, or changes an owner.
    fn reaches(&self, from: usize, to: usize) -> bool {
        (from..to).any(|at| match () {
            // That of a foreign key is a part of its definition.
            () if self.is(at, &["CASCADE"]) => !self.is(at.wrapping_sub(1), &["DELETE", "UPDATE"]),
            () => self.is(at, &["OWNER"]) && self.is(at + 1, &["TO"]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_found_in_the_statement_that_holds_it() {
        let query = |text: &str| match statement_form(text).0 {
            StatementForm::Explain { query, .. } | StatementForm::CreateAs { query, .. } => {
                text.get(query).map(str::to_owned)
            }
            _ => None,
        };
        for (text, expected) in [
            ("EXPLAIN SELECT 1", Some("SELECT 1")),
            ("explain analyze verbose (select 1)", Some("(select 1)")),
            ("EXPLAIN (ANALYZE false, FORMAT json) VALUES (1)", Some("VALUES (1)")),
            ("EXPLAIN (SELECT 1)", Some("(SELECT 1)")),
            ("EXPLAIN (ANALYZE, x) SELECT 1", None),
            ("EXPLAIN EXECUTE p", None),
            ("EXPLAIN CREATE TABLE t AS SELECT 1 WITH NO DATA", Some("SELECT 1")),
            ("EXPLAIN (COSTS off) CREATE MATERIALIZED VIEW t AS (SELECT 1)", Some("(SELECT 1)")),
            ("EXPLAIN SELECT 1 INTO t", Some("SELECT 1 INTO t")),
            ("EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", None),
            ("EXPLAIN ANALYZE SELECT 1 INTO t", None),
            ("EXPLAIN CREATE TABLE t AS EXECUTE p", None),
            ("EXPLAIN CREATE VIEW t AS SELECT 1", Some("SELECT 1")),
            ("EXPLAIN (COSTS 'off') SELECT 1", None),
            ("CREATE TABLE t AS SELECT 1 WITH NO DATA", Some("SELECT 1")),
            ("CREATE OR REPLACE VIEW v (a) AS (SELECT 1) WITH CHECK OPTION", Some("(SELECT 1)")),
            ("CREATE TEMP TABLE t AS EXECUTE p", None),
        ] {
            assert_eq!(query(text).as_deref(), expected, "{text}");
        }
        let (found, plain) = statement_form("/* é /* b */ */ explain analyze delete from t -- x");
        assert_eq!(found, StatementForm::Explain { query: 32..45, runs: true, target: None });
        assert_eq!(plain.as_deref(), Some("                explain analyze delete from t     "));
    }

    #[test]
    fn a_table_to_make_is_told_from_one_to_write_to() {
        let into = |text: &str| match statement_form(text).0 {
            StatementForm::SelectInto { into } => text.get(into).map(str::to_owned),
            _ => None,
        };
        for (text, expected) in [
            ("SELECT 1 AS a INTO TEMP TABLE s.\"t\" FROM u", Some("INTO TEMP TABLE s.\"t\"")),
            ("WITH x AS (SELECT 1) SELECT * INTO t FROM x", Some("INTO t")),
            ("INSERT INTO t SELECT 1", None),
            ("WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x", None),
            ("WITH x AS (SELECT 1) MERGE INTO t USING x ON true WHEN MATCHED THEN DELETE", None),
        ] {
            assert_eq!(into(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_reaches_beyond_its_names_has_no_kind() {
        for text in [
            "DROP TABLE t CASCADE",
            "DROP OWNED BY x",
            "ALTER SCHEMA s RENAME TO t",
            "ALTER DOMAIN d ADD CHECK (VALUE > 0)",
            "ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b",
            "CREATE SCHEMA s GRANT SELECT ON ALL TABLES IN SCHEMA t TO PUBLIC",
            "CREATE SCHEMA s CREATE VIEW v AS SELECT 1",
            "CREATE TABLE t AS EXECUTE s1(2)",
            "GRANT USAGE ON SCHEMA s TO r",
            "GRANT SELECT ON ALL TABLES IN SCHEMA s TO r",
            "GRANT a TO b",
            "ANALYZE",
            "TRUNCATE t CASCADE",
            "ALTER TABLE t OWNER TO x",
            "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO x",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE TRIGGER t BEFORE INSERT ON a EXECUTE FUNCTION f()",
            "COPY t TO STDOUT",
            "/* /* */ */ COPY t TO PROGRAM 'x'",
            "DO $$ $$",
            "VACUUM t",
            "(COPY t TO STDOUT)",
        ] {
            assert!(matches!(statement_form(text).0, StatementForm::Other(_)), "{text}");
        }
        for text in [
            "CREATE TABLE t (a int, owner text, b int REFERENCES u ON DELETE CASCADE)",
            "CREATE SEQUENCE s OWNED BY t.a",
            "CREATE UNIQUE INDEX ON t (a)",
            "ALTER TABLE t ADD COLUMN b int",
            "DROP VIEW v, w",
            "TRUNCATE t",
            "GRANT SELECT ON t TO r",
            "COMMENT ON COLUMN t.a IS 'x'",
            "ANALYZE t (a)",
        ] {
            assert_eq!(statement_form(text).0, StatementForm::Definition, "{text}");
        }
    }
}
