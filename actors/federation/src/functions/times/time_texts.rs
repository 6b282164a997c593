//! Texts that are cast to times, as PostgreSQL reads them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray, Time64MicrosecondArray};
use arrow_schema::ArrowError;
use datafusion::common::Result as EngineResult;

/// Times of day: hours and minutes, and seconds where they are given.
pub(in crate::functions) fn times(array: &ArrayRef) -> EngineResult<ArrayRef> {
    let time = |text: &str| {
        let (hours, rest) = text.trim().split_once(':')?;
        let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
        let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let number = |digits: &str, most: i64| {
            let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit());
            digits.parse::<i64>().ok().filter(|number| is_number && *number <= most)
        };
        let microseconds = match fraction {
            "" => 0,
            _ if fraction.len() <= 6 => format!("{fraction:0<6}").parse::<u32>().ok()?.into(),
            _ => return None,
        };
        let seconds = (number(hours, 23)? * 60 + number(minutes, 59)?) * 60 + number(seconds, 59)?;
        Some(seconds * 1_000_000 + microseconds)
    };
    let parse = |text: Option<&str>| match text.map(|text| time(text).ok_or(text)) {
        None => Ok(None),
        Some(Ok(time)) => Ok(Some(time)),
        Some(Err(text)) => Err(ArrowError::ParseError(format!("invalid input syntax for type time: {text:?}")).into()),
    };
    let times = array.as_string::<i32>().iter().map(parse).collect::<EngineResult<Time64MicrosecondArray>>()?;
    Ok(Arc::new(times))
}

/// Where the zone begins in the text of a time.
fn zone_of(text: &str) -> usize {
    let zone = text.find(':').and_then(|time| Some(time + text.get(time..)?.find(['+', '-', 'Z', 'z'])?));
    zone.unwrap_or(text.len())
}

/// Seconds may be left out.
fn with_seconds(text: &str) -> String {
    let is_short = text.matches(':').count() == 1 && text.len() == "2026-02-03 04:05".len();
    if is_short { format!("{text}:00") } else { text.to_owned() }
}

/// A timestamp without a zone takes no notice of one.
pub(in crate::functions) fn without_zone(array: &ArrayRef) -> ArrayRef {
    let cut = |text: &str| with_seconds(text.get(..zone_of(text)).unwrap_or(text).trim());
    let texts: StringArray = array.as_string::<i32>().iter().map(|text| text.map(cut)).collect();
    Arc::new(texts)
}

/// A zone may be written without its minutes.
pub(in crate::functions) fn with_zone(array: &ArrayRef) -> ArrayRef {
    let whole = |text: &str| {
        let (time, zone) = text.trim().split_at(zone_of(text.trim()));
        let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
        let zone = match (zone.get(..1), digits.len()) {
            (Some(sign @ ("+" | "-")), 1) => format!("{sign}0{digits}:00"),
            (Some(sign @ ("+" | "-")), 2) => format!("{sign}{digits}:00"),
            _ => zone.to_owned(),
        };
        format!("{}{zone}", with_seconds(time.trim()))
    };
    let texts: StringArray = array.as_string::<i32>().iter().map(|text| text.map(whole)).collect();
    Arc::new(texts)
}
