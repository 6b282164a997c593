//! Finds words of other SQL dialects in a statement, and suggests what this source has instead. Each driver has its
//! own list of words.

use portico_sql::{Dialect, Kind, Token, tokens};

/// A function of other databases, and its replacement.
pub(crate) type Foreign = (&'static str, &'static str);

/// Characters that a statement gets where it is copied from a page, or escaped twice, and what to write for them.
const COPIED: [(&[char], &str); 4] = [
    (&['\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'], "write straight quotes: ' around a text, \" around a name"),
    (
        &['\u{a0}', '\u{2007}', '\u{202f}', '\u{3000}', '\u{200b}'],
        "write plain spaces: this has characters that look like them",
    ),
    (&['\u{2013}', '\u{2212}'], "write - for minus"),
    (&['\\'], "write line breaks and quotes as they are, without a backslash"),
];

/// What to write in the place of what no source takes: fences, quotes of a word processor, `TOP` and `LIMIT a, b`.
pub fn instead(text: &str, dialect: Dialect) -> Option<String> {
    let words = Words::new(text, dialect);
    words.habit(&[]).or_else(|| words.top()).or_else(|| words.limit_pair())
}

/// The words of a statement, without blanks.
pub(crate) struct Words<'t> {
    text: &'t str,
    words: Vec<Token>,
}

impl<'t> Words<'t> {
    /// Reads `text`.
    pub(crate) fn new(text: &'t str, dialect: Dialect) -> Self {
        let words = tokens(text, dialect).into_iter().filter(|token| token.kind != Kind::Blank).collect();
        Self { text, words }
    }

    /// Returns the replacement for the first function of `known` that is called.
    pub(crate) fn function(&self, known: &[Foreign]) -> Option<String> {
        self.words.windows(2).find_map(|pair| {
            let [name, open] = pair else { return None };
            if name.kind != Kind::Word || open.text(self.text) != "(" {
                return None;
            }
            let name = name.text(self.text);
            let (known, instead) = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
            Some(format!("{known} is not known here: write {instead}"))
        })
    }

    /// Returns the replacement for the first of these words.
    pub(crate) fn word(&self, known: &[Foreign]) -> Option<String> {
        self.words.iter().find_map(|word| {
            let own = word.text(self.text);
            // SQLite reads the second half of `::text` as the name of a value.
            let begins =
                |known: &str| known == "::" && self.text.get(word.start..).is_some_and(|it| it.starts_with(known));
            let (known, instead) = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(own) || begins(known))?;
            Some(format!("{known} is not known here: write {instead}"))
        })
    }

    /// Returns the replacement for the one of these words that an error is about, which names the word `near`, or that
    /// stands beside it.
    pub(crate) fn word_near(&self, near: &str, known: &[Foreign]) -> Option<String> {
        let places = self.words.iter().enumerate().filter(|(_, word)| word.text(self.text) == near);
        let beside = |(at, _): (usize, &Token)| self.words.get(at.saturating_sub(1)..self.words.len().min(at + 3));
        let beside: Vec<Token> = places.filter_map(beside).flatten().copied().collect();
        let (word, instead) =
            known.iter().find(|(known, _)| beside.iter().any(|word| word.is_word(self.text, known)))?;
        Some(format!("{word} is not known here: write {instead}"))
    }

    /// Returns a hint for text that does not belong to SQL: code fences, what copying leaves, and commands of other
    /// programs, each of which `commands` lists with its replacement.
    pub(crate) fn habit(&self, commands: &[Foreign]) -> Option<String> {
        if self.text.trim_start().starts_with("```") {
            return Some("send the statement alone, without the fence around it".to_owned());
        }
        let bare = || self.words.iter().filter(|word| !matches!(word.kind, Kind::Text | Kind::Name));
        let copied = COPIED.iter().find(|(characters, _)| bare().any(|word| self.text(*word).contains(*characters)));
        if let Some((_, instead)) = copied {
            return Some((*instead).to_owned());
        }
        let first = self.words.first()?.text(self.text);
        let (command, instead) = commands.iter().find(|(command, _)| command.eq_ignore_ascii_case(first))?;
        Some(format!("{command} is not a statement here: {instead}"))
    }

    /// Whether a value stands there as other drivers and templates write it: `?`, `%s`, `:name`, `{{name}}`.
    pub(crate) fn has_mark(&self) -> bool {
        self.words.windows(2).any(|pair| {
            let [first, second] = pair else { return false };
            let is_next = first.end == second.start;
            match (first.text(self.text), second.kind) {
                (operator, _) if operator.ends_with('?') => {
                    second.kind == Kind::Comma || second.kind == Kind::Close || second.kind == Kind::Word && !is_next
                }
                ("%" | "%(" | ":" | "{", Kind::Word | Kind::Open) => is_next,
                ("{", _) => second.text(self.text) == "{",
                _ => false,
            }
        }) || self.words.last().is_some_and(|last| last.text(self.text).ends_with('?'))
    }

    /// The values that IN has alone: `IN (@ids)`.
    pub(crate) fn alone_in_lists(&self) -> impl Iterator<Item = &'t str> {
        self.words.windows(4).filter_map(|four| match four {
            [word, open, value, close]
                if word.is_word(self.text, "IN")
                    && (open.kind, close.kind) == (Kind::Open, Kind::Close)
                    && matches!(value.kind, Kind::Parameter | Kind::Placeholder) =>
            {
                Some(value.text(self.text))
            }
            _ => None,
        })
    }

    /// `LIMIT n` for `SELECT TOP n`.
    pub(crate) fn top(&self) -> Option<String> {
        let at = self.words.windows(2).position(|pair| {
            matches!(pair, [select, top] if select.is_any(self.text, &["SELECT", "DISTINCT"]) && top.is_word(self.text, "TOP"))
        })?;
        let number = self.words.get(at + 2..)?.iter().find(|word| word.kind == Kind::Number)?;
        let number = number.text(self.text);
        Some(format!("TOP is not known here: leave it out, and write LIMIT {number} at the end"))
    }

    /// `LIMIT b OFFSET a` for `LIMIT a, b`.
    pub(crate) fn limit_pair(&self) -> Option<String> {
        self.words.windows(4).find_map(|four| match four {
            [limit, skip, comma, most] if limit.is_word(self.text, "LIMIT") && comma.kind == Kind::Comma => {
                let (skip, most) = (skip.text(self.text), most.text(self.text));
                Some(format!("write LIMIT {most} OFFSET {skip}"))
            }
            _ => None,
        })
    }

    /// Returns the words after the first one of these, such as an interval without quotes.
    pub(crate) fn behind(&self, word: &str) -> impl Iterator<Item = Token> + use<'_, 't> {
        let at = self.words.iter().position(|token| token.is_word(self.text, word)).unwrap_or(self.words.len());
        self.words.iter().skip(at + 1).copied()
    }

    /// The part of the text that a token is.
    pub(crate) fn text(&self, token: Token) -> &'t str {
        token.text(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_dialect_has_is_named_with_what_stands_for_it() {
        let words = |text: &'static str| Words::new(text, Dialect::POSTGRESQL);
        let known: &[Foreign] = &[("IFNULL", "COALESCE(a, b)")];
        let told = words("SELECT ifnull (a, 0) FROM t").function(known).unwrap();
        assert_eq!(told, "IFNULL is not known here: write COALESCE(a, b)");
        assert_eq!(words("SELECT ifnull FROM t").function(known), None);
        assert_eq!(words("SELECT 'IFNULL(a)'").function(known), None);
        assert!(words("SELECT TOP 5 a FROM t").top().unwrap().contains("LIMIT 5"));
        assert!(words("SELECT DISTINCT TOP (5) a FROM t").top().unwrap().contains("LIMIT 5"));
        assert_eq!(words("SELECT top FROM t").top(), None);
        assert_eq!(words("SELECT a FROM t LIMIT 10, 5").limit_pair().unwrap(), "write LIMIT 5 OFFSET 10");
        assert_eq!(words("SELECT a FROM t LIMIT 10").limit_pair(), None);
        let commands: &[Foreign] = &[("DESC", "write SELECT")];
        for (text, hint) in [
            ("```sql\nSELECT 1\n```", "without the fence"),
            ("SELECT ‘a’", "straight quotes"),
            ("SELECT a AS “b”", "straight quotes"),
            ("SELECT\u{a0}a FROM t", "plain spaces"),
            ("SELECT a FROM t WHERE a > –1", "- for minus"),
            (r"SELECT a\nFROM t", "without a backslash"),
            ("desc orders", "DESC is not a statement here: write SELECT"),
        ] {
            assert!(words(text).habit(commands).is_some_and(|told| told.contains(hint)), "{text}");
        }
        for text in ["SELECT '‘a\u{a0}–\\' ORDER BY a DESC", "SELECT \"desc\", \"a’s\" -- \\n"] {
            assert_eq!(words(text).habit(commands), None, "{text}");
        }
    }
}
