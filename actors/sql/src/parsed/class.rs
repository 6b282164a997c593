//! Classifies statements: the leading words determine the kind, the effects refine queries and data changes.
//! Nothing is rewritten here.

use super::effects::Effects;
use crate::dialect::Dialect;
use crate::lexing::token::{Kind, Token};

/// The class of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Only reads: SELECT, VALUES, TABLE, SHOW, EXPLAIN of these. A function in it may still write; the database's
    /// read-only mode prevents that.
    Select,
    /// INSERT, and MERGE that only inserts.
    Insert,
    /// UPDATE, DELETE, any other MERGE, and a query with one of these in its WITH.
    Update,
    /// CALL and DO.
    Call,
    /// CREATE, ALTER, DROP, SELECT INTO and their kin.
    Ddl,
    /// BEGIN, COMMIT, SAVEPOINT …: never run for a caller, each call is its own transaction.
    Transaction,
    /// SET, PREPARE, LISTEN …: changes the session, which the next caller would inherit.
    Session,
    /// Any other statement, also one that could not be parsed.
    Other,
}

impl Class {
    /// Whether statements of this class only read.
    pub const fn reads_only(self) -> bool {
        matches!(self, Self::Select)
    }

    /// Returns the count of changed rows to report if the source does not count them: −1 if the statement returns
    /// rows or changes an unknown number of rows, 0 if it changes none.
    pub const fn uncounted(self, has_rows: bool) -> i64 {
        if has_rows || matches!(self, Self::Select | Self::Insert | Self::Update) { -1 } else { 0 }
    }

    /// One lower-case word for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Call => "call",
            Self::Ddl => "ddl",
            Self::Transaction => "transaction",
            Self::Session => "session",
            Self::Other => "other",
        }
    }
}

/// The class of a statement, and whether it is known to return rows.
pub(crate) fn classify(text: &str, words: &[Token], effects: Effects, dialect: Dialect) -> (Class, bool) {
    let words = skip_parentheses(words);
    let Some(first) = words.first() else { return (Class::Other, false) };
    let is = |word: &str| first.is_word(text, word);
    let second = |word: &str| words.get(1).is_some_and(|token| token.is_word(text, word));
    let class = match () {
        () if first.is_any(text, &["SELECT", "VALUES", "TABLE", "WITH"]) => {
            return (from_effects(effects), effects.rows && !effects.creates);
        }
        // INSERT … ON CONFLICT DO UPDATE and INSERT OR REPLACE still are INSERTs.
        () if first.is_any(text, &["INSERT", "UPDATE", "DELETE", "MERGE"]) => {
            let written = match from_effects(effects) {
                Class::Insert => Class::Insert,
                // A statement that the scan missed writes all the same.
                Class::Update => Class::Update,
                _ if is("INSERT") => Class::Insert,
                _ => Class::Update,
            };
            return (written, effects.rows);
        }
        () if dialect.replaces && is("REPLACE") => return (Class::Insert, effects.rows),
        () if dialect.pragmas && is("PRAGMA") => return (pragma(text, words), true),
        () if dialect.pragmas && first.is_any(text, &["ATTACH", "DETACH"]) => Class::Session,
        () if is("EXPLAIN") => return (explain(text, words, effects, dialect), true),
        () if is("SHOW") => return (Class::Select, true),
        () if is("PREPARE") && second("TRANSACTION") => Class::Transaction,
        () if is("SET") && second("TRANSACTION") => Class::Transaction,
        () if first.is_any(text, TRANSACTION) => Class::Transaction,
        () if first.is_any(text, SESSION) => return (Class::Session, is("FETCH")),
        () if first.is_any(text, DDL) => Class::Ddl,
        () if is("CALL") || is("DO") => Class::Call,
        () => Class::Other,
    };
    (class, false)
}

const TRANSACTION: &[&str] = &["ABORT", "BEGIN", "COMMIT", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"];
const SESSION: &[&str] = &[
    "CLOSE",
    "DEALLOCATE",
    "DECLARE",
    "DISCARD",
    "EXECUTE",
    "FETCH",
    "LISTEN",
    "LOAD",
    "MOVE",
    "PREPARE",
    "RESET",
    "SET",
    "UNLISTEN",
];
const DDL: &[&str] =
    &["ALTER", "COMMENT", "CREATE", "DROP", "GRANT", "IMPORT", "REASSIGN", "REFRESH", "REVOKE", "SECURITY", "TRUNCATE"];

/// PRAGMAs that only report while they have no argument.
const READING_PRAGMAS: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "journal_mode",
    "module_list",
    "page_count",
    "page_size",
    "pragma_list",
    "query_only",
    "recursive_triggers",
    "schema_version",
    "user_version",
];
/// Pragmas whose argument names the object to report on. For other pragmas it is a new value.
const ASKING_PRAGMAS: &[&str] = &[
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Whether the PRAGMA `name` of SQLite only reports.
pub fn reads_only_pragma(name: &str, has_argument: bool) -> bool {
    let listed = |list: &[&str]| list.iter().any(|known| name.eq_ignore_ascii_case(known));
    listed(ASKING_PRAGMAS) || (!has_argument && listed(READING_PRAGMAS))
}

/// A query's or a data change's class; a query that also changes data counts as the change.
const fn from_effects(effects: Effects) -> Class {
    if effects.creates {
        Class::Ddl
    } else if effects.changes {
        Class::Update
    } else if effects.inserts {
        Class::Insert
    } else if effects.locks {
        Class::Update
    } else {
        Class::Select
    }
}

fn skip_parentheses(words: &[Token]) -> &[Token] {
    let start = words.iter().position(|token| token.kind != Kind::Open).unwrap_or(words.len());
    words.get(start..).unwrap_or_default()
}

/// Returns the class of an EXPLAIN: the class of the explained statement, even if that is only planned.
fn explain(text: &str, words: &[Token], effects: Effects, dialect: Dialect) -> Class {
    let mut rest = words.get(1..).unwrap_or_default();
    let is = |token: &Token, words: &[&str]| token.is_any(text, words);
    if dialect.pragmas && rest.first().is_some_and(|token| is(token, &["QUERY"])) {
        rest = rest.get(2..).unwrap_or_default();
    } else if rest.first().is_some_and(|token| token.kind == Kind::Open)
        && !skip_parentheses(rest).first().is_some_and(|token| is(token, &["SELECT", "VALUES", "TABLE", "WITH"]))
    {
        let end = rest.iter().position(|token| token.kind == Kind::Close).unwrap_or(rest.len());
        rest = rest.get(end + 1..).unwrap_or_default();
    } else {
        let options = rest.iter().take_while(|token| is(token, &["ANALYZE", "ANALYSE", "VERBOSE"])).count();
        rest = rest.get(options..).unwrap_or_default();
    }
    // EXPLAIN does not nest; should the text say so, the source refuses it.
    let is_nested = rest.first().is_some_and(|token| is(token, &["EXPLAIN"]));
    if is_nested { Class::Select } else { classify(text, rest, effects, dialect).0 }
}

fn pragma(text: &str, words: &[Token]) -> Class {
    let mut names = words.iter().skip(1).take_while(|token| token.is_name() || token.kind == Kind::Dot);
    let Some(name) = names.by_ref().filter(|token| token.is_name()).last() else { return Class::Session };
    let bare = words.last().is_some_and(|last| last.start == name.start);
    let assigns = words.iter().any(|token| token.text(text) == "=");
    if !assigns && reads_only_pragma(name.text(text), !bare) { Class::Select } else { Class::Session }
}
