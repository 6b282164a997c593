//! Redacts a statement for logs: without secrets, or without any value. Nothing here runs it.
//!
//! The lexer that reads statements for the source is used here: a literal is what the source takes for one, however
//! it is quoted. Its position decides whether a literal is a secret; in case of doubt it is left out.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::dialect::Dialect;
use crate::lexing::lexer;
use crate::lexing::token::{Kind, Token, identifier, lowercase};

/// Which literals of a statement are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redact {
    /// Every literal: the statement's shape is left.
    Literals,
    /// Literals that may be a secret: those of statements about roles, foreign servers, subscriptions and keys,
    /// arguments of functions that connect or encrypt, values of a name such as `password`, addresses and
    /// connection strings with a password, and our own secrets.
    Secrets,
}

/// The text that replaces a literal.
const HIDDEN: &str = "***";
/// How deep texts within texts are read as SQL.
const DEPTH: usize = 3;

/// Parts of names that stand beside a secret.
const SECRET_PARTS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "apikey",
    "api_key",
    "private_key",
    "access_key",
    "conninfo",
];
/// Finds those parts in one pass, ignoring case.
static PARTS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(SECRET_PARTS).ok());
/// The same as whole names.
const SECRET_NAMES: [&str; 3] = ["pwd", "pass", "token"];
/// The same in ATTACH and PRAGMA of SQLite.
const KEYS: [&str; 5] = ["key", "rekey", "hexkey", "hexrekey", "textkey"];
/// Functions whose arguments are connection strings, passwords or keys; all names that start with `dblink` count as
/// well.
const SECRET_FUNCTIONS: [&str; 19] = [
    "crypt",
    "decrypt",
    "decrypt_iv",
    "encrypt",
    "encrypt_iv",
    "hmac",
    "pgp_pub_decrypt",
    "pgp_pub_decrypt_bytea",
    "pgp_pub_encrypt",
    "pgp_sym_decrypt",
    "pgp_sym_decrypt_bytea",
    "pgp_sym_encrypt",
    "pgp_sym_encrypt_bytea",
    "pg_create_subscription",
    "postgres_fdw_get_connections",
    "scram_build_secret",
    "set_config",
    "sqlite3_key",
    "sqlite3_rekey",
];
/// Options of servers, mappings and foreign tables that are not secret.
const PLAIN_OPTIONS: [&str; 20] = [
    "user",
    "username",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "sslmode",
    "schema_name",
    "table_name",
    "column_name",
    "fetch_size",
    "batch_size",
    "use_remote_estimate",
    "updatable",
    "truncatable",
    "async_capable",
    "extensions",
    "format",
    "header",
    "application_name",
];

/// Other marks of a secret, or of a literal with escaped characters: words, signs, prefixes.
const SECRET_MARKS: [&str; 11] =
    ["create", "alter", "options", "pragma", "attach", "dblink", "://", "ptc_", "eyj", "u&", "\\"];
/// Finds any mark that a statement with a secret must contain.
static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let marks = SECRET_PARTS.iter().chain(&SECRET_NAMES).chain(&SECRET_FUNCTIONS).chain(&SECRET_MARKS);
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(marks).ok()
});

/// Returns `text` with `***` in the place of each literal that `redact` leaves out. A literal is left out if it is a
/// literal in any of `dialects`: the caller may not know which one runs the statement. If a quote or a comment in the
/// text is never closed, every literal is left out.
pub fn redacted<'t>(text: &'t str, dialects: &[Dialect], redact: Redact) -> Cow<'t, str> {
    // Most have no secret, and need not be read, or not twice.
    let is_plain = redact == Redact::Secrets && text.is_ascii() && !has_mark(text);
    if is_plain && !has_quotes(text) {
        return Cow::Borrowed(text);
    }
    let mut ranges = Vec::new();
    for dialect in dialects {
        let tokens = lexer::tokens(text, *dialect);
        let whole = tokens.iter().all(|token| is_closed(*token, text, *dialect));
        if !(is_plain && whole) {
            ranges.extend(hidden_ranges(text, &tokens, *dialect, if whole { redact } else { Redact::Literals }));
        }
    }
    if ranges.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, ranges)) }
}

/// Whether `text` has something that every statement with a secret has.
fn has_mark(text: &str) -> bool {
    // The marks are few and short: the automaton is always built.
    MARKS.as_ref().is_none_or(|marks| marks.is_match(text))
}

/// Returns `text` with `***` for each of the ranges; those that overlap are one.
pub(crate) fn without(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut kept, mut end) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        if range.start >= end {
            kept.push_str(text.get(end..range.start).unwrap_or_default());
            kept.push_str(HIDDEN);
        }
        end = end.max(range.end);
    }
    kept.push_str(text.get(end..).unwrap_or_default());
    kept
}

/// Returns the ranges that `redact` leaves out; `tokens` are those of `text`.
pub(crate) fn hidden_ranges(text: &str, tokens: &[Token], dialect: Dialect, redact: Redact) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for statement in tokens.split_inclusive(|token| token.kind == Kind::Semicolon) {
        for (token, hides) in statement.iter().zip(hidden(statement, text, dialect, redact, DEPTH)) {
            // An open comment may be the rest of a literal.
            let comment = matches!(token.kind, Kind::Blank | Kind::Other);
            if hides || (comment && !is_closed(*token, text, dialect)) {
                ranges.push(token.range());
            }
        }
    }
    ranges
}

/// Whether anything in a statement could be open to its end.
fn has_quotes(text: &str) -> bool {
    text.contains(['\'', '"', '`', '$']) || text.contains("/*")
}

/// Which tokens of one statement are left out.
fn hidden(statement: &[Token], text: &str, dialect: Dialect, redact: Redact, depth: usize) -> Vec<bool> {
    if redact == Redact::Literals {
        let may_be_text = |token: &Token| token.kind == Kind::Name && looks_secret(token.text(text));
        return statement
            .iter()
            .map(|token| {
                matches!(token.kind, Kind::Text | Kind::Number)
                    || may_be_text(token)
                    || (token.kind == Kind::Blank && tells_secret(token.text(text)))
            })
            .collect();
    }
    let mut reading = Reading::new(statement, text, dialect);
    let mut before = false;
    statement
        .iter()
        .enumerate()
        .map(|(at, token)| {
            let own = token.text(text);
            let place = reading.pass(statement, at);
            let hides = match token.kind {
                // A literal may go on in a further one, on a further line.
                Kind::Text => place || before || holds_secret(own, dialect, depth),
                Kind::Number => place,
                // To SQLite a name in double quotes may be a text.
                Kind::Name => (place && dialect.mixes_quotes) || looks_secret(own),
                // A key of SQLite's may be written as a bare word.
                Kind::Word => place && reading.is_pragma,
                Kind::Blank => tells_secret(own),
                _ => false,
            };
            if token.kind != Kind::Blank {
                before = hides && token.kind == Kind::Text;
            }
            hides
        })
        .collect()
}

/// The state of reading a statement token by token.
struct Reading<'a> {
    text: &'a str,
    /// Every literal of the statement may be a secret.
    everything: bool,
    /// It sets a key of SQLite's.
    is_pragma: bool,
    depth: usize,
    /// The list of options that is being read: its depth, and the option.
    options: Option<(usize, Option<bool>)>,
    /// The depth in which everything to the next comma, or the end of the list, belongs to a secret name.
    item: Option<usize>,
    /// The depth of the arguments of a function that takes secrets.
    arguments: Option<usize>,
}

impl<'a> Reading<'a> {
    fn new(statement: &[Token], text: &'a str, dialect: Dialect) -> Self {
        let words: Vec<&Token> = statement.iter().filter(|token| token.kind != Kind::Blank).collect();
        let is = |at: usize, all: &[&str]| words.get(at).is_some_and(|token| token.is_any(text, all));
        let names = |wanted: &[&str]| words.iter().any(|token| token.is_any(text, wanted));
        // Anywhere: in the body of a DO it is not the first word.
        let defines = |at: usize| {
            let what = ["ROLE", "GROUP", "SUBSCRIPTION", "SYSTEM", "DATABASE"];
            is(at, &["CREATE", "ALTER"]) && (is(at + 1, &what) || (is(at + 1, &["USER"]) && !is(at + 2, &["MAPPING"])))
        };
        let definition = (0..words.len()).any(defines);
        let keeps_keys = dialect.pragmas && is(0, &["PRAGMA", "ATTACH"]);
        let is_key = |token: &Token| KEYS.contains(&&*lowercase(identifier(token.text(text))));
        let secret = || statement.iter().any(|token| is_secret_name(*token, text) || (keeps_keys && is_key(token)));
        // A secret column stands in the list of columns, far away from its value.
        let writes = names(&["INSERT", "REPLACE", "MERGE", "COPY", "VALUES"]) && secret();
        let is_pragma = keeps_keys && is(0, &["PRAGMA"]) && secret();
        let sets = is(0, &["SET", "ATTACH"]) && secret();
        // A text that names a secret may be a template, and another literal the value inserted into it.
        let is_template = |token: &Token| token.kind == Kind::Text && names_secret(token.text(text));
        let templates = statement.iter().any(is_template);
        let keys = keeps_keys && text_of(statement, text).to_ascii_lowercase().contains("key=");
        Self {
            text,
            everything: definition || writes || sets || templates || keys,
            is_pragma,
            depth: 0,
            options: None,
            item: None,
            arguments: None,
        }
    }

    /// Takes the next token; whether a literal in its place may be a secret.
    fn pass(&mut self, statement: &[Token], at: usize) -> bool {
        let Some(token) = statement.get(at).copied() else { return false };
        match token.kind {
            Kind::Open => {
                self.depth += 1;
                let before = statement.get(..at).unwrap_or_default().iter().rev().find(|it| it.kind != Kind::Blank);
                if let Some(before) = before.copied() {
                    if before.is_word(self.text, "OPTIONS") {
                        self.options = Some((self.depth, None));
                    } else if self.arguments.is_none() && is_secret_function(before, self.text) {
                        self.arguments = Some(self.depth);
                    }
                }
            }
            Kind::Close => {
                let ended = |depth: usize| depth >= self.depth;
                self.arguments = self.arguments.filter(|depth| !ended(*depth));
                self.item = self.item.filter(|depth| !ended(*depth));
                self.options = self.options.filter(|(depth, _)| !ended(*depth));
                self.depth = self.depth.saturating_sub(1);
            }
            Kind::Comma => {
                self.item = self.item.filter(|depth| *depth < self.depth);
                if let Some((_, option)) = self.options.as_mut().filter(|(depth, _)| *depth == self.depth) {
                    *option = None;
                }
            }
            Kind::Word | Kind::Name => {
                let is_verb = token.is_any(self.text, &["ADD", "SET", "DROP"]);
                if let Some((_, option)) = self.options.as_mut().filter(|_| !is_verb) {
                    let plain = PLAIN_OPTIONS.contains(&&*identifier(token.text(self.text)));
                    option.get_or_insert(plain);
                } else if self.options.is_none() && is_secret_name(token, self.text) {
                    let depth = self.depth;
                    self.item = Some(self.item.map_or(depth, |item| item.min(depth)));
                }
                // A bare word behind PRAGMA is the pragma's own name.
                if self.is_pragma {
                    return self.key_follows(statement, at);
                }
            }
            _ => {}
        }
        let option = self.options.is_some_and(|(_, plain)| plain != Some(true));
        let of_pragma = self.is_pragma && self.key_follows(statement, at);
        self.everything || option || of_pragma || self.item.is_some() || self.arguments.is_some()
    }

    /// Returns true if the name of a pragma and its `=` or parenthesis come before the token.
    fn key_follows(&self, statement: &[Token], at: usize) -> bool {
        let before = statement.get(..at).unwrap_or_default();
        before.iter().any(|token| token.kind == Kind::Open || token.text(self.text) == "=")
    }
}

/// Returns true if the token is a name of a secret, such as `password`. A name with escapes always counts as one.
fn is_secret_name(token: Token, text: &str) -> bool {
    if !token.is_name() {
        return false;
    }
    let own = token.text(text);
    let name = lowercase(identifier(own));
    let is_coded = own.get(..2).is_some_and(|begin| begin.eq_ignore_ascii_case("u&"));
    is_coded || SECRET_NAMES.contains(&&*name) || names_secret(&name)
}

fn is_secret_function(token: Token, text: &str) -> bool {
    let name = lowercase(identifier(token.text(text)));
    token.is_name() && (name.starts_with("dblink") || SECRET_FUNCTIONS.contains(&&*name))
}

/// Returns true if the text of a literal may contain a secret: as it is, or as SQL.
fn holds_secret(literal: &str, dialect: Dialect, depth: usize) -> bool {
    if looks_secret(literal) || is_escaped(literal) {
        return true;
    }
    let Some(content) = content(literal) else { return false };
    let Some(deeper) = depth.checked_sub(1) else { return tells_secret(content) };
    let content = content.replace("''", "'");
    // A statement without literals has nothing to leave out.
    if !content.contains(['\'', '"', '$']) {
        return false;
    }
    let tokens = lexer::tokens(&content, dialect);
    if tokens.iter().any(|token| !is_closed(*token, &content, dialect)) && tells_secret(&content) {
        return true;
    }
    let mut statements = tokens.split_inclusive(|token| token.kind == Kind::Semicolon);
    statements.any(|statement| hidden(statement, &content, dialect, Redact::Secrets, deeper).contains(&true))
}

/// Returns the text between the quotes of a literal.
fn content(literal: &str) -> Option<&str> {
    if literal.starts_with('$') {
        let tag = literal.get(..literal.get(1..)?.find('$')? + 2)?;
        return literal.strip_prefix(tag)?.strip_suffix(tag);
    }
    let (_, content) = literal.split_once('\'')?;
    content.strip_suffix('\'')
}

/// Returns true if a literal contains characters by their code: its content is then not readable as it is.
fn is_escaped(literal: &str) -> bool {
    let begin = literal.as_bytes();
    match begin {
        // The character that begins a number can be any.
        [b'u' | b'U', b'&', ..] => true,
        [b'e' | b'E', b'\'', ..] => {
            let coded = |next: &str| next.starts_with(|c: char| matches!(c, 'x' | 'u' | 'U') || c.is_ascii_digit());
            literal.match_indices('\\').any(|(at, _)| literal.get(at + 1..).is_some_and(coded))
        }
        _ => false,
    }
}

/// Whether a text names something secret, or is it.
fn tells_secret(text: &str) -> bool {
    names_secret(text) || looks_secret(text)
}

fn names_secret(text: &str) -> bool {
    // The words are few and short: the automaton is always built. If it were not, everything would be left out.
    PARTS.as_ref().is_none_or(|parts| parts.is_match(text))
}

fn text_of<'t>(statement: &[Token], text: &'t str) -> &'t str {
    let (Some(first), Some(last)) = (statement.first(), statement.last()) else { return "" };
    text.get(first.start..last.end).unwrap_or_default()
}

/// Returns true if a text is an address or a connection string with a password, or one of our secrets.
fn looks_secret(text: &str) -> bool {
    // Addresses, assignments and tokens contain one of these; our secrets have a mark of their own.
    if !text.contains([':', '=', '>', '.', '_']) {
        return false;
    }
    let low = text.to_ascii_lowercase();
    let address = low.match_indices("://").any(|(at, mark)| {
        let rest = low.get(at + mark.len()..).unwrap_or_default();
        let authority = rest.split(['/', '?', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    // In a connection string, in JSON, in XML.
    let is_between = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '\\');
    let assigned = |word: &str| {
        low.match_indices(word).any(|(at, _)| {
            let rest = low.get(at + word.len()..).unwrap_or_default();
            rest.trim_start_matches(is_between).starts_with(['=', ':', '>'])
        })
    };
    let is_jwt = low.contains("eyj") && text.matches('.').count() >= 2;
    address
        || low.contains("ptc_")
        || is_jwt
        || ["pwd", "token"].into_iter().any(assigned)
        || (names_secret(text) && SECRET_PARTS.into_iter().any(assigned))
}

/// Whether a literal, a name or a comment has its end.
pub(crate) fn is_closed(token: Token, text: &str, dialect: Dialect) -> bool {
    let own = token.text(text);
    match token.kind {
        Kind::Blank if own.starts_with("/*") => own.len() >= 4 && own.ends_with("*/"),
        Kind::Other => !own.starts_with("/*"),
        Kind::Text if own.starts_with('$') => content(own).is_some(),
        Kind::Text if own.starts_with(['e', 'E']) && dialect.prefixed_literals => {
            let mut quotes = 0_usize;
            let mut letters = own.bytes();
            while let Some(letter) = letters.next() {
                match letter {
                    b'\\' => drop(letters.next()),
                    b'\'' => quotes += 1,
                    _ => {}
                }
            }
            quotes.is_multiple_of(2)
        }
        Kind::Text => own.matches('\'').count().is_multiple_of(2),
        Kind::Name if own.contains('"') && !own.starts_with(['`', '[']) => own.matches('"').count().is_multiple_of(2),
        Kind::Name if own.starts_with('`') => own.matches('`').count().is_multiple_of(2),
        _ => true,
    }
}
