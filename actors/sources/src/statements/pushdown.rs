//! Which parts of a statement over several connections a source can execute itself, and how they are written in its
//! SQL. Only parts with exactly the engine's results are pushed down; the engine does the rest with the rows.

use std::borrow::Cow;
use std::fmt;

/// A type with the same values on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A truth value.
    Boolean,
    /// A whole number of 16 bits.
    SmallInt,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    BigInt,
    /// An exact number.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
    },
    /// Text.
    Text,
    /// Text that is padded with blanks, which are not part of its value.
    Padded,
    /// A UUID; its text is in small letters.
    Uuid,
    /// A day.
    Date,
    /// A day and a time, without a zone.
    Timestamp,
    /// A moment.
    TimestampZoned,
}

impl Type {
    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.whole_digits().is_some()
    }

    /// Digits that a whole number of this type has at most.
    fn whole_digits(self) -> Option<i16> {
        match self {
            Self::SmallInt => Some(5),
            Self::Integer => Some(10),
            Self::BigInt => Some(19),
            _ => None,
        }
    }

    /// Whether values of both types compare with each other, without a cast, as they do in the engine.
    pub fn compares_with(self, other: Self) -> bool {
        self == other || matches!((self, other), (Self::Decimal { .. }, Self::Decimal { .. }))
    }

    /// Whether each value of this type is one of `wider`.
    pub fn fits_in(self, wider: Self) -> bool {
        match (self, wider) {
            _ if self == wider => true,
            (Self::Decimal { precision, scale }, Self::Decimal { precision: room, scale: behind }) => {
                behind >= scale && i16::from(room) - i16::from(behind) >= i16::from(precision) - i16::from(scale)
            }
            (_, Self::Decimal { precision, scale }) => {
                self.whole_digits().is_some_and(|digits| i16::from(precision) - i16::from(scale) >= digits)
            }
            (Self::Date, Self::Timestamp) => true,
            _ => self.whole_digits().zip(wider.whole_digits()).is_some_and(|(digits, room)| digits < room),
        }
    }
}

/// An operation on values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Compare, group and order values.
    Compare,
    /// Add, subtract and multiply; sum up.
    Compute,
}

/// How relations and expressions are written for one source.
pub struct Pushdown {
    /// Returns true if values of a type are treated in this way exactly as the engine does.
    pub does: fn(Type, Use) -> bool,
    /// The type's name in a cast; absent where a cast is not the same here.
    pub type_name: fn(Type) -> Option<Cow<'static, str>>,
    /// A value of the type as a literal, from its text as results show it.
    pub literal: fn(&str, Type) -> Option<String>,
    /// Follows text so that it is compared by its octets.
    pub by_octets: &'static str,
    /// Whether equal bytes are also equal in the column's own collation: that comparison is then added, because
    /// indexes use the column's own collation.
    pub equality_is_wider: bool,
    /// Whether `expression` is among the values of the JSON array that is bound to `parameter`.
    pub among: fn(expression: &str, parameter: &str, Type) -> Option<String>,
    /// Equality where NULL equals NULL.
    pub null_safe_equality: &'static str,
    /// Whether LIKE is case-sensitive and has the escape `\`.
    pub like: bool,
    /// The operator that matches a text with a regular expression of PostgreSQL's.
    pub regular_expression: Option<&'static str>,
    /// The year, the month or the day of a date, as a whole number of 32 bits.
    pub date_part: fn(part: &str, expression: &str) -> Option<String>,
    /// Characters of a text from a place on, counted from 1.
    pub substring: fn(text: &str, from: &str, length: Option<&str>) -> Option<String>,
    /// How to ask it for the expected number of rows of a statement.
    pub row_estimate: Option<RowEstimate>,
}

/// How to ask a source for the expected number of rows.
pub struct RowEstimate {
    /// Makes the query for a statement.
    pub question: fn(&str) -> String,
    /// Reads the number of rows from the first value of the first row.
    pub rows: fn(&str) -> Option<u64>,
}

impl fmt::Debug for Pushdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pushdown")
    }
}
