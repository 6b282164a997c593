//! Looks up what a refused statement has to observe: the rule of a check, unique keys, types, and names that need their
//! quotes.

use super::columns::bare;
use super::nearby::{Nearby, QUOTES, offered};
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::near;
use portico_sources::catalog;
use portico_sources::digest::{Check, quoted};
use portico_sql::{Kind, Token, listed_relations, tokens};

/// Words that begin the next clause.
const CLAUSES: &[&str] = &[
    "AS",
    "ASC",
    "DESC",
    "FROM",
    "GROUP",
    "HAVING",
    "JOIN",
    "LIMIT",
    "ON",
    "ORDER",
    "RETURNING",
    "SET",
    "VALUES",
    "WHERE",
];
/// How many words next to the reported one are looked at: a syntax error may be reported behind the wrong name.
const BESIDE: usize = 2;

impl Nearby {
    /// The rule of a check of a table that the caller sees.
    pub(super) async fn rule(&self, schema: String, table: String, check: &str) -> Result<Option<String>> {
        let narrow = MetadataFilter { schema: Some(schema), table: Some(table), ..MetadataFilter::default() };
        let checks = self.details(narrow, "CHECKS").await?;
        let mut checks = checks.iter().flat_map(|json| Check::read(Some(json)));
        Ok(checks.find(|known| known.name == check).map(|known| format!("the rule is {}", known.rule)))
    }

    /// The unique keys of the table that the statement inserts into.
    pub(super) async fn unique_keys(&self) -> Result<Option<String>> {
        let into = tokens(&self.text, self.dialect).into_iter().find(|token| token.is_word(&self.text, "INTO"));
        let target = into.and_then(|into| self.text.get(into.start..)).unwrap_or_default();
        let Some(relation) = listed_relations(target, self.dialect).into_iter().next() else { return Ok(None) };
        let narrow =
            MetadataFilter { schema: relation.schema, table: Some(relation.name), ..MetadataFilter::default() };
        let keys = self.details(narrow, "UNIQUE_KEYS").await?;
        let mut keys: Vec<String> =
            keys.iter().flat_map(|json| serde_json::from_str::<Vec<String>>(json).unwrap_or_default()).collect();
        keys.push("the primary key, if there is one".to_owned());
        Ok(Some(format!("ON CONFLICT takes a unique key with its whole WHERE: {}", keys.join(", "))))
    }

    /// The columns of a table that the caller sees, which may not be all.
    pub(super) async fn readable(&self, table: String) -> Result<Option<String>> {
        let columns = self.columns(MetadataFilter { table: Some(table.clone()), ..MetadataFilter::default() }).await?;
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name).into_owned()).collect();
        Ok((!names.is_empty()).then(|| {
            format!("of {} you may use {}: name these columns, and no others", quoted(&table), names.join(", "))
        }))
    }

    /// Types of columns that the caller sees, called like `name`.
    pub(super) async fn types(&self, name: &str) -> Result<Option<String>> {
        let columns = self.columns(MetadataFilter::default()).await?;
        let mut known: Vec<&str> = columns.iter().map(|column| column.type_name.trim_end_matches("[]")).collect();
        known.sort_unstable();
        known.dedup();
        let sought = bare(name);
        let mut names = known.iter().map(|known| bare(known));
        // The same name in another schema is nearer than a similar name.
        let near =
            if names.clone().any(|name| name == sought) { vec![sought] } else { near::nearest(sought, names.by_ref()) };
        let near = near.iter().flat_map(|near| known.iter().filter(|known| bare(known) == *near));
        Ok(offered(&near.map(|name| (*name).to_owned()).collect::<Vec<_>>()))
    }

    /// The name around `word` that stands there without its quotes; `position` counts characters from 1.
    pub(super) async fn unquoted(&self, word: &str, position: Option<usize>) -> Result<Option<String>> {
        let words: Vec<Token> =
            tokens(&self.text, self.dialect).into_iter().filter(|it| it.kind != Kind::Blank).collect();
        let byte = position.and_then(|position| self.text.char_indices().nth(position.checked_sub(1)?));
        let is_it = |token: &Token| match byte {
            Some((byte, _)) => token.range().contains(&byte),
            None => token.text(&self.text) == word,
        };
        let Some(at) = words.iter().position(is_it) else { return Ok(None) };
        let around = words.get(at.saturating_sub(BESIDE)..words.len().min(at + BESIDE + 1)).unwrap_or_default();
        let is_word = |token: &Token| matches!(token.kind, Kind::Word | Kind::Number);
        // The word itself, where it cannot begin a clause; or two or three words with blanks between them.
        let stands_alone = words.get(at + 1).is_none_or(|next| {
            matches!(next.kind, Kind::Comma | Kind::Close | Kind::Operator | Kind::Semicolon)
                || next.is_any(&self.text, CLAUSES)
        });
        let alone = words.get(at..=at).filter(|_| stands_alone);
        let joined = [3, 2].into_iter().flat_map(|length| around.windows(length));
        let written = joined.chain(alone).filter_map(|window| {
            let (first, last) = (window.first()?, window.last()?);
            window.iter().all(is_word).then(|| self.text.get(first.start..last.end))?
        });
        let written: Vec<&str> = written.filter(|name| quoted(name) != *name).collect();
        if written.is_empty() {
            return Ok(None);
        }
        let columns = self.columns(MetadataFilter::default()).await?;
        let tables = self.list(MetadataKind::Tables, MetadataFilter::default()).await?;
        let place = catalog::place(MetadataKind::Tables, "TABLE_NAME");
        let tables = tables.iter().filter_map(|row| row.get(place)?.as_deref());
        let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).chain(tables).collect();
        let found = written.iter().find_map(|name| known.iter().find(|known| known.eq_ignore_ascii_case(name)));
        Ok(found.map(|name| format!("if the name {name} is meant, write {}.{QUOTES}", quoted(name))))
    }

    /// The texts of a detail of tables.
    async fn details(&self, narrow: MetadataFilter, label: &str) -> Result<Vec<String>> {
        let rows = self.list(MetadataKind::TableDetails, narrow).await?;
        let place = catalog::place(MetadataKind::TableDetails, label);
        Ok(rows.into_iter().filter_map(|row| row.into_iter().nth(place)?).collect())
    }
}
