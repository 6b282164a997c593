//! Suggests names for a missing column or label: from the tables that the statement names, and then from all that
//! its caller sees.

use serde_json::Value;

use super::nearby::{Nearby, offered};
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::error::{Error, Missing, Result};
use portico_core::near;
use portico_sources::catalog;
use portico_sources::digest::quoted;
use portico_sql::{Dialect, Kind, ListedRelation, Token, listed_relations, tokens};

/// The maximal number of a statement's tables whose columns are read.
const MOST_RELATIONS: usize = 8;
/// The maximal number of names that are listed if none is similar.
const MOST_TOLD: usize = 30;

/// A column as its caller sees it.
pub(super) struct Column {
    schema: String,
    table: String,
    pub(super) name: String,
    pub(super) type_name: String,
    /// The labels of an enumeration, as a JSON array.
    values: Option<String>,
}

/// A column of a relation that the statement names.
struct Candidate<'r> {
    relation: &'r ListedRelation,
    column: String,
}

impl Nearby {
    /// Adds a suggestion for the missing name to `error`.
    pub(in crate::connection) async fn name_missing(&self, error: Error) -> Error {
        let hint = match error.get_missing().cloned() {
            Some(Missing::Column { of, name }) => self.near_columns(of.as_deref(), &name).await,
            Some(Missing::Ambiguous(name)) => self.which(&name).await,
            Some(Missing::Label { of, given }) => self.labels(&of, &given).await,
            Some(Missing::Routine(name)) => self.near_routines(&name).await,
            Some(Missing::Rule { schema, table, check }) => self.rule(schema, table, &check).await,
            Some(Missing::UniqueKey) => self.unique_keys().await,
            Some(Missing::Readable(table)) => self.readable(table).await,
            Some(Missing::Type(name)) => self.types(&name).await,
            Some(Missing::Quotes(word)) => self.unquoted(&word, error.get_position()).await,
            None => return error,
        };
        match hint {
            Ok(Some(hint)) => error.hint(hint),
            _ => error,
        }
    }

    async fn near_columns(&self, of: Option<&str>, name: &str) -> Result<Option<String>> {
        let relations = listed_relations(&self.text, self.dialect);
        let candidates = self.candidates(&relations).await?;
        let is_alone = relations.len() < 2;
        let write = |candidate: &Candidate<'_>| {
            let column = quoted(&candidate.column).into_owned();
            if is_alone { column } else { format!("{}.{column}", candidate.relation.written) }
        };
        // A qualified name means that table's column: one of another table would answer another question.
        let is_sought = |candidate: &&Candidate<'_>| of.is_none_or(|of| is_called(candidate.relation, of));
        let sought: Vec<&Candidate<'_>> = candidates.iter().filter(is_sought).collect();
        let named = |is_it: &dyn Fn(&str) -> bool| -> Vec<String> {
            sought.iter().filter(|known| is_it(&known.column)).map(|known| write(known)).collect()
        };
        for names in [named(&|column| column == name), named(&|column| column.eq_ignore_ascii_case(name))] {
            if let Some(hint) = offered(&names) {
                return Ok(Some(hint));
            }
        }
        // UPDATE t SET t.column: reads would know the table.
        if relations.iter().any(|relation| relation.written.eq_ignore_ascii_case(name)) {
            return Ok(Some(format!("name a column to be set by itself: SET a_column = …, without {name}.")));
        }
        let of_list = || {
            format!(
                "{name} is an alias of the SELECT list, which is not known here: repeat its expression, or select from \
                 the query as a whole: SELECT * FROM (…) AS q WHERE {name} …"
            )
        };
        let alias = if of.is_none() { alias(&self.text, name, self.dialect) } else { None };
        if alias == Some(Alias::BehindAs) {
            return Ok(Some(of_list()));
        }
        let near = near::nearest(name, sought.iter().map(|known| known.column.as_str()));
        let near = near.iter().filter_map(|near| sought.iter().find(|known| known.column == **near));
        let near = offered(&near.map(|known| write(known)).collect::<Vec<_>>());
        if self.text.contains(&format!("\"{name}\"")) {
            // A quoted word usually means a text: a similar column would answer another question.
            let near = near.map(|near| format!("; of names, {near}")).unwrap_or_default();
            let text = name.replace('\'', "''");
            return Ok(Some(format!("double quotes are for names; a text stands in single quotes: '{text}'{near}")));
        }
        if near.is_some() {
            return Ok(near);
        }
        if alias.is_some() {
            return Ok(Some(of_list()));
        }
        let told = || sought.iter().take(MOST_TOLD).map(|known| write(known)).collect::<Vec<_>>().join(", ");
        if of.is_some() && !sought.is_empty() {
            let others = candidates.iter().filter(|known| known.column.eq_ignore_ascii_case(name)).map(write);
            let others: Vec<String> = others.collect();
            let others = if others.is_empty() { String::new() } else { format!("; there is {}", others.join(", ")) };
            return Ok(Some(format!("that table has the columns {}{others}", told())));
        }
        let elsewhere =
            self.columns(MetadataFilter { column: Some(name.to_owned()), ..MetadataFilter::default() }).await?;
        let elsewhere = elsewhere.iter().filter(|known| known.name.eq_ignore_ascii_case(name)).take(3);
        let elsewhere: Vec<String> =
            elsewhere.map(|known| format!("{}.{}", self.table(known), quoted(&known.name))).collect();
        if !elsewhere.is_empty() {
            return Ok(Some(format!(
                "no table of the statement has this column; join the one that does: {}",
                elsewhere.join(", ")
            )));
        }
        Ok((!sought.is_empty()).then(|| format!("there are the columns {}", told())))
    }

    /// The columns that a name may mean which several tables have.
    async fn which(&self, name: &str) -> Result<Option<String>> {
        let relations = listed_relations(&self.text, self.dialect);
        let candidates = self.candidates(&relations).await?;
        let meant = candidates.iter().filter(|known| known.column.eq_ignore_ascii_case(name));
        let meant: Vec<String> =
            meant.map(|known| format!("{}.{}", known.relation.written, quoted(&known.column))).collect();
        Ok((!meant.is_empty()).then(|| format!("say which one is meant: {}", meant.join(" or "))))
    }

    /// The labels of the enumeration, or the fields of the composite type `of`, where a column that the caller sees is
    /// of it.
    async fn labels(&self, of: &str, given: &str) -> Result<Option<String>> {
        let all = self.columns(MetadataFilter::default()).await?;
        let found = all.iter().find(|known| bare(&known.type_name) == bare(of)).and_then(|known| known.values.as_ref());
        let values = found.and_then(|values| serde_json::from_str(values).ok()).unwrap_or(Value::Null);
        let (noun, parts): (_, Vec<String>) = match values {
            Value::Array(labels) => ("labels", labels.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            Value::Object(fields) => ("fields", fields.into_iter().map(|(name, _)| name).collect()),
            _ => return Ok(None),
        };
        let written = |part: &str| match noun {
            "labels" => format!("'{}'", part.replace('\'', "''")),
            _ => quoted(part).into_owned(),
        };
        let near: Vec<String> =
            near::nearest(given, parts.iter().map(String::as_str)).into_iter().map(written).collect();
        let near = offered(&near).map(|hint| hint + " ").unwrap_or_default();
        let all: Vec<String> = parts.iter().take(MOST_TOLD).map(|part| written(part)).collect();
        Ok(Some(format!("{near}The {noun} are {}", all.join(", "))))
    }

    /// The columns of the relations that the statement names.
    async fn candidates<'r>(&self, relations: &'r [ListedRelation]) -> Result<Vec<Candidate<'r>>> {
        let mut found = Vec::new();
        for relation in relations.iter().take(MOST_RELATIONS) {
            let narrow = MetadataFilter {
                schema: relation.schema.clone(),
                table: Some(relation.name.clone()),
                ..MetadataFilter::default()
            };
            let mut known = self.columns(narrow).await?;
            known.retain(|known| known.table.eq_ignore_ascii_case(&relation.name));
            // Of tables of one name in several schemas the first that an unqualified name means.
            let schema = relation.schema.as_ref().or(self.default_schema.as_ref());
            let schema = schema.filter(|schema| known.iter().any(|known| known.schema == **schema)).cloned();
            if let Some(schema) = schema.or_else(|| known.first().map(|known| known.schema.clone())) {
                known.retain(|known| known.schema == schema);
            }
            found.extend(known.into_iter().map(|known| Candidate { relation, column: known.name }));
        }
        Ok(found)
    }

    /// A table as it is to be written.
    fn table(&self, column: &Column) -> String {
        if self.default_schema.as_deref() == Some(&column.schema) {
            quoted(&column.table).into_owned()
        } else {
            format!("{}.{}", quoted(&column.schema), quoted(&column.table))
        }
    }

    pub(super) async fn columns(&self, narrow: MetadataFilter) -> Result<Vec<Column>> {
        let rows = self.list(MetadataKind::Columns, narrow).await?;
        let places = ["TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "TYPE_NAME", "VALUES"]
            .map(|label| catalog::place(MetadataKind::Columns, label));
        let column = |row: Vec<Option<String>>| {
            let [schema, table, name, type_name, values] = places.map(|at| row.get(at).cloned().flatten());
            let text = Option::unwrap_or_default;
            Column { schema: text(schema), table: text(table), name: text(name), type_name: text(type_name), values }
        };
        Ok(rows.into_iter().map(column).collect())
    }
}

/// The name of a type without its schema and quotes.
pub(super) fn bare(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or(type_name).trim_matches('"')
}

/// Whether columns of `relation` stand behind `name`.
fn is_called(relation: &ListedRelation, name: &str) -> bool {
    relation.written.trim_matches('"').eq_ignore_ascii_case(name) || relation.name.eq_ignore_ascii_case(name)
}

/// How an alias is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alias {
    BehindAs,
    /// As far as words tell: `DISTINCT ON (a) name` looks alike.
    BehindValue,
}

/// Returns how the SELECT list of `text` defines this alias, if it does.
fn alias(text: &str, name: &str, dialect: Dialect) -> Option<Alias> {
    let words: Vec<Token> = tokens(text, dialect).into_iter().filter(|token| token.kind != Kind::Blank).collect();
    words.windows(3).find_map(|window| {
        let [before, alias, after] = window else { return None };
        let is_it = alias.name(text).is_some_and(|known| known.eq_ignore_ascii_case(name));
        let ends = after.text(text) == "," || after.is_word(text, "FROM");
        match before.kind {
            _ if !is_it || !ends => None,
            _ if before.is_word(text, "AS") => Some(Alias::BehindAs),
            Kind::Close | Kind::Text | Kind::Number => Some(Alias::BehindValue),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_one_of_the_select_list() {
        for (text, is_it) in [
            ("SELECT sum(total) AS Turnover, 1 FROM orders", Some(Alias::BehindAs)),
            ("SELECT sum(total) turnover FROM orders WHERE turnover > 1", Some(Alias::BehindValue)),
            ("SELECT turnover FROM orders AS o", None),
            ("SELECT DISTINCT turnover FROM orders", None),
            ("SELECT NOT turnover FROM orders", None),
            ("SELECT a, turnover, b FROM orders", None),
            ("SELECT a FROM orders ORDER BY turnover", None),
        ] {
            assert_eq!(alias(text, "turnover", Dialect::POSTGRESQL), is_it, "{text}");
        }
    }
}
