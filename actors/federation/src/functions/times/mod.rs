//! Dates, times and arithmetic with them.

pub(crate) mod calendar;
pub(crate) mod date_arithmetic;
pub(crate) mod elapsed;
pub(crate) mod formatted;
pub(crate) mod parts;
pub(crate) mod time_texts;
pub(crate) mod truncation;
