//! The SQL dialects, as values that say what each of them supports. Code asks for a feature, never for the
//! dialect's name.

/// What one dialect of SQL supports. A driver with another dialect has a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each true or not")]
pub struct Dialect {
    /// The name given to agents, who write in this dialect.
    pub name: &'static str,
    /// The quote around identifiers; doubled within them.
    pub name_quote: char,
    /// The prefix of a numbered parameter; absent if the database itself supports `@name`.
    pub mark: Option<char>,
    /// `?`, `?1`, `:x` and `$x` are parameters; else `$1` is one, and `$$` opens a literal.
    pub named_parameters: bool,
    /// Literals such as `E'…'`, `B'…'` and `U&'…'`.
    pub prefixed_literals: bool,
    /// A number extends over all characters that may continue a word.
    pub numbers_run_on: bool,
    /// Comments lie in each other, and have to be closed.
    pub nested_comments: bool,
    /// A comment behind a statement counts: it may be open, and is a part of the label of an expression in front of it.
    pub trailing_comments: bool,
    /// A vertical tab behind other white space and a byte order mark are white space, and a carriage return
    /// ends no comment.
    pub wide_blanks: bool,
    /// `[x]` is a quoted identifier in this dialect, in every position.
    pub bracket_names: bool,
    /// Operators may end in `@`.
    pub at_operators: bool,
    /// `user` without quotes is the session's role.
    pub user_is_role: bool,
    /// A string may stand for a name, and a name in double quotes for a string.
    pub mixes_quotes: bool,
    /// PRAGMA, ATTACH and DETACH exist, and EXPLAIN runs nothing.
    pub pragmas: bool,
    /// REPLACE, and INSERT OR ….
    pub replaces: bool,
    /// The common table expressions of one list see each other, with RECURSIVE or without.
    pub with_is_recursive: bool,
    /// In RETURNING a table is known only by its own name, not by its alias.
    pub returning_knows_no_alias: bool,
    /// Triggers have bodies of statements; else routines have them.
    pub trigger_bodies: bool,
}

impl Dialect {
    /// `PostgreSQL` 15–18.
    pub const POSTGRESQL: Self = Self {
        name: "PostgreSQL",
        name_quote: '"',
        mark: Some('$'),
        named_parameters: false,
        prefixed_literals: true,
        numbers_run_on: false,
        nested_comments: true,
        trailing_comments: false,
        wide_blanks: false,
        bracket_names: false,
        at_operators: true,
        user_is_role: true,
        mixes_quotes: false,
        pragmas: false,
        replaces: false,
        with_is_recursive: false,
        returning_knows_no_alias: false,
        trigger_bodies: false,
    };

    /// `SQLite` 3.
    pub const SQLITE: Self = Self {
        name: "SQLite",
        name_quote: '"',
        mark: None,
        named_parameters: true,
        prefixed_literals: false,
        numbers_run_on: true,
        nested_comments: false,
        trailing_comments: true,
        wide_blanks: true,
        bracket_names: true,
        at_operators: false,
        user_is_role: false,
        mixes_quotes: true,
        pragmas: true,
        replaces: true,
        with_is_recursive: true,
        returning_knows_no_alias: true,
        trigger_bodies: true,
    };

    /// Quotes a name, whatever characters it contains.
    pub fn quoted(&self, name: &str) -> String {
        let quote = self.name_quote;
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }
}
