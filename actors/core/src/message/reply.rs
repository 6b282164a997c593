//! Replies through the mailbox: columns, and a lazy stream of rows that the HTTP worker polls, decodes and encodes
//! itself. No row is ever sent through a mailbox.

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
    /// Plain text (`get_instructions`).
    Text(String),
}

impl Reply {
    /// Returns the results.
    ///
    /// # Errors
    /// [`Kind::Internal`](crate::error::Kind::Internal) if the reply is a text.
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
    /// Whether the statement may write. A writing statement must be read to its end, or it is rolled back.
    pub writes: bool,
    /// The statement's class in one word, for the log.
    pub class: Option<&'static str>,
    /// Whether all changes are rolled back at the end.
    pub dry_run: bool,
    /// How long the call waited for a permit.
    pub queued: Duration,
    /// A hint beside the rows of a listing: why it is empty, and similar names.
    pub hint: Hint,
    parts: Pin<Box<dyn Stream<Item = Result<Part, Error>> + Send>>,
    /// Dropped after the stream: the stream is declared before it.
    kept: Option<Box<dyn Send>>,
}

/// A hint beside the rows of a listing; it may become known only while they are read.
#[derive(Clone, Debug, Default)]
pub struct Hint(Arc<OnceLock<String>>);

impl Hint {
    /// Sets the hint, unless it is set already.
    pub fn say(&self, hint: String) {
        let _ = self.0.set(hint);
    }

    /// Returns the hint, if it is set.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A piece of a [`Results`] stream.
pub enum Part {
    /// The start of a result.
    Columns(Arc<[Column]>),
    /// Some of its rows, at least one.
    Rows(Box<dyn Batch>),
    /// The end of a result. `affected` is the number of rows changed, −1 for a statement that only returns rows.
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

    /// Puts `read`, parts that were already read, in front. `held` is dropped once they are consumed.
    #[must_use]
    pub fn prepend(self, read: Vec<Result<Part, Error>>, held: impl Send + 'static) -> Self {
        let read = stream::iter(read).inspect(move |_| {
            // The closure holds it until then.
            let _ = &held;
        });
        Self { parts: Box::pin(read.chain(self.parts)), ..self }
    }

    /// Replaces every error by what `mend` returns for it.
    #[must_use]
    pub fn map_error(self, mend: impl Fn(Error) -> BoxFuture<'static, Error> + Send + 'static) -> Self {
        let parts = self.parts.then(move |part| match part {
            Ok(part) => ready(Ok(part)).left_future(),
            Err(error) => mend(error).map(Err).right_future(),
        });
        Self { parts: Box::pin(parts), ..self }
    }

    /// Replaces every part by what `change` returns for it.
    #[must_use]
    pub fn map_parts(self, change: impl FnMut(Part) -> Part + Send + 'static) -> Self {
        Self { parts: Box::pin(self.parts.map_ok(change)), ..self }
    }

    /// Limits each result to `most` rows. A statement that writes or has several results is still read to its end.
    /// One that is `alone` and only reads ends at the limit, and is cancelled at the source.
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

    /// Calls `notice` with every error in the stream.
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
    /// Returns the approximate size in memory, in bytes.
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

/// Rows in the driver's own memory, decoded cell by cell when they are written.
pub trait Batch: Send {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the approximate size of its values in bytes.
    fn octets(&self) -> usize;

    /// Returns one value. `row` and `column` count from 0 and are in range.
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
    /// Copies borrowed data, so that the cell owns it.
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
    /// Returns the number used in the protocol.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the name used in the protocol.
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
    /// Whether a time or a timestamp has a time zone.
    pub zoned: bool,
    /// How its texts are compared.
    pub text: TextType,
    /// Which of its texts are equal at the source.
    pub collation: Collation,
    /// Whether it belongs to its table's primary key; `None` if the source does not report that with a result.
    pub key: Option<bool>,
}

/// Which texts of a column are equal at the source (PostgreSQL, "Nondeterministic Collations").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collation {
    /// Texts with different bytes may be equal, or the source does not report it.
    #[default]
    Other,
    /// Only texts with the same bytes are equal.
    Deterministic,
}

/// How texts of a column are compared at the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextType {
    /// The values are not texts, or are compared by rules of their own.
    #[default]
    Own,
    /// As plain texts.
    Plain,
    /// Without trailing blanks, which pad the values.
    Padded,
    /// Equal if the same, but ordered by rules of their own: enums, bit strings.
    Coded,
    /// As [`TextType::Coded`], but one value may have several spellings: network addresses, money.
    Canonical,
    /// By each value's own type: the column has no declared type, as in SQLite.
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
