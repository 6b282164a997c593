//! `LIKE` and `GLOB` with the engine's semantics, checking the stop switch in between: matching a long text takes
//! time proportional to the product of its length and the pattern's.

use crate::sqlite::functions::stop::Stopped;
use crate::sqlite::functions::text::read;

/// The special characters of one of the two; 0 means none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternSyntax {
    all: u32,
    one: u32,
    /// `[` of GLOB, or the character that escapes in LIKE.
    other: u32,
    sets: bool,
    folds: bool,
}

impl PatternSyntax {
    /// `GLOB`.
    pub(crate) const GLOB: Self =
        Self { all: '*' as u32, one: '?' as u32, other: '[' as u32, sets: true, folds: false };
    /// `LIKE` without ESCAPE.
    pub(crate) const LIKE: Self = Self { all: '%' as u32, one: '_' as u32, other: 0, sets: false, folds: true };

    /// `LIKE` with a character that escapes.
    pub(crate) fn escaped(escape: u32) -> Self {
        let like = Self::LIKE;
        let unless = |meant: u32| if meant == escape { 0 } else { meant };
        Self { all: unless(like.all), one: unless(like.one), other: escape, ..like }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Match,
    No,
    /// No, and no other place for an earlier wildcard would help.
    NoWildcard,
}

/// Characters between two looks at the switch.
const STRIDE: u32 = 64 * 1024;

/// Whether `text` matches `pattern`.
///
/// # Errors
/// [`Stopped`] when `stop` says so.
pub(crate) fn matches(
    pattern: &[u8],
    text: &[u8],
    form: PatternSyntax,
    stop: &dyn Fn() -> bool,
) -> Result<bool, Stopped> {
    // The engine reads both up to their first zero.
    let until_zero = |octets| <[u8]>::split(octets, |octet| *octet == 0).next().unwrap_or_default();
    let mut matching = Matching { pattern: until_zero(pattern), text: until_zero(text), form, stop, steps: 0 };
    Ok(matching.compare(0, 0)? == Outcome::Match)
}

struct Matching<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    form: PatternSyntax,
    stop: &'a dyn Fn() -> bool,
    steps: u32,
}

impl Matching<'_> {
    fn tick(&mut self) -> Result<(), Stopped> {
        self.steps += 1;
        if self.steps >= STRIDE {
            self.steps = 0;
            if (self.stop)() {
                return Err(Stopped);
            }
        }
        Ok(())
    }

    fn of_pattern(&self, at: &mut usize) -> u32 {
        advance(self.pattern, at)
    }

    fn of_text(&self, at: &mut usize) -> u32 {
        advance(self.text, at)
    }

    /// The engine's `patternCompare`, step for step. It calls itself once for each wildcard.
    fn compare(&mut self, mut p: usize, mut t: usize) -> Result<Outcome, Stopped> {
        let form = self.form;
        let mut escaped = None;
        loop {
            self.tick()?;
            let mut c = self.of_pattern(&mut p);
            if c == 0 {
                return Ok(if t >= self.text.len() { Outcome::Match } else { Outcome::No });
            }
            if c == form.all {
                return self.wildcard(p, t);
            }
            if c == form.other {
                if form.sets {
                    if self.in_set(&mut p, &mut t) {
                        continue;
                    }
                    return Ok(Outcome::No);
                }
                c = self.of_pattern(&mut p);
                if c == 0 {
                    return Ok(Outcome::No);
                }
                escaped = Some(p);
            }
            let d = self.of_text(&mut t);
            if c == d || (form.folds && c < 0x80 && d < 0x80 && lower(c) == lower(d)) {
                continue;
            }
            if c == form.one && escaped != Some(p) && d != 0 {
                continue;
            }
            return Ok(Outcome::No);
        }
    }

    /// Matches the rest after a wildcard, whose end is at `p`.
    fn wildcard(&mut self, mut p: usize, mut t: usize) -> Result<Outcome, Stopped> {
        let form = self.form;
        let mut c = self.of_pattern(&mut p);
        while c == form.all || (c == form.one && form.one != 0) {
            if c == form.one && self.of_text(&mut t) == 0 {
                return Ok(Outcome::NoWildcard);
            }
            c = self.of_pattern(&mut p);
        }
        if c == 0 {
            return Ok(Outcome::Match);
        }
        if c == form.other {
            if form.sets {
                while t < self.text.len() {
                    self.tick()?;
                    let outcome = self.compare(p - 1, t)?;
                    if outcome != Outcome::No {
                        return Ok(outcome);
                    }
                    self.of_text(&mut t);
                }
                return Ok(Outcome::NoWildcard);
            }
            c = self.of_pattern(&mut p);
            if c == 0 {
                return Ok(Outcome::NoWildcard);
            }
        }
        if let Ok(octet) = u8::try_from(c)
            && octet < 0x80
        {
            let (one, two) =
                if form.folds { (octet.to_ascii_lowercase(), octet.to_ascii_uppercase()) } else { (octet, octet) };
            loop {
                self.tick()?;
                let rest = self.text.get(t..).unwrap_or_default();
                let Some(found) = memchr::memchr2(one, two, rest) else { return Ok(Outcome::NoWildcard) };
                t += found + 1;
                let outcome = self.compare(p, t)?;
                if outcome != Outcome::No {
                    return Ok(outcome);
                }
            }
        }
        loop {
            self.tick()?;
            let d = self.of_text(&mut t);
            if d == 0 {
                return Ok(Outcome::NoWildcard);
            }
            if d == c {
                let outcome = self.compare(p, t)?;
                if outcome != Outcome::No {
                    return Ok(outcome);
                }
            }
        }
    }

    /// Whether the next character is in the set that begins at `p`, behind its bracket.
    fn in_set(&self, p: &mut usize, t: &mut usize) -> bool {
        let c = self.of_text(t);
        if c == 0 {
            return false;
        }
        let (mut seen, mut inverted, mut prior) = (false, false, 0);
        let mut d = self.of_pattern(p);
        if d == u32::from('^') {
            inverted = true;
            d = self.of_pattern(p);
        }
        if d == u32::from(']') {
            seen = c == d;
            d = self.of_pattern(p);
        }
        while d != 0 && d != u32::from(']') {
            let next = self.pattern.get(*p).copied().unwrap_or(0);
            if d == u32::from('-') && next != b']' && next != 0 && prior > 0 {
                d = self.of_pattern(p);
                seen |= c >= prior && c <= d;
                prior = 0;
            } else {
                seen |= c == d;
                prior = d;
            }
            d = self.of_pattern(p);
        }
        d != 0 && seen != inverted
    }
}

/// The code point at `at`, which moves behind it; 0 at the end, where it stays.
fn advance(text: &[u8], at: &mut usize) -> u32 {
    if *at >= text.len() {
        return 0;
    }
    let (point, next) = read(text, *at);
    *at = next;
    point
}

fn lower(point: u32) -> u32 {
    if (0x41..=0x5a).contains(&point) { point + 32 } else { point }
}
