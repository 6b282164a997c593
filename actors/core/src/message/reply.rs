//! What comes back through the mailbox: columns, and a lazy stream of rows that the HTTP worker
//! polls, decodes and encodes itself. No row is ever inside a mailbox.

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use crate::error::Error;

/// The answer to a [`Call`](super::call::Call).
#[derive(Debug)]
pub enum Reply {
    /// Result sets and counts.
    Results(Results),
    /// Plain words (`get_instructions`).
    Text(String),
}

impl Reply {
    /// The results of what answers with nothing else.
    ///
    /// # Errors
    /// [`Kind::Internal`](crate::error::Kind::Internal) for words.
    pub fn into_results(self) -> Result<Results, Error> {
        match self {
            Self::Results(results) => Ok(results),
            Self::Text(_) => Err(Error::internal("bug: a text was returned where rows were asked for")),
        }
    }
}

/// One result after another, read lazily: for each its [`Part::Columns`], any number of
/// [`Part::Rows`], and [`Part::Done`].
///
/// Dropping it before its end cancels the statement at the source.
pub struct Results {
    /// Whether the statement may write. A writer must be read to its end, or it is undone.
    pub writes: bool,
    /// The statement's class in one word, for the log.
    pub class: Option<&'static str>,
    /// Whether everything that was done is undone at the end.
    pub dry_run: bool,
    /// How long the call waited for its turn.
    pub queued: Duration,
    /// What a listing has to say beside its rows: why it is empty, and what is near.
    pub hint: Hint,
    parts: Pin<Box<dyn Stream<Item = Result<Part, Error>> + Send>>,
    /// Let go of after the stream, which is declared before it.
    kept: Option<Box<dyn Send>>,
}

/// Something to say beside the rows of a listing, which may come to be known while they are read.
#[derive(Clone, Debug, Default)]
pub struct Hint(Arc<OnceLock<String>>);

impl Hint {
    /// Says it; what was said first stands.
    pub fn say(&self, hint: String) {
        let _ = self.0.set(hint);
    }

    /// What is said.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A piece of a [`Results`] stream.
pub enum Part {
    /// A result begins.
    Columns(Arc<[Column]>),
    /// Some of its rows, never none.
    Rows(Box<dyn Batch>),
    /// The result is complete. `affected` counts the rows changed, −1 for a statement that only
    /// returns rows.
    Done {
        /// Rows changed, or −1.
        affected: i64,
    },
}

impl Results {
    /// Wraps a driver's stream.
    pub fn new(writes: bool, parts: impl Stream<Item = Result<Part, Error>> + Send + 'static) -> Self {
        let (class, dry_run, queued, hint) = (None, false, Duration::ZERO, Hint::default());
        Self { writes, class, dry_run, queued, hint, parts: Box::pin(parts.fuse()), kept: None }
    }

    /// The same results with parts in front that were read from them already; `held` is dropped when they are taken.
    #[must_use]
    pub fn prepend(self, read: Vec<Result<Part, Error>>, held: impl Send + 'static) -> Self {
        let read = stream::iter(read).inspect(move |_| {
            // It goes with this.
            let _ = &held;
        });
        Self { parts: Box::pin(read.chain(self.parts)), ..self }
    }

    /// The same results, and what `mend` makes of a failure among them.
    #[must_use]
    pub fn map_error(self, mend: impl Fn(Error) -> BoxFuture<'static, Error> + Send + 'static) -> Self {
        let parts = self.parts.then(move |part| match part {
            Ok(part) => ready(Ok(part)).left_future(),
            Err(error) => mend(error).map(Err).right_future(),
        });
        Self { parts: Box::pin(parts), ..self }
    }

    /// The same results, and what `change` makes of each of their parts.
    #[must_use]
    pub fn map_parts(self, change: impl FnMut(Part) -> Part + Send + 'static) -> Self {
        Self { parts: Box::pin(self.parts.map_ok(change)), ..self }
    }

    /// The same results with so many rows of each at most. What writes, or has several results, is read
    /// to its end all the same; one that is `alone` and only reads ends there, and so does its statement.
    #[must_use]
    pub fn first_rows(self, most: u64, alone: bool) -> Self {
        let ends = alone && !self.writes;
        let mut left = most;
        let mut first = move |part: Result<Part, Error>| -> Vec<Option<Result<Part, Error>>> {
            match part {
                Ok(Part::Rows(batch)) => {
                    let rows = usize::try_from(left).unwrap_or(usize::MAX).min(batch.rows());
                    left -= rows as u64;
                    let some = (rows > 0).then(|| Some(Ok(Part::Rows(Box::new(First { batch, rows })))));
                    let end = (left == 0 && ends).then(|| [Some(Ok(Part::Done { affected: -1 })), None]);
                    some.into_iter().chain(end.into_iter().flatten()).collect()
                }
                other => {
                    left = most;
                    vec![Some(other)]
                }
            }
        };
        let parts = self.parts.flat_map(move |part| stream::iter(first(part)));
        let parts = parts.take_while(|part| ready(part.is_some())).filter_map(ready);
        Self { parts: Box::pin(parts.fuse()), ..self }
    }

    /// Tells `notice` of every failure on the way.
    #[must_use]
    pub fn on_failure(self, notice: impl Fn(&Error) + Send + 'static) -> Self {
        let parts = self.parts.inspect(move |part| {
            if let Err(error) = part {
                notice(error);
            }
        });
        Self { parts: Box::pin(parts), ..self }
    }

    /// Keeps `guard` until the results are dropped.
    #[must_use]
    pub fn with_guard(mut self, guard: impl Send + 'static) -> Self {
        self.kept = Some(match self.kept.take() {
            Some(kept) => Box::new((kept, guard)),
            None => Box::new(guard),
        });
        self
    }
}

impl Stream for Results {
    type Item = Result<Part, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.parts.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results").field("writes", &self.writes).finish_non_exhaustive()
    }
}

impl Part {
    /// About how many octets it has in memory.
    pub fn octets(&self) -> usize {
        let values = match self {
            Self::Columns(columns) => columns.iter().map(Column::octets).sum(),
            Self::Rows(batch) => batch.octets(),
            Self::Done { .. } => 0,
        };
        size_of::<Self>() + values
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns(columns) => f.debug_tuple("Columns").field(columns).finish(),
            Self::Rows(batch) => write!(f, "Rows({})", batch.rows()),
            Self::Done { affected } => write!(f, "Done({affected})"),
        }
    }
}

/// Some rows in the driver's own memory, decoded cell by cell by whoever writes them.
pub trait Batch: Send {
    /// How many rows it holds.
    fn rows(&self) -> usize;

    /// About how many octets its values have.
    fn octets(&self) -> usize;

    /// One value. `row` and `column` count from 0 and are in range.
    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>, Error>;
}

/// The first rows of a batch.
struct First {
    batch: Box<dyn Batch>,
    rows: usize,
}

impl Batch for First {
    fn rows(&self) -> usize {
        self.rows
    }

    fn octets(&self) -> usize {
        self.batch.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>, Error> {
        self.batch.cell(row, column)
    }
}

/// One value, in the few forms that JSON needs. The encoder decides how each is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// SQL NULL.
    Null,
    /// A truth value.
    Boolean(bool),
    /// Any integer of up to 64 bits.
    Integer(i64),
    /// A single-precision float; NaN and infinities are legal here.
    Float(f32),
    /// A double-precision float; NaN and infinities are legal here.
    Double(f64),
    /// An exact decimal with every digit, in JSON's number syntax; or `NaN`, `Infinity`,
    /// `-Infinity`.
    Decimal(Cow<'a, str>),
    /// Text, and everything whose form on the wire is text: dates, times, UUIDs …
    Text(Cow<'a, str>),
    /// A valid JSON text: json, jsonb, and arrays.
    Json(Cow<'a, str>),
    /// Octets.
    Bytes(Cow<'a, [u8]>),
}

impl Cell<'_> {
    /// The same, with octets of its own.
    pub fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Null => Cell::Null,
            Self::Boolean(value) => Cell::Boolean(value),
            Self::Integer(value) => Cell::Integer(value),
            Self::Float(value) => Cell::Float(value),
            Self::Double(value) => Cell::Double(value),
            Self::Decimal(text) => Cell::Decimal(text.into_owned().into()),
            Self::Text(text) => Cell::Text(text.into_owned().into()),
            Self::Json(text) => Cell::Json(text.into_owned().into()),
            Self::Bytes(octets) => Cell::Bytes(octets.into_owned().into()),
        }
    }
}

/// Type codes of the SQL API, with their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are the documentation
pub enum DataType {
    Binary = 1,
    Varchar = 5,
    TinyInt = 6,
    SmallInt = 7,
    Integer = 8,
    BigInt = 9,
    Float = 10,
    Double = 11,
    Decimal = 12,
    Numeric = 13,
    Boolean = 14,
    Date = 15,
    Time = 16,
    Timestamp = 17,
    Uuid = 18,
}

impl DataType {
    /// The number on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "BINARY",
            Self::Varchar => "VARCHAR",
            Self::TinyInt => "TINYINT",
            Self::SmallInt => "SMALLINT",
            Self::Integer => "INTEGER",
            Self::BigInt => "BIGINT",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Decimal => "DECIMAL",
            Self::Numeric => "NUMERIC",
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
            Self::Uuid => "UUID",
        }
    }
}

/// Describes one column of a result: the twelve members of the SQL API, less its ordinal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The underlying column's name, else the label.
    pub name: String,
    /// The name in the result: the alias, where there is one.
    pub label: String,
    /// The underlying table.
    pub table: Option<String>,
    /// The underlying table's schema.
    pub schema: Option<String>,
    /// The underlying table's catalogue: the connection's name.
    pub catalog: Option<String>,
    /// The type on the wire.
    pub data_type: DataType,
    /// Characters or octets; 0 where the type has no such bound.
    pub length: i64,
    /// Significant digits of a number or fraction digits' total; 0 where it has no meaning.
    pub precision: i64,
    /// Digits behind the decimal point.
    pub scale: i64,
    /// Whether NULL may occur; true where the source cannot tell.
    pub nullable: bool,
    /// Whether the source holds every value to the type: SQLite does not.
    pub enforced: bool,
    /// Whether a time or a timestamp has a zone.
    pub zoned: bool,
    /// How its texts compare.
    pub text: TextType,
    /// Which of its texts are equal at their source.
    pub collation: Collation,
    /// Whether it is one of its table's primary key; absent where the source does not tell with a result.
    pub key: Option<bool>,
}

/// Which texts of a column are equal at their source (PostgreSQL, "Nondeterministic Collations").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collation {
    /// Some may be that are written otherwise; or the source does not tell.
    #[default]
    Other,
    /// Only those that are written alike.
    Deterministic,
}

/// How texts of a column compare at their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextType {
    /// They are none, or have rules of their own.
    #[default]
    Own,
    /// As what they are.
    Plain,
    /// Without the blanks at their end, with which they are filled up.
    Padded,
    /// Equal where they are the same, in an order of their own: enums, bit strings.
    Coded,
    /// The same, where a value may be written in other ways: network addresses, money.
    Canonical,
    /// As whatever they are: the column is of no type, as SQLite's may be.
    Undeclared,
}

impl Column {
    fn octets(&self) -> usize {
        let texts =
            [Some(&self.name), Some(&self.label), self.table.as_ref(), self.schema.as_ref(), self.catalog.as_ref()];
        size_of::<Self>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// A computed column: no table, nullable, no bounds.
    pub fn computed(label: impl Into<String>, data_type: DataType) -> Self {
        let label = label.into();
        Self {
            name: label.clone(),
            label,
            table: None,
            schema: None,
            catalog: None,
            data_type,
            length: 0,
            precision: 0,
            scale: 0,
            nullable: true,
            enforced: false,
            zoned: false,
            text: TextType::Own,
            collation: Collation::default(),
            key: None,
        }
    }
}
