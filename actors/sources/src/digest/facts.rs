//! Facts about tables, collected from listings.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::words;
use crate::catalog::place;
use crate::statements::texts::TextRow;
use portico_core::call::MetadataKind;
use portico_core::reply::DataType;

/// The maximal number of rows of a table whose rows are included.
pub const MOST_LOOKUP_ROWS: usize = 20;
/// The maximal number of tables whose rows are included.
const MOST_LOOKUPS: usize = 24;

/// Schema and name of a table.
pub type QualifiedName = (String, String);

/// The collected facts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Ordered by schema and name.
    pub tables: Vec<TableFacts>,
    /// Comments of schemas.
    pub(super) schema_remarks: BTreeMap<String, String>,
    /// The schema of names that stand alone.
    default_schema: Option<String>,
}

/// A table or view.
#[derive(Clone, Debug, Default)]
pub struct TableFacts {
    /// Schema and name.
    pub place: QualifiedName,
    pub(super) kind: String,
    /// Its comment.
    pub remarks: Option<String>,
    pub(super) rows: Option<i64>,
    pub(super) columns: Vec<ColumnFacts>,
    pub(super) keys: Vec<ForeignKey>,
    pub(super) partitions: usize,
    pub(super) partition_key: Option<String>,
    is_readable: bool,
    uses: u64,
    /// Keys that refer to it.
    references: usize,
    pub(super) lookup: Vec<TextRow>,
    pub(super) checks: Vec<Check>,
    /// What stands behind UNIQUE, but for the primary key.
    pub(super) unique_keys: Vec<String>,
    /// The columns that have a default, and those that are constants.
    pub(super) defaults: HashMap<String, Option<String>>,
}

/// A rule for the rows of a table.
#[derive(Clone, Debug, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// What must be true of a row, in the source's SQL.
    pub rule: String,
    /// The column that it concerns, if it concerns only one.
    pub(super) column: Option<String>,
}

impl Check {
    /// Reads the `CHECKS` of a table's details.
    pub fn read(json: Option<&str>) -> Vec<Self> {
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct ColumnFacts {
    pub(super) name: String,
    pub(super) type_name: String,
    data_type: i64,
    pub(super) remarks: Option<String>,
    pub(super) is_nullable: bool,
    pub(super) is_key: bool,
    /// The source makes its values.
    pub(super) is_generated: bool,
    /// The values that it may have, or the fields of its type, as JSON.
    pub(super) values: Option<String>,
}

/// A reference to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForeignKey {
    pub(super) columns: Vec<String>,
    pub(super) to: QualifiedName,
    pub(super) to_columns: Vec<String>,
}

fn text(row: &TextRow, metadata: MetadataKind, label: &str) -> Option<String> {
    row.get(place(metadata, label)).cloned().flatten()
}

fn named(row: &TextRow, metadata: MetadataKind, schema: &str, name: &str) -> Option<QualifiedName> {
    Some((text(row, metadata, schema).unwrap_or_default(), text(row, metadata, name)?))
}

impl Facts {
    /// Collects facts from the metadata of tables, of their details and of imported keys. A partition is merged
    /// into its parent, if that is present.
    pub fn new(tables: &[TextRow], details: &[TextRow], keys: &[TextRow], default_schema: Option<&str>) -> Self {
        let mut facts = Self { default_schema: default_schema.map(str::to_owned), ..Self::default() };
        let details: HashMap<QualifiedName, &TextRow> = details
            .iter()
            .filter_map(|row| Some((named(row, MetadataKind::TableDetails, "TABLE_SCHEMA", "TABLE_NAME")?, row)))
            .collect();
        let mut known: BTreeMap<QualifiedName, TableFacts> = BTreeMap::new();
        for row in tables {
            let of = |label| text(row, MetadataKind::Tables, label);
            let Some(place) = named(row, MetadataKind::Tables, "TABLE_SCHEMA", "TABLE_NAME") else { continue };
            let detail = |label| details.get(&place).and_then(|row| text(row, MetadataKind::TableDetails, label));
            if let Some(remarks) = detail("SCHEMA_REMARKS") {
                facts.schema_remarks.insert(place.0.clone(), remarks);
            }
            let table = TableFacts {
                kind: of("TABLE_TYPE").unwrap_or_default(),
                remarks: of("REMARKS"),
                rows: of("ROW_ESTIMATE").and_then(|rows| rows.parse().ok()),
                partition_key: detail("PARTITION_KEY"),
                is_readable: detail("IS_READABLE").as_deref() == Some("true"),
                uses: detail("USES").and_then(|uses| uses.parse().ok()).unwrap_or(0),
                checks: Check::read(detail("CHECKS").as_deref()),
                unique_keys: detail("UNIQUE_KEYS")
                    .and_then(|json| serde_json::from_str(&json).ok())
                    .unwrap_or_default(),
                defaults: detail("DEFAULTS").and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default(),
                place: place.clone(),
                ..TableFacts::default()
            };
            known.insert(place, table);
        }
        let parent = |place: &QualifiedName| {
            let parent = named(details.get(place)?, MetadataKind::TableDetails, "PARENT_SCHEMA", "PARENT_NAME")?;
            (known.contains_key(&parent) && parent != *place).then_some(parent)
        };
        let parts: Vec<(QualifiedName, QualifiedName)> =
            known.keys().filter_map(|it| Some((it.clone(), parent(it)?))).collect();
        let above: HashMap<&QualifiedName, &QualifiedName> =
            parts.iter().map(|(part, parent)| (part, parent)).collect();
        for (part, parent) in &parts {
            let mut top = parent;
            // At most as many steps as there are entries, so that a cycle ends too.
            for _ in 0..known.len() {
                let Some(higher) = above.get(top) else { break };
                top = higher;
            }
            let is_leaf = known.get(part).is_some_and(|table| !table.kind.starts_with("PARTITIONED"));
            let uses = known.remove(part).map_or(0, |table| table.uses);
            if let Some(top) = known.get_mut(top) {
                top.partitions += usize::from(is_leaf);
                top.uses += uses;
            }
        }
        facts.tables = known.into_values().collect();
        facts.add_keys(keys);
        facts
    }

    /// The table of this name.
    pub fn table(&self, place: &QualifiedName) -> Option<&TableFacts> {
        self.tables.binary_search_by(|table| table.place.cmp(place)).ok().and_then(|at| self.tables.get(at))
    }

    fn table_mut(&mut self, place: &QualifiedName) -> Option<&mut TableFacts> {
        let at = self.tables.binary_search_by(|table| table.place.cmp(place)).ok()?;
        self.tables.get_mut(at)
    }

    fn add_keys(&mut self, rows: &[TextRow]) {
        let mut key: Option<(QualifiedName, ForeignKey)> = None;
        let mut all = Vec::new();
        for row in rows {
            let of = |label| text(row, MetadataKind::ImportedKeys, label);
            let (Some(to), Some(from), Some(column)) = (
                named(row, MetadataKind::ImportedKeys, "PKTABLE_SCHEM", "PKTABLE_NAME"),
                named(row, MetadataKind::ImportedKeys, "FKTABLE_SCHEM", "FKTABLE_NAME"),
                of("FKCOLUMN_NAME"),
            ) else {
                continue;
            };
            if of("KEY_SEQ").as_deref() == Some("1") || key.is_none() {
                all.extend(key.take());
                key = Some((from, ForeignKey { columns: Vec::new(), to, to_columns: Vec::new() }));
            }
            if let Some((_, key)) = &mut key {
                key.columns.push(column);
                key.to_columns.extend(of("PKCOLUMN_NAME"));
            }
        }
        all.extend(key);
        for (from, key) in all {
            self.add_key(&from, key);
        }
    }

    fn add_key(&mut self, from: &QualifiedName, key: ForeignKey) {
        let to = key.to.clone();
        if self.table(&to).is_none() {
            return;
        }
        let Some(table) = self.table_mut(from).filter(|table| !table.keys.contains(&key)) else { return };
        table.keys.push(key);
        if let Some(referred) = self.table_mut(&to).filter(|_| to != *from) {
            referred.references += 1;
        }
    }

    /// Adds that a column refers to another one, as declared by an administrator.
    pub fn relate(&mut self, (from, column): (QualifiedName, &str), (to, to_column): (QualifiedName, &str)) {
        let key = ForeignKey { columns: vec![column.to_owned()], to, to_columns: vec![to_column.to_owned()] };
        self.add_key(&from, key);
    }

    /// Returns true if a column of this table is known to refer to another one.
    pub fn refers(&self, place: &QualifiedName, column: &str) -> bool {
        self.table(place).is_some_and(|table| table.keys.iter().any(|key| key.columns == [column]))
    }

    /// Adds the metadata of columns.
    pub fn describe(&mut self, rows: &[TextRow]) {
        for row in rows {
            let of = |label| text(row, MetadataKind::Columns, label);
            let number = |label| of(label).and_then(|number| number.parse().ok()).unwrap_or(0);
            let is = |label| of(label).as_deref() == Some("true");
            let (Some(place), Some(name)) =
                (named(row, MetadataKind::Columns, "TABLE_SCHEMA", "TABLE_NAME"), of("COLUMN_NAME"))
            else {
                continue;
            };
            let data_type = number("DATA_TYPE");
            let column = ColumnFacts {
                type_name: words::type_name(
                    &of("TYPE_NAME").unwrap_or_default(),
                    data_type,
                    number("COLUMN_SIZE"),
                    number("SCALE"),
                ),
                name,
                data_type,
                remarks: of("REMARKS"),
                is_nullable: of("IS_NULLABLE").as_deref() != Some("false"),
                is_key: is("IS_KEY"),
                is_generated: is("IS_AUTOINCREMENT") || is("IS_GENERATEDCOLUMN"),
                values: of("VALUES"),
            };
            if let Some(table) = self.table_mut(&place) {
                table.columns.push(column);
            }
        }
    }

    /// Returns the indexes of the tables, the most referenced and most used first, among equals those of the default
    /// schema.
    pub fn ranked(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.tables.len()).collect();
        let weight = |at: &usize| {
            self.tables.get(*at).map_or(0, |table| table.references + table.uses.checked_ilog10().unwrap_or(0) as usize)
        };
        let is_elsewhere =
            |at: &usize| self.tables.get(*at).map(|table| &table.place.0) != self.default_schema.as_ref();
        places.sort_by_key(|at| (std::cmp::Reverse(weight(at)), is_elsewhere(at), *at));
        places
    }

    /// Returns the tables whose rows are worth including, each with its columns: small ones with few short columns
    /// that other tables refer to.
    pub fn lookups(&self) -> Vec<(QualifiedName, Vec<String>)> {
        let ranked = self.ranked().into_iter().filter_map(|at| self.tables.get(at));
        let small = ranked.filter(|table| {
            let is_small = table.rows.is_none_or(|rows| usize::try_from(rows).is_ok_and(|it| it <= MOST_LOOKUP_ROWS));
            let is_narrow = (1..=4).contains(&table.columns.len()) && table.columns.iter().all(ColumnFacts::is_short);
            table.references > 0 && table.is_readable && is_small && is_narrow
        });
        let told = |table: &TableFacts| {
            (table.place.clone(), table.columns.iter().map(|column| column.name.clone()).collect())
        };
        small.take(MOST_LOOKUPS).map(told).collect()
    }

    /// Adds the rows of a table, unless these are too many.
    pub fn add_lookup(&mut self, place: &QualifiedName, mut rows: Vec<TextRow>) {
        if rows.len() > MOST_LOOKUP_ROWS {
            return;
        }
        let number = |row: &TextRow| row.first().cloned().flatten().and_then(|it| it.parse::<i64>().ok());
        // A source may give them in any order.
        rows.sort_by(|one, other| (number(one), one).cmp(&(number(other), other)));
        if let Some(table) = self.table_mut(place) {
            table.lookup = rows;
        }
    }
}

impl ColumnFacts {
    fn is(&self, kinds: &[DataType]) -> bool {
        kinds.iter().any(|kind| self.data_type == i64::from(kind.code()))
    }

    /// Whether its values stand without quotes.
    pub(super) fn is_bare(&self) -> bool {
        use DataType::{BigInt, Boolean, Decimal, Double, Float, Integer, Numeric, SmallInt, TinyInt};
        self.is(&[TinyInt, SmallInt, Integer, BigInt, Float, Double, Decimal, Numeric, Boolean])
    }

    /// Whether its values are short by their type.
    fn is_short(&self) -> bool {
        let is_structured = ["json", "xml", "[]", "blob", "clob"].iter().any(|it| self.type_name.contains(it));
        (self.is_bare() || self.is(&[DataType::Varchar, DataType::Date, DataType::Uuid])) && !is_structured
    }
}

impl TableFacts {
    /// Its columns with their whole comments.
    pub fn remarks_of_columns(&self) -> impl Iterator<Item = (&str, &str)> {
        self.columns.iter().filter_map(|column| Some((column.name.as_str(), column.remarks.as_deref()?)))
    }

    /// Returns the column whose value, a number or a text, identifies one row; and whether it is a number.
    pub fn key(&self) -> Option<(&str, bool)> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        let key = keys.next().filter(|key| keys.next().is_none() && (key.is_bare() || key.is(&[DataType::Varchar])))?;
        Some((key.name.as_str(), key.is_bare()))
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.kind.ends_with("TABLE")
    }
}
