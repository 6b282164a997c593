//! Tables as their sources describe them: the type of each column in the engine, and what its source may do with
//! it.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result as EngineResult, internal_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures_util::StreamExt;

use super::untyped;
use crate::connections::{Connections, SourceConnection};
use crate::plan::columns::origin::{self, Origin, Origins};
use crate::plan::comparison::Comparison;
use portico_core::call::{Limits, MetadataFilter, MetadataKind, Mode, Op, Sql};
use portico_core::error::{Error, Result};
use portico_core::pattern::speaks_of;
use portico_core::reply::{Cell, Collation, Column, DataType, Part, Results, TextType};
use portico_sources::catalog;
use portico_sources::pushdown::Type;

/// A table or a view of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The place of its connection.
    pub(crate) connection: usize,
    /// Its schema at the source.
    pub(crate) schema: String,
    /// Its name at the source.
    pub(crate) name: String,
    /// Its columns, in order.
    pub(crate) columns: Vec<TableColumn>,
    /// The names of the columns of its key; empty if it has none.
    pub(crate) key: Vec<String>,
    fields: SchemaRef,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    /// Its name at the source.
    pub(crate) name: String,
    /// The common type of both sides; absent for columns that only the engine compares, or that cannot be compared.
    pub(crate) type_: Option<Type>,
    /// How its texts compare at the source.
    pub(crate) text: TextType,
    /// Which of its texts are equal there.
    pub(crate) collation: Collation,
    /// Whether it alone is the table's key.
    pub(crate) unique: bool,
    /// Whether it is an exact number without a bound.
    unbounded: bool,
}

/// Where a table is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLocation<'a> {
    /// The place of its connection.
    pub(crate) connection: usize,
    /// Its schema there.
    pub(crate) schema: &'a str,
    /// Its name there.
    pub(crate) table: &'a str,
}

impl Table {
    /// Makes the table with these columns, which are `shown` as those of another catalogue, schema and table.
    ///
    /// # Errors
    /// The source's errors in further queries.
    pub(crate) async fn new(
        connections: &dyn Connections,
        source: TableLocation<'_>,
        columns: Arc<[Column]>,
        shown: Option<&(String, String, String)>,
        origins: &Origins,
        limits: Limits,
    ) -> Result<Self> {
        let TableLocation { connection: place, schema, table: name } = source;
        let member = member(connections, place)?;
        let key = match columns.iter().map(|column| column.key).collect::<Option<Vec<_>>>() {
            Some(keys) => columns.iter().zip(keys).filter(|(_, key)| *key).map(|(it, _)| it.label.clone()).collect(),
            None => {
                let (schema, table) = (Some(schema.to_owned()), Some(name.to_owned()));
                let narrow = MetadataFilter { schema, table, ..MetadataFilter::default() };
                let listed = connections.ask(place, Op::Describe(MetadataKind::PrimaryKeys, narrow), limits).await?;
                key(listed, source).await?
            }
        };
        let mut columns = columns.to_vec();
        let is_untyped = |(_, column): &(usize, &Column)| untyped::is_untyped(column);
        let untyped: Vec<usize> = columns.iter().enumerate().filter(is_untyped).map(|(place, _)| place).collect();
        untyped::look(connections, place, (schema, name), &mut columns, &untyped, limits).await?;
        let mut known = Vec::with_capacity(columns.len());
        let mut fields = Vec::with_capacity(columns.len());
        for column in &columns {
            let kind = Kind::new(column);
            let unique = matches!(key.as_slice(), [only] if *only == column.label);
            let column = match shown {
                Some((catalog, schema, table)) => Column {
                    table: Some(table.clone()),
                    schema: Some(schema.clone()),
                    catalog: Some(catalog.clone()),
                    name: column.label.clone(),
                    ..column.clone()
                },
                None => Column {
                    table: column.table.clone().or_else(|| Some(name.to_owned())),
                    schema: column.schema.clone().or_else(|| Some(schema.to_owned())),
                    catalog: Some(member.name.to_string()),
                    ..column.clone()
                },
            };
            let nullable = !column.enforced || column.nullable;
            let field = Field::new(&column.label, kind.arrow.clone(), nullable);
            let unbounded = kind.unbounded;
            let (name, type_) = (column.label.clone(), kind.type_);
            let (text, collation) = (column.text, column.collation);
            known.push(TableColumn { name, type_, text, collation, unique, unbounded });
            let comparison = Comparison::from_column(&column);
            let origin = origins.add(Origin { column, unbounded, padded: kind.padded });
            fields.push(origin::mark(field, origin, comparison));
        }
        if known.is_empty() {
            let (schema, name) = shown.map_or((schema, name), |(_, schema, name)| (schema, name));
            return Err(Error::invalid(format!("table {schema}.{name} has no columns")));
        }
        let fields = Arc::new(Schema::new(fields));
        Ok(Self { connection: place, schema: schema.to_owned(), name: name.to_owned(), columns: known, key, fields })
    }

    /// Whether the column at `place` is an exact number without a bound.
    pub(crate) fn is_unbounded(&self, place: usize) -> bool {
        self.columns.get(place).is_some_and(|column| column.unbounded)
    }

    /// Returns the table with the digits of these columns as text.
    pub(crate) fn with_digits(&self, places: &[usize]) -> Self {
        let mut table = self.clone();
        let field = |(place, field): (usize, &Arc<Field>)| {
            if places.contains(&place) {
                Arc::new(field.as_ref().clone().with_data_type(ArrowType::Utf8))
            } else {
                Arc::clone(field)
            }
        };
        table.fields = Arc::new(Schema::new(self.fields.fields().iter().enumerate().map(field).collect::<Vec<_>>()));
        for place in places {
            if let Some(column) = table.columns.get_mut(*place) {
                column.type_ = None;
            }
        }
        table
    }
}

fn member(connections: &dyn Connections, place: usize) -> Result<&SourceConnection> {
    connections.members().get(place).ok_or_else(|| Error::internal("bug: the index of a connection is missing"))
}

/// The label of the separator between the columns of two tables.
const BETWEEN: &str = "portico, the next table";

/// Returns the columns of each of these tables, at least one and all of one connection, in one statement.
///
/// # Errors
/// The source's error for a table that does not exist, or not for this caller.
pub(crate) async fn columns(
    connections: &dyn Connections,
    tables: &[TableLocation<'_>],
    limits: Limits,
) -> Result<Vec<Arc<[Column]>>> {
    let place = tables.first().map_or(0, |table| table.connection);
    let dialect = &member(connections, place)?.driver.dialect;
    let named = |TableLocation { schema, table, .. }: &TableLocation<'_>| {
        format!("{}.{}", dialect.quoted(schema), dialect.quoted(table))
    };
    let text = match tables {
        // A source may have no more than this.
        [table] => format!("SELECT * FROM {}", named(table)),
        _ => {
            let between = format!(", NULL AS {}, ", dialect.quoted(BETWEEN));
            let all: Vec<String> = (0..tables.len()).map(|number| format!("t{number}.*")).collect();
            let from = tables.iter().enumerate().map(|(number, table)| format!("{} AS t{number}", named(table)));
            format!("SELECT {} FROM {}", all.join(&between), from.collect::<Vec<_>>().join(", "))
        }
    };
    let sql = Sql { text, ..Sql::default() };
    let mut results = connections.ask(place, Op::Script(Mode::Describe, sql), limits).await?;
    let mut told = None;
    while let Some(part) = results.next().await {
        if let Part::Columns(columns) = part? {
            told = Some(columns);
        }
    }
    let told = told.ok_or_else(|| Error::internal("bug: a description has no columns"))?;
    let apart: Vec<Arc<[Column]>> = told.split(|column| column.label == BETWEEN).map(Arc::from).collect();
    // A column may be called like that; it is not where tables are asked for one by one.
    match tables {
        [_] => Ok(vec![told]),
        _ if apart.len() == tables.len() => Ok(apart),
        _ => Err(Error::internal("bug: the description has another number of tables")),
    }
}

/// Returns the first schema that matches that of `source` and contains the table.
///
/// # Errors
/// The source's error.
pub(crate) async fn schema_of(
    connections: &dyn Connections,
    source: TableLocation<'_>,
    limits: Limits,
) -> Result<Option<String>> {
    let narrow = MetadataFilter { table: Some(source.table.to_owned()), ..MetadataFilter::default() };
    let mut results = connections.ask(source.connection, Op::Describe(MetadataKind::Tables, narrow), limits).await?;
    let [of_schema, of_table] = ["TABLE_SCHEMA", "TABLE_NAME"].map(|label| catalog::place(MetadataKind::Tables, label));
    let mut found = None;
    while let Some(part) = results.next().await {
        let Part::Rows(rows) = part? else { continue };
        for row in 0..rows.rows() {
            if let (Cell::Text(schema), Cell::Text(table)) = (rows.cell(row, of_schema)?, rows.cell(row, of_table)?)
                && table == source.table
                && speaks_of(source.schema, &schema)
            {
                found.get_or_insert(schema.into_owned());
            }
        }
    }
    Ok(found)
}

/// The columns of the primary key of exactly this table.
async fn key(mut results: Results, source: TableLocation<'_>) -> Result<Vec<String>> {
    let [of_schema, of_table, of_column] =
        ["TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"].map(|label| catalog::place(MetadataKind::PrimaryKeys, label));
    let mut found = Vec::new();
    while let Some(part) = results.next().await {
        let Part::Rows(rows) = part? else { continue };
        for row in 0..rows.rows() {
            let text = |column: usize| match rows.cell(row, column)? {
                Cell::Text(text) => Ok(text.into_owned()),
                _ => Ok::<_, Error>(String::new()),
            };
            if text(of_schema)? == source.schema && text(of_table)? == source.table {
                found.push(text(of_column)?);
            }
        }
    }
    Ok(found)
}

/// The types of a column in the engine.
struct Kind {
    arrow: ArrowType,
    type_: Option<Type>,
    /// An exact number without a bound: the engine computes with as many digits as it has.
    unbounded: bool,
    padded: bool,
}

/// Digits that an exact number has at most as an array of Arrow.
const MOST_DIGITS: i64 = 76;
/// The maximal number of digits that the engine computes with like the source.
const DIGITS: i64 = 38;

/// Digits behind the point that the engine computes with of an exact number without a bound.
pub(crate) const UNBOUNDED_SCALE: i8 = 10;

/// The type that the engine uses for computing with an unbounded exact number.
pub(crate) const UNBOUNDED: Type = Type::Decimal { precision: 38, scale: UNBOUNDED_SCALE };

impl Kind {
    fn without_bound() -> Self {
        Self {
            arrow: ArrowType::Decimal128(38, UNBOUNDED_SCALE),
            type_: Some(UNBOUNDED),
            unbounded: true,
            padded: false,
        }
    }

    fn new(column: &Column) -> Self {
        let plain = |arrow, type_| Self { arrow, type_, unbounded: false, padded: false };
        let text = |type_| plain(ArrowType::Utf8, type_);
        match column.data_type {
            DataType::Boolean => plain(ArrowType::Boolean, Some(Type::Boolean)),
            // A column whose type is not enforced may contain any whole number.
            DataType::TinyInt | DataType::SmallInt if column.enforced => plain(ArrowType::Int16, Some(Type::SmallInt)),
            DataType::Integer if column.enforced => plain(ArrowType::Int32, Some(Type::Integer)),
            DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => {
                plain(ArrowType::Int64, Some(Type::BigInt))
            }
            DataType::Float if column.enforced => plain(ArrowType::Float32, None),
            DataType::Float | DataType::Double => plain(ArrowType::Float64, None),
            DataType::Decimal | DataType::Numeric => {
                let (Ok(precision), Ok(scale)) = (u8::try_from(column.precision), i8::try_from(column.scale)) else {
                    return Self::without_bound();
                };
                let exact = Some(Type::Decimal { precision, scale });
                match column.precision {
                    1..=DIGITS if scale >= 0 && column.scale <= column.precision => {
                        plain(ArrowType::Decimal128(precision, scale), exact)
                    }
                    1..=MOST_DIGITS if scale >= 0 && column.scale <= column.precision => {
                        plain(ArrowType::Decimal256(precision, scale), None)
                    }
                    _ => Self::without_bound(),
                }
            }
            DataType::Date => plain(ArrowType::Date32, Some(Type::Date)),
            DataType::Timestamp if column.zoned => {
                let zone = Some(Arc::from("UTC"));
                plain(ArrowType::Timestamp(TimeUnit::Microsecond, zone), Some(Type::TimestampZoned))
            }
            DataType::Timestamp => plain(ArrowType::Timestamp(TimeUnit::Microsecond, None), Some(Type::Timestamp)),
            DataType::Time if !column.zoned => plain(ArrowType::Time64(TimeUnit::Microsecond), None),
            DataType::Time => text(None),
            DataType::Binary => plain(ArrowType::Binary, None),
            DataType::Uuid => text(column.enforced.then_some(Type::Uuid)),
            DataType::Varchar if !column.enforced => text(Some(Type::Text)),
            DataType::Varchar => match column.text {
                TextType::Padded => Self { padded: true, ..text(None) },
                TextType::Plain => text(Some(Type::Text)),
                TextType::Own | TextType::Coded | TextType::Canonical | TextType::Undeclared => text(None),
            },
        }
    }
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.fields)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Never called: every scan becomes part of a leaf.
    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        internal_err!("bug: a scan of a remote table was left to the engine")
    }
}
