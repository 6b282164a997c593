//! Remarks: the comments in a stored CREATE statement, and which column each one is about.
//! SQLite keeps the statement as it was written and has no COMMENT ON.
//!
//! - After the table's name, after the list's `(`, or after a view's AS: about the table.
//! - At the end of a column's line, before or behind its comma: about that column; lines right
//!   below it that begin at the same place go on with it.
//! - On lines of its own before a column, other than the first: about that column.

use std::borrow::Cow;

use portico_sql::{Dialect, Kind, Token, tokens};

/// The comments of one CREATE statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// About the table or view.
    pub(crate) table: Option<String>,
    columns: Vec<(String, String)>,
}

impl Remarks {
    /// About one of its columns.
    pub(crate) fn column(&self, name: &str) -> Option<&str> {
        let found = self.columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
        found.map(|(_, remark)| remark.as_str())
    }

    fn add(&mut self, about: &About, comment: &Placed<'_>) {
        let words = words_of(comment);
        if words.is_empty() {
            return;
        }
        let remark = match about {
            About::Nothing => return,
            About::Table => self.table.get_or_insert_default(),
            About::Column(name) => {
                let known = self.columns.iter().position(|(column, _)| column == name);
                let at = known.unwrap_or(self.columns.len());
                if known.is_none() {
                    self.columns.push((name.clone(), String::new()));
                }
                match self.columns.get_mut(at) {
                    Some((_, remark)) => remark,
                    None => return,
                }
            }
        };
        if !remark.is_empty() {
            remark.push(' ');
        }
        remark.push_str(&words);
    }
}

#[derive(Clone, Debug)]
enum About {
    Nothing,
    Table,
    Column(String),
}

/// A token with its position.
struct Placed<'a> {
    token: Token,
    sql: &'a str,
    /// The line it begins on, counted from 0.
    line: usize,
    /// The line it ends on.
    end_line: usize,
    /// How many characters stand before it on its line.
    column: usize,
}

impl Placed<'_> {
    fn is(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    fn is_comment(&self) -> bool {
        self.token.is_comment(self.sql)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.is_word(self.sql, word)
    }

    fn name(&self) -> Option<String> {
        self.token.name(self.sql).map(Cow::into_owned)
    }
}

/// The tokens of `sql` and its comments.
fn placed(sql: &str) -> Vec<Placed<'_>> {
    let mut all = Vec::new();
    let (mut end_line, mut end_column) = (0, 0);
    for token in tokens(sql, Dialect::SQLITE) {
        let (line, column) = (end_line, end_column);
        let text = token.text(sql);
        end_line += text.matches('\n').count();
        end_column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => column + text.chars().count(),
        };
        if token.kind != Kind::Blank || token.is_comment(sql) {
            all.push(Placed { token, sql, line, end_line, column });
        }
    }
    all
}

/// Words that begin a table constraint where a column's name could stand.
const CONSTRAINTS: &[&str] = &["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

/// Reads the remarks of a CREATE TABLE or CREATE VIEW statement; other statements have none.
pub(crate) fn read(sql: &str) -> Remarks {
    let all = placed(sql);
    let mut remarks = Remarks::default();
    let significant = |token: &&Placed<'_>| !token.is_comment();
    let is_list = all.iter().filter(significant).take(4).any(|token| token.is_word("TABLE") || token.is_word("VIEW"));
    let is_virtual = all.iter().filter(significant).nth(1).is_some_and(|token| token.is_word("VIRTUAL"));
    if !is_list || is_virtual {
        return remarks;
    }
    let mut reading = Reading::default();
    for (at, token) in all.iter().enumerate() {
        if token.is_comment() {
            let next = all.iter().skip(at + 1).find(significant);
            let about = reading.about(token, next);
            remarks.add(&about, token);
            reading.commented(about, token);
        } else if !reading.take(token) {
            // Into the body of a view: its first comment is the last one that is a remark.
            for comment in all.iter().skip(at + 1).take_while(|token| token.is_comment()) {
                if remarks.table.is_none() {
                    remarks.add(&About::Table, comment);
                }
            }
            break;
        }
    }
    remarks
}

/// Where in the statement the reading is.
#[derive(Default)]
struct Reading {
    /// Open parentheses; the columns are in the first.
    depth: usize,
    listed: bool,
    /// The subject of the definition that the last token belongs to.
    current: Option<About>,
    /// Whether the next word names a column.
    fresh: bool,
    columns: usize,
    last_line: Option<usize>,
    /// After a comma the subject of the next comments is not known yet.
    after_comma: bool,
    /// The last comment: its position, its end, and its subject.
    comment: Option<(usize, usize, About)>,
}

impl Reading {
    /// Takes a token that is not a comment. Returns `false` at the start of a view's body.
    fn take(&mut self, token: &Placed<'_>) -> bool {
        if self.depth == 0 {
            if token.is(Kind::Open) && !self.listed {
                (self.depth, self.listed, self.fresh) = (1, true, true);
            } else if token.is_word("AS") {
                return false;
            }
        } else if token.is(Kind::Open) {
            self.depth += 1;
        } else if token.is(Kind::Close) {
            self.depth -= 1;
        } else if self.depth == 1 && token.is(Kind::Comma) {
            self.fresh = true;
        } else if self.fresh {
            self.fresh = false;
            let constraint = token.token.is_any(token.sql, CONSTRAINTS);
            self.current = Some(match token.name() {
                Some(name) if !constraint => {
                    self.columns += 1;
                    About::Column(name)
                }
                _ => About::Nothing,
            });
        }
        self.after_comma = self.depth == 1 && token.is(Kind::Comma);
        self.last_line = Some(token.end_line);
        self.comment = None;
        true
    }

    /// Returns the subject of `comment`; `next` is the token after it.
    fn about(&self, comment: &Placed<'_>, next: Option<&Placed<'_>>) -> About {
        let named = |token: Option<&Placed<'_>>| match token.and_then(Placed::name) {
            Some(name) if !CONSTRAINTS.iter().any(|word| name.eq_ignore_ascii_case(word)) => About::Column(name),
            _ => About::Nothing,
        };
        if let Some((column, end, about)) = &self.comment
            && comment.column == *column
            && comment.line == end + 1
        {
            return about.clone();
        }
        if self.columns == 0 {
            return About::Table;
        }
        if self.listed && self.depth == 0 {
            return About::Nothing;
        }
        let same_line = self.last_line == Some(comment.line);
        let leads = next.is_some_and(|next| next.line == comment.end_line);
        if same_line && !(self.after_comma && leads) {
            self.current.clone().unwrap_or(About::Nothing)
        } else if self.after_comma {
            named(next)
        } else {
            self.current.clone().unwrap_or(About::Nothing)
        }
    }

    fn commented(&mut self, about: About, comment: &Placed<'_>) {
        self.comment = Some((comment.column, comment.end_line, about));
    }
}

/// A comment's words without its marks, on one line.
fn words_of(comment: &Placed<'_>) -> String {
    let text = comment.token.text(comment.sql);
    let body = match text.strip_prefix("/*") {
        Some(_) => text.trim_start_matches("/*").trim_end_matches("*/"),
        None => text.trim_start_matches('-'),
    };
    let lines = body.lines().map(|line| line.trim().trim_start_matches('*').trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_its_columns_have_remarks() {
        let remarks = read(
            "CREATE TABLE \"order lines\" ( -- One product in an order.
               id INTEGER PRIMARY KEY, -- Number of the line.
               product_id INTEGER NOT NULL REFERENCES products (id), -- What was ordered,
                                                                     -- see products.
               -- How many; never 0.
               quantity INTEGER NOT NULL DEFAULT (1 + 1) CHECK (quantity > 0),
               [unit price] DECIMAL(10,2) DEFAULT ',--(' /* In the order's
                  currency. */,
               note TEXT, /* unsaid */ /* twice */ hidden TEXT,
               -- Each product once.
               UNIQUE (id, product_id) -- no remark
             ) -- the end",
        );
        assert_eq!(remarks.table.as_deref(), Some("One product in an order."));
        assert_eq!(remarks.column("ID"), Some("Number of the line."));
        assert_eq!(remarks.column("product_id"), Some("What was ordered, see products."));
        assert_eq!(remarks.column("quantity"), Some("How many; never 0."));
        assert_eq!(remarks.column("unit price"), Some("In the order's currency."));
        assert_eq!(remarks.column("hidden"), Some("unsaid twice"));
        assert_eq!(remarks.columns.len(), 5);
    }

    #[test]
    fn the_table_s_remark_may_stand_before_the_list_or_the_first_column() {
        for sql in [
            "CREATE TABLE t /* Words. */ (a)",
            "CREATE TABLE t -- Words.\n(a, b)",
            "CREATE TABLE t (\n  -- Words.\n  a INT)",
            "CREATE VIEW v AS -- Words.\nSELECT 1 -- no",
            "CREATE VIEW v AS /* Words. */ SELECT 1",
            "CREATE VIEW v (a) AS -- Words.\nSELECT 1",
            "CREATE TEMP TABLE IF NOT EXISTS t (-- Words.\n a)",
        ] {
            assert_eq!(read(sql).table.as_deref(), Some("Words."), "{sql}");
        }
    }

    #[test]
    fn a_view_s_list_of_columns_is_read_like_a_table_s() {
        let remarks = read("CREATE VIEW v ( -- Words.\n a, -- First.\n b -- Second.\n) AS SELECT 1, 2 -- none\n");
        assert_eq!(remarks.table.as_deref(), Some("Words."));
        assert_eq!((remarks.column("a"), remarks.column("b")), (Some("First."), Some("Second.")));
    }

    #[test]
    fn anything_may_be_read() {
        for sql in
            ["", "CREATE", "CREATE TABLE", "CREATE TABLE t (", "CREATE TABLE t )))", "CREATE TABLE (((('", "/*", "--"]
        {
            assert_eq!(read(sql), Remarks::default(), "{sql}");
        }
        assert_eq!(read("CREATE VIRTUAL TABLE t USING fts5(a, -- no\n b)"), Remarks::default());
        assert_eq!(read("CREATE INDEX i ON t (a) -- no"), Remarks::default());
    }
}
