//! Statements that do more than their names show: they run a text as SQL, define code, change what
//! names mean, or name a relation by a value. Whoever relies on names has to refuse them.

use super::token::{self, Kind, Token};
use super::{Class, Dialect, Statement};

/// Functions of PostgreSQL that run a text as SQL, or change a setting. `crosstab` and its kin are
/// of the extension tablefunc, `set_user` of one of its own.
const TEXT_AS_SQL: &[&str] = &[
    "set_config",
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "ts_stat",
    "ts_rewrite",
    "crosstab",
    "crosstab2",
    "crosstab3",
    "crosstab4",
    "connectby",
    "xpath_table",
    "set_user",
    "reset_user",
];
/// Functions of PostgreSQL that read relations which a value names, or another database.
const NAME_AS_VALUE: &[&str] = &[
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "dblink",
    "dblink_exec",
    "dblink_open",
    "dblink_send_query",
];
/// Tables of SQLite that hold what is in all the others.
const WHOLE_FILE: &[&str] = &["dbstat", "sqlite_dbpage"];
/// What may be made and changed; everything else defines code, or roles.
const PLAIN_OBJECTS: &[&str] =
    &["TABLE", "INDEX", "VIEW", "SEQUENCE", "SCHEMA", "TYPE", "DOMAIN", "COLLATION", "STATISTICS", "POLICY"];
/// Words that stand between CREATE or ALTER and the kind of object.
const ADJECTIVES: &[&str] =
    &["OR", "REPLACE", "TEMP", "TEMPORARY", "UNLOGGED", "UNIQUE", "MATERIALIZED", "RECURSIVE", "LOCAL"];

/// What in `statement` runs a text as SQL, changes a setting or defines code: a function's name, or
/// the words that it begins with. A virtual table of SQLite counts too: its arguments are texts.
pub fn opaque(statement: &Statement, dialect: Dialect) -> Option<String> {
    let functions = match dialect {
        Dialect::PostgreSql => TEXT_AS_SQL,
        Dialect::Sqlite => &[],
    };
    named(statement, functions).or_else(|| defining(statement, dialect))
}

/// What in `statement` reads relations that it does not name.
pub fn reads_unnamed(statement: &Statement, dialect: Dialect) -> Option<String> {
    named(
        statement,
        match dialect {
            Dialect::PostgreSql => NAME_AS_VALUE,
            Dialect::Sqlite => WHOLE_FILE,
        },
    )
}

fn named(statement: &Statement, list: &[&str]) -> Option<String> {
    let mut parts = statement.names.iter().flat_map(|name| &name.parts);
    parts.find(|part| list.iter().any(|known| known.eq_ignore_ascii_case(part))).cloned()
}

fn defining(statement: &Statement, dialect: Dialect) -> Option<String> {
    if !matches!(statement.class, Class::Ddl | Class::Call) {
        return None;
    }
    let tokens = token::tokens(&statement.text, dialect);
    let mut words = tokens.iter().filter(|token| token.kind == Kind::Word).map(|token| upper(*token, &statement.text));
    let first = words.next()?;
    match first.as_str() {
        "DO" | "IMPORT" | "REASSIGN" | "SECURITY" => Some(first),
        "CREATE" | "ALTER" => {
            let kind = words.find(|word| !ADJECTIVES.contains(&word.as_str())).unwrap_or_default();
            (!PLAIN_OBJECTS.contains(&kind.as_str())).then(|| format!("{first} {kind}"))
        }
        _ => None,
    }
}

fn upper(token: Token, text: &str) -> String {
    token.text(text).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Naming, statements};

    fn found(text: &str, dialect: Dialect, judge: fn(&Statement, Dialect) -> Option<String>) -> Option<String> {
        let naming = Naming { connection: "shop", others: &[] };
        statements(text, dialect, naming).unwrap().iter().find_map(|statement| judge(statement, dialect))
    }

    #[test]
    fn what_runs_a_text_or_defines_code_is_found() {
        for (text, expected) in [
            ("SELECT Query_To_Xml('SELECT 1', true, true, '')", "query_to_xml"),
            ("SELECT * FROM pg_catalog.ts_stat('SELECT v FROM t')", "ts_stat"),
            ("/* a /* b */ */ do $$ BEGIN END $$", "DO"),
            ("CREATE OR -- x\n REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE FUNCTION"),
            ("CREATE RULE r AS ON INSERT TO a DO ALSO DELETE FROM b", "CREATE RULE"),
        ] {
            assert_eq!(found(text, Dialect::PostgreSql, opaque).as_deref(), Some(expected), "{text}");
        }
        for (text, expected) in [
            ("CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b (x) VALUES (1); END", "CREATE TRIGGER"),
            ("/* /* */ CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END", "CREATE TRIGGER"),
            ("CREATE VIRTUAL TABLE v USING fts5(a, content='b')", "CREATE VIRTUAL"),
        ] {
            assert_eq!(found(text, Dialect::Sqlite, opaque).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_names_a_relation_by_a_value_is_found() {
        for (text, dialect, expected) in [
            ("SELECT table_to_xml('t', true, true, '')", Dialect::PostgreSql, Some("table_to_xml")),
            ("SELECT 'table_to_xml'", Dialect::PostgreSql, None),
            ("SELECT name FROM dbstat", Dialect::Sqlite, Some("dbstat")),
            ("SELECT * FROM sqlite_dbpage('main')", Dialect::Sqlite, Some("sqlite_dbpage")),
            ("SELECT * FROM 'dbstat'", Dialect::Sqlite, Some("dbstat")),
        ] {
            assert_eq!(found(text, dialect, reads_unnamed).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_shows_its_names_passes() {
        for text in [
            "SELECT 'set_config' FROM t -- DO",
            "CREATE UNIQUE INDEX i ON t (a)",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "ALTER TABLE t ADD COLUMN b int",
            "DROP TABLE t",
            "INSERT INTO t VALUES (1)",
        ] {
            for dialect in [Dialect::PostgreSql, Dialect::Sqlite] {
                assert_eq!(found(text, dialect, opaque), None, "{text}");
            }
        }
    }
}
