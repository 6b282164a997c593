//! Text functions of the engine that take time proportional to the product of their arguments' lengths, rewritten
//! with the same results in time proportional to the sum. Bytes that are not UTF-8 are treated as the engine does.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use crate::sqlite::functions::stop::Stopped;

/// Octets between two looks at the switch.
const STRIDE: usize = 64 * 1024;

/// Whether a character cannot begin with this octet.
const fn continues(octet: u8) -> bool {
    octet & 0xc0 == 0x80
}

/// The code point at `at` and where the next one begins, as the engine reads it: beyond the end are
/// zeros.
pub(crate) fn read(text: &[u8], at: usize) -> (u32, usize) {
    let octet = |at: usize| text.get(at).copied().unwrap_or(0);
    let first = octet(at);
    let mut next = at + 1;
    if first < 0xc0 {
        return (u32::from(first), next);
    }
    // The bits behind the leading ones.
    let mut point = u32::from(match first {
        0xc0..=0xdf => first & 0x1f,
        0xe0..=0xef => first & 0x0f,
        0xf0..=0xf7 => first & 0x07,
        0xf8..=0xfb => first & 0x03,
        0xfc..=0xfd => first & 0x01,
        _ => 0,
    });
    while continues(octet(next)) {
        point = (point << 6).wrapping_add(u32::from(octet(next) & 0x3f));
        next += 1;
    }
    let invalid = point < 0x80 || point & 0xffff_f800 == 0xd800 || point & 0xffff_fffe == 0xfffe;
    (if invalid { 0xfffd } else { point }, next)
}

/// Where the character at `at` ends.
fn skip(text: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    if text.get(at).is_some_and(|first| *first >= 0xc0) {
        while text.get(next).is_some_and(|octet| continues(*octet)) {
            next += 1;
        }
    }
    next
}

/// `instr`: the place of `needle`, counted from 1, in characters of a text and in octets of a blob.
pub(crate) fn instr(hay: &[u8], needle: &[u8], is_text: bool) -> i64 {
    let Some(first) = needle.first() else { return 1 };
    let found = if is_text && continues(*first) {
        // It can only stand where a character begins.
        hay.starts_with(needle).then_some(0)
    } else {
        memmem::find(hay, needle)
    };
    let Some(found) = found else { return 0 };
    let before = hay.get(1..=found).unwrap_or_default();
    let places = if is_text { before.iter().filter(|octet| !continues(**octet)).count() } else { before.len() };
    i64::try_from(places).unwrap_or(i64::MAX).saturating_add(1)
}

/// `replace`; `None` if the result has more than `most` bytes.
pub(crate) fn replace(text: &[u8], pattern: &[u8], by: &[u8], most: usize) -> Option<Vec<u8>> {
    if pattern.first().is_none_or(|first| *first == 0) {
        return Some(text.to_vec());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memmem::find_iter(text, pattern) {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        out.extend_from_slice(by);
        from = at + pattern.len();
        if out.len() > most {
            return None;
        }
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    (out.len() <= most).then_some(out)
}

/// Which ends of a text are trimmed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    Left,
    Right,
    Both,
}

/// `trim`, `ltrim` and `rtrim`.
///
/// # Errors
/// [`Stopped`] when `stop` says so.
pub(crate) fn trim<'t>(
    text: &'t [u8],
    characters: &[u8],
    ends: Ends,
    stop: &dyn Fn() -> bool,
) -> Result<&'t [u8], Stopped> {
    // Up to its first zero, and each with its place: of several that fit the first one counts.
    let characters = characters.split(|octet| *octet == 0).next().unwrap_or_default();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut at = 0;
    while at < characters.len() {
        let next = skip(characters, at);
        let place = places.len();
        places.entry(characters.get(at..next).unwrap_or_default()).or_insert(place);
        at = next;
    }
    let lengths: HashSet<usize> = places.keys().map(|character| character.len()).collect();
    let mut looked = 0_usize;
    let mut fitting = |rest: &[u8], left: bool| -> Result<Option<usize>, Stopped> {
        let mut best: Option<(usize, usize)> = None;
        for length in lengths.iter().copied().filter(|length| *length <= rest.len()) {
            looked += length + 16;
            if looked > STRIDE {
                looked = 0;
                if stop() {
                    return Err(Stopped);
                }
            }
            let piece = if left { rest.get(..length) } else { rest.get(rest.len() - length..) };
            if let Some(place) = piece.and_then(|piece| places.get(piece))
                && best.is_none_or(|(first, _)| *place < first)
            {
                best = Some((*place, length));
            }
        }
        Ok(best.map(|(_, length)| length))
    };
    let mut rest = text;
    if matches!(ends, Ends::Left | Ends::Both) {
        while let Some(length) = fitting(rest, true)? {
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    if matches!(ends, Ends::Right | Ends::Both) {
        while let Some(length) = fitting(rest, false)? {
            rest = rest.get(..rest.len() - length).unwrap_or_default();
        }
    }
    Ok(rest)
}

/// `unhex` with characters to skip; `None` if it returns NULL.
pub(crate) fn unhex(hex: &[u8], passed: &[u8]) -> Option<Vec<u8>> {
    let mut points = HashSet::new();
    let mut at = 0;
    while at < passed.len() {
        let (point, next) = read(passed, at);
        points.insert(point);
        at = next;
    }
    let digit = |octet: u8| char::from(octet).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let octet = |at: usize| hex.get(at).copied().unwrap_or(0);
    let mut out = Vec::with_capacity(hex.len() / 2);
    let mut at = 0;
    while octet(at) != 0 {
        let Some(high) = digit(octet(at)) else {
            let (point, next) = read(hex, at);
            if !points.contains(&point) {
                return None;
            }
            at = next;
            continue;
        };
        let low = digit(octet(at + 1))?;
        out.push(high << 4 | low);
        at += 2;
    }
    Some(out)
}
