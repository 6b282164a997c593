//! One SELECT on one connection, in its parts. Columns are identified by position, so that aliases and duplicate
//! names cannot be confused.

use std::sync::Arc;

use arrow_schema::Schema;

use portico_sources::pushdown::{Pushdown, Type};

/// One SELECT of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    /// The place of its connection.
    pub(crate) connection: usize,
    pub(super) dialect: Option<&'static Pushdown>,
    pub(super) from: String,
    pub(super) outputs: Vec<Output>,
    /// Whether one of its columns is a constant, which GROUP BY and ORDER BY would take for the place of another.
    pub(super) has_constants: bool,
    pub(super) filters: Vec<String>,
    pub(super) group: Option<Vec<String>>,
    pub(super) distinct: bool,
    pub(super) order: Vec<String>,
    pub(super) limit: Option<usize>,
    /// The groupings that its rows come from, innermost first; those below a join are left out.
    pub(super) groupings: Vec<Arc<Grouping>>,
}

/// A SELECT that makes groups, and its columns for the engine.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(super) select: Select,
    pub(super) fields: Schema,
}

/// A column of a SELECT.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// An expression over the FROM clause.
    pub(super) sql: String,
    /// The expression in the source's own form, without the conversion for the engine's comparisons.
    pub(super) raw: Option<Raw>,
    /// The common type of both sides; absent for a column that is only passed on.
    pub(super) type_: Option<Type>,
    /// Whether its values are unique.
    pub(super) unique: bool,
}

/// A text column as it is at the source: in its own collation, in which its indexes and statistics are.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) sql: String,
    /// [`Type::Text`] or [`Type::Padded`].
    pub(super) type_: Type,
    /// Whether values are equal there exactly where they are so to the engine.
    pub(super) exact: bool,
}

impl Output {
    /// Returns the raw form, if the source's equality is the engine's, or at least finds all its equals.
    pub(super) fn comparable(&self, dialect: &Pushdown) -> Option<&Raw> {
        self.raw.as_ref().filter(|raw| raw.exact || dialect.equality_is_wider)
    }
}

impl Select {
    /// Selects these columns from `from`, without further clauses.
    pub(super) fn over(
        connection: usize,
        dialect: Option<&'static Pushdown>,
        from: String,
        outputs: Vec<Output>,
    ) -> Self {
        Self {
            connection,
            dialect,
            from,
            outputs,
            has_constants: false,
            filters: Vec::new(),
            group: None,
            distinct: false,
            order: Vec::new(),
            limit: None,
            groupings: Vec::new(),
        }
    }

    /// Adds a grouping of the rows, with these columns.
    pub(super) fn grouping(mut self, fields: Schema) -> Self {
        self.groupings.push(Arc::new(Grouping { select: self.clone(), fields }));
        self
    }

    /// Whether `other` makes the same groups, maybe with other columns.
    pub(super) fn makes_the_groups_of(&self, other: &Self) -> bool {
        let same = |one: &Self| (one.connection, one.distinct, one.limit, one.has_constants);
        self.group.is_some()
            && same(self) == same(other)
            && (&self.from, &self.filters, &self.group) == (&other.from, &other.filters, &other.group)
            && self.order == other.order
    }

    /// Returns the SELECT without its conditions, if it has conditions and they alone decide which rows it has.
    pub(crate) fn unconditional(&self) -> Option<Self> {
        let is_plain = self.is_open() && !self.filters.is_empty();
        is_plain.then(|| Self { filters: Vec::new(), order: Vec::new(), ..self.clone() })
    }

    /// Returns true if the values of the column at `place` are unique.
    pub(crate) fn is_unique(&self, place: usize) -> bool {
        self.outputs.get(place).is_some_and(|output| output.unique)
    }

    /// Whether further conditions and columns can be added to it; else it is to be [wrapped](Self::wrapped).
    pub(super) fn is_open(&self) -> bool {
        self.group.is_none() && !self.distinct && self.limit.is_none()
    }

    /// Returns a SELECT of all columns of this one, to which further clauses can be added.
    pub(super) fn wrapped(self) -> Self {
        if self.is_open() { self } else { self.nested() }
    }

    /// Does what [`Self::wrapped`] does for columns that become keys of GROUP BY or ORDER BY.
    pub(super) fn wrapped_for_keys(self) -> Self {
        if self.has_constants { self.nested() } else { self.wrapped() }
    }

    fn nested(self) -> Self {
        let (from, outputs) = self.derived("d");
        Self { groupings: self.groupings, ..Self::over(self.connection, self.dialect, from, outputs) }
    }

    /// As a derived table with this alias, for another FROM; and its columns there.
    pub(super) fn derived(&self, alias: &str) -> (String, Vec<Output>) {
        let outputs = (self.outputs.iter().enumerate())
            .map(|(place, output)| Output {
                sql: format!("{alias}.c{place}"),
                raw: None,
                type_: output.type_,
                unique: output.unique,
            })
            .collect();
        (format!("({}) AS {alias}", self.text(false)), outputs)
    }

    /// Keeps these columns alone.
    pub(crate) fn only(self, places: &[usize]) -> Self {
        let select = if self.distinct { self.wrapped() } else { self };
        let outputs = places.iter().filter_map(|place| select.outputs.get(*place).cloned()).collect();
        Self { outputs, ..select }
    }

    /// The text that is sent: its columns as they are at the source.
    pub(crate) fn sent(&self) -> String {
        self.text(true)
    }

    fn text(&self, outermost: bool) -> String {
        let column = |(place, output): (usize, &Output)| {
            let is_sent = |raw: &&Raw| raw.type_ == Type::Text && outermost && self.group.is_none() && !self.distinct;
            let raw = output.raw.as_ref().filter(is_sent).map(|raw| &raw.sql);
            format!("{} AS c{place}", raw.unwrap_or(&output.sql))
        };
        let mut columns: Vec<String> = self.outputs.iter().enumerate().map(column).collect();
        if columns.is_empty() {
            columns.push("1 AS c0".to_owned());
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let mut text = format!("SELECT {distinct}{} FROM {}", columns.join(", "), self.from);
        if !self.filters.is_empty() {
            text.push_str(" WHERE ");
            text.push_str(&self.filters.join(" AND "));
        }
        if let Some(group) = self.group.as_ref().filter(|group| !group.is_empty()) {
            text.push_str(" GROUP BY ");
            text.push_str(&group.join(", "));
        }
        if !self.order.is_empty() {
            text.push_str(" ORDER BY ");
            text.push_str(&self.order.join(", "));
        }
        if let Some(limit) = self.limit {
            text.push_str(&format!(" LIMIT {limit}"));
        }
        text
    }

    /// Returns the common type of the column at `place`.
    pub(crate) fn type_at(&self, place: usize) -> Option<Type> {
        self.outputs.get(place)?.type_
    }

    /// Restricts the rows to those whose column at `place` is among the values of `type_` bound to `parameter`, and
    /// possibly some more; `None` if the source cannot.
    pub(crate) fn among(self, place: usize, parameter: &str, type_: Type) -> Option<Self> {
        let dialect = self.dialect?;
        let mut select = self.wrapped();
        let output = select.outputs.get(place)?;
        let condition = match output.comparable(dialect) {
            Some(raw) => (dialect.among)(&raw.sql, parameter, raw.type_),
            None => (dialect.among)(&output.sql, parameter, type_),
        };
        select.filters.push(condition?);
        Some(select)
    }

    /// Restricts the rows to those whose column at `place` is between two literals of its type, if given.
    pub(crate) fn between(self, place: usize, least: Option<&str>, most: Option<&str>) -> Option<Self> {
        let literal = self.dialect?.literal;
        let mut select = self.wrapped();
        let output = select.outputs.get(place)?.clone();
        let type_ = output.type_?;
        for (operator, bound) in [(">=", least), ("<=", most)] {
            if let Some(bound) = bound {
                select.filters.push(format!("{} {operator} {}", output.sql, literal(bound, type_)?));
            }
        }
        Some(select)
    }
}
