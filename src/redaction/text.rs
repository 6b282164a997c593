//! Finds secrets in a text by their forms.

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

use std::borrow::Cow;

/// The text that replaces a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// Kinds of `ptc_` words that are names and not secrets.
const NAMES: [&str; 2] = ["ci", "app"];
/// The number of characters after a prefix that are not a secret yet: texts mention prefixes.
const SHORTEST_BODY: usize = 4;
/// The minimal length of a token, and of a credential after a scheme.
const SHORTEST_TOKEN: usize = 16;
const SHORTEST_CREDENTIAL: usize = 8;
/// Letters of Base64 that are read, at least.
const SHORTEST_PASTED: usize = 16;
/// How often one escape is looked for within another.
const LAYERS: usize = 4;
/// `ptc_` in Base64, for each offset modulo three bytes; characters that depend on neighbouring bytes are left out.
const ENCODED: [&[u8]; 3] = [b"cHRjX", b"B0Y1", b"wdGNf"];
/// Schemes of `Authorization` (RFC 9110 §11.6.2).
const SCHEMES: [&[u8]; 4] = [b"bearer", b"basic", b"dpop", b"negotiate"];
/// The endings of the last word in names of parameters whose values are secrets.
const PARAMETERS: [&[u8]; 19] = [
    b"password",
    b"passwd",
    b"pwd",
    b"passphrase",
    b"passcode",
    b"secret",
    b"token",
    b"verifier",
    b"assertion",
    b"csrf",
    b"apikey",
    b"api_key",
    b"api-key",
    b"accesskey",
    b"access_key",
    b"privatekey",
    b"private_key",
    b"secret_key",
    b"secretkey",
];

/// The last letters of these.
const ENDS: &[u8] = b"drtnefyDRTNEFY";

/// The characters between a scheme and its credential.
const GAPS: [u8; 3] = *b" +\t";
/// `text` without its secrets.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let shown = Shown::new(text);
    let octets = &*shown.octets;
    let (mut places, mut clean, mut kept) = (Places::new(octets), String::new(), 0);
    while let Some((place, begins_run)) = places.next() {
        let Some((start, end)) = secret_at(octets, place, begins_run) else { continue };
        let (from, to) = (shown.begin(start).max(kept), shown.begin(end));
        clean.push_str(text.get(kept..from).unwrap_or_default());
        clean.push_str(REDACTED);
        kept = to;
        places.skip_to(end.max(place + 1));
    }
    if kept == 0 && clean.is_empty() {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The decoded bytes of a text, and the position of each in the text.
struct Shown<'t> {
    octets: Cow<'t, [u8]>,
    /// `None` if nothing is escaped; otherwise one more than there are bytes.
    places: Option<Vec<usize>>,
}

impl<'t> Shown<'t> {
    fn new(text: &'t str) -> Self {
        let mut shown = Self { octets: Cow::Borrowed(text.as_bytes()), places: None };
        for _ in 0..LAYERS {
            if !shown.unescape() {
                break;
            }
        }
        shown
    }

    /// Takes one layer of percent-encoding away, if there is one.
    fn unescape(&mut self) -> bool {
        if !self.octets.contains(&b'%') {
            return false;
        }
        let escaped = |at: usize| {
            let digit = |at: usize| self.octets.get(at).and_then(|digit| char::from(*digit).to_digit(16));
            let value = digit(at + 1)? * 16 + digit(at + 2)?;
            // Characters of other scripts stay as they are: no secret of a known form has one.
            u8::try_from(value).ok().filter(|octet| self.octets.get(at) == Some(&b'%') && octet.is_ascii())
        };
        if !(0..self.octets.len()).any(|at| escaped(at).is_some()) {
            return false;
        }
        let (mut octets, mut places, mut at) = (Vec::new(), Vec::new(), 0);
        while let Some(octet) = self.octets.get(at) {
            let (octet, length) = escaped(at).map_or((*octet, 1), |octet| (octet, 3));
            octets.push(octet);
            places.push(self.begin(at));
            at += length;
        }
        places.push(self.begin(at));
        *self = Self { octets: Cow::Owned(octets), places: Some(places) };
        true
    }

    /// Where the octet `at` begins in the text.
    fn begin(&self, at: usize) -> usize {
        match &self.places {
            None => at,
            Some(places) => places.get(at).or(places.last()).copied().unwrap_or_default(),
        }
    }
}

/// The first bytes of marks, each kind as a bit of its own …
const FIRST: [u16; 256] = octets(&[ENDS, b"pP", b"c", b"w", b"bB", b"dD", b"nN", b"$", b"-", b":", b"e"]);
/// … and the second ones. The name of a parameter is recognised by its end, anything else by its start. Nearly
/// every byte is skipped here.
const SECOND: [u16; 256] =
    octets(&[b"=\"'`<>", b"tT", b"H", b"d", b"aAeE0", b"pP", b"eE", b"a", b"-", b"/", b"wxyz0123456789-_+/"]);
const PARAMETER: u16 = 1;
const fn octets(kinds: &[&[u8]]) -> [u16; 256] {
    let mut bits = [0; 256];
    let mut kind = 0;
    while kind < kinds.len() {
        let mut at = 0;
        while at < kinds[kind].len() {
            bits[kinds[kind][at] as usize] |= 1 << kind;
            at += 1;
        }
        kind += 1;
    }
    bits
}

/// The positions where a secret may start, or its name end, in order.
struct Places<'t> {
    text: &'t [u8],
    /// Behind where the last mark began.
    behind: usize,
    mark: Option<usize>,
    /// Where the next long run of letters of Base64 begins.
    run: Option<usize>,
}

impl<'t> Places<'t> {
    fn new(text: &'t [u8]) -> Self {
        let mut places = Self { text, behind: 0, mark: None, run: next_run(text, 0) };
        places.mark = places.next_mark(0);
        places
    }

    /// The next place, and whether a long run of letters of Base64 begins there.
    fn next(&mut self) -> Option<(usize, bool)> {
        let place = self.mark.into_iter().chain(self.run).min()?;
        let begins_run = self.run == Some(place);
        if begins_run {
            self.run = next_run(self.text, run(self.text, place, is_base64));
        }
        if self.mark == Some(place) {
            self.mark = self.next_mark(place + 1);
        }
        Some((place, begins_run))
    }

    /// Continues after a secret that ends at `end`.
    fn skip_to(&mut self, end: usize) {
        if self.mark.is_some_and(|mark| mark < end) {
            self.mark = self.next_mark(end);
        }
        // The rest of a run counts as a run.
        let is_left = self.text.get(end..end + SHORTEST_PASTED).is_some_and(|rest| rest.iter().copied().all(is_base64));
        if is_left {
            self.run = Some(end);
        } else if self.run.is_some_and(|run| run < end) {
            self.run = next_run(self.text, run(self.text, end, is_base64));
        }
    }

    fn next_mark(&mut self, from: usize) -> Option<usize> {
        for (mark, pair) in self.text.windows(2).enumerate().skip(self.behind) {
            let place = match FIRST[usize::from(pair[0])] & SECOND[usize::from(pair[1])] {
                0 => continue,
                PARAMETER if pair[1] == b'=' => mark + 1,
                // The sign follows the quote.
                PARAMETER => mark + 2,
                _ => mark,
            };
            self.behind = mark + 1;
            if (from..self.text.len()).contains(&place) {
                return Some(place);
            }
        }
        None
    }
}

/// Returns the start of the next long run of Base64 letters, from `at` on, that is not preceded by such a letter.
fn next_run(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match text.get(at..at + SHORTEST_PASTED)?.iter().rposition(|octet| !is_base64(*octet)) {
            None => return Some(at),
            Some(other) => at += other + 1,
        }
    }
}

/// Returns the range of the secret recognised at `at`; `begins_run` says whether a run of Base64 letters starts
/// here.
fn secret_at(text: &[u8], at: usize, begins_run: bool) -> Option<(usize, usize)> {
    let first = *text.get(at)?;
    if begins_run {
        // The signs of a comment are letters of Base64 too.
        let bare = run(text, at, |octet| octet == b'-');
        if let Some(start) = [at, bare].into_iter().find(|start| pasted(text, *start)) {
            return Some((start, run(text, start, |octet| is_base64(octet) || octet == b'=')));
        }
    }
    match first {
        b'p' | b'P' if begins(text, at, b"ptc_") => portico_token(text, at),
        b'e' => token(text, at),
        b'c' | b'B' | b'w' if ENCODED.iter().any(|piece| text[at..].starts_with(piece)) => encoded(text, at),
        b'b' | b'B' | b'd' | b'D' | b'n' | b'N' => credential(text, at),
        b':' if text[at..].starts_with(b"://") => user_information(text, at + 3),
        b'$' if text[at..].starts_with(b"$argon") => {
            Some((at, run(text, at, |octet| octet.is_ascii_graphic() && !is_quote(octet))))
        }
        b'-' if text[at..].starts_with(b"-----BEGIN ") => private_key(text, at),
        b'=' | b':' => parameter(text, at),
        _ => None,
    }
}

/// `ptc_`, a kind, and a body.
fn portico_token(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let kind = at + b"ptc_".len();
    let body = run(text, kind, |octet| octet.is_ascii_alphabetic());
    let end = run(text, body, is_url_safe);
    let is_name = NAMES.iter().any(|name| text[kind..body].eq_ignore_ascii_case(name.as_bytes()));
    (text.get(body) == Some(&b'_') && !is_name && end - body > SHORTEST_BODY).then_some((at, end))
}

/// Recognises a compact JWS (RFC 7515 §7.1): Base64 of a JSON object, and further parts joined with dots.
fn token(text: &[u8], at: usize) -> Option<(usize, usize)> {
    // The first octet is a brace; behind it is a name in quotes, or white space.
    let (second, third) = (digit(*text.get(at + 1)?)?, digit(*text.get(at + 2)?)?);
    let behind = ((second & 0xf) << 4) | (third >> 2);
    if second >> 4 != 3 || !matches!(behind, b'"' | b' ' | b'\n' | b'\r' | b'\t') {
        return None;
    }
    let end = run(text, at, |octet| is_url_safe(octet) || octet == b'.');
    (end - at >= SHORTEST_TOKEN).then_some((at, end))
}

/// Whether the run of Base64 that begins here, which is long enough, is a text with a secret in it, or the name and password of `Basic`.
fn pasted(text: &[u8], at: usize) -> bool {
    let (mut decoded, mut bits, mut held) = (String::new(), 0, 0_u32);
    for digit in text[at..].iter().map_while(|letter| digit(*letter)) {
        (held, bits) = ((held << 6 | u32::from(digit)) & 0xfff, bits + 6);
        if bits >= 8 {
            bits -= 8;
            match u8::try_from(held >> bits & 0xff) {
                Ok(octet @ 0x20..0x7f) => decoded.push(char::from(octet)),
                _ => return false,
            }
        }
    }
    let named = decoded.split_once(':').is_some_and(|(name, _)| name.contains('@'));
    named || matches!(redact(&decoded), Cow::Owned(_))
}

/// Returns the whole run of Base64 around the form of one of our secrets.
fn encoded(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let before = text[..at].iter().rev().take_while(|octet| is_base64(**octet)).count();
    let end = run(text, at, |octet| is_base64(octet) || octet == b'=');
    (end - at >= SHORTEST_TOKEN).then_some((at - before, end))
}

/// Recognises what follows a scheme of `Authorization`.
fn credential(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let scheme = SCHEMES.iter().find(|scheme| begins(text, at, scheme))?;
    let gap = at + scheme.len();
    let start = run(text, gap, |octet| GAPS.contains(&octet));
    let end = run(text, start, |octet| is_url_safe(octet) || matches!(octet, b'.' | b'~' | b'+' | b'/' | b'='));
    // Sentences speak of schemes.
    let is_word = text[start..end].iter().all(|octet| octet.is_ascii_lowercase() || *octet == b'.');
    (start > gap && end - start >= SHORTEST_CREDENTIAL && !is_word).then_some((start, end))
}

/// The password in front of a host (RFC 3986 §3.2.1), also where the text was cut before the host.
fn user_information(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let end = run(text, at, |octet| octet.is_ascii_graphic() && !is_quote(octet) || !octet.is_ascii());
    let authority = run(text, at, |octet| !matches!(octet, b'/' | b'?' | b'#')).min(end);
    let colon = at + text[at..authority].iter().position(|octet| *octet == b':')?;
    let last_at = |to: usize| text[colon..to].iter().rposition(|octet| *octet == b'@').map(|place| colon + place);
    let is_port = text[colon + 1..authority].iter().all(u8::is_ascii_digit) || text[at] == b'[';
    let password_end = match last_at(authority) {
        Some(end) => end,
        // A slash that was not escaped, or no host any more.
        None if !is_port => last_at(end).unwrap_or(end),
        None => return None,
    };
    Some((colon + 1, password_end))
}

/// Recognises a private key in PEM (RFC 7468), or a part of it.
fn private_key(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let label = &text[at..text.len().min(at + 64)];
    contains(label, b"PRIVATE KEY")?;
    let end = contains(&text[at..], b"-----END ").map_or(text.len(), |end| at + end);
    Some((at, end))
}

/// The value of a parameter that is named as secrets are: `name=value`, `name='value'`, `"name":"value"`.
fn parameter(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let quoted_name = at.checked_sub(1).filter(|before| is_quote(text[*before]));
    let name_end = quoted_name.unwrap_or(at);
    if text[at] == b':' && quoted_name.is_none() || !is_secret_name(&text[..name_end]) {
        return None;
    }
    let start = run(text, at + 1, |octet| octet == b' ');
    let first = *text.get(start)?;
    if is_quote(first) {
        let end = run(text, start + 1, |octet| octet != first);
        return (!stands_for_another(&text[start + 1..end])).then_some((start + 1, end));
    }
    let end = run(text, start, |octet| !octet.is_ascii_whitespace() && !is_quote(octet) && !b"&;,)}]".contains(&octet));
    // A space behind the sign is a sentence's.
    let is_value = start == at + 1 || quoted_name.is_some();
    (end > start && is_value && !stands_for_another(&text[start..end])).then_some((start, end))
}

/// Returns true if a value is only a placeholder of SQL, or the rest of a redacted literal.
pub(super) fn stands_for_another(value: &[u8]) -> bool {
    match value {
        [] | b"***" => true,
        [b'$' | b'?', number @ ..] => number.iter().all(u8::is_ascii_digit),
        [b':', name @ ..] => name.iter().all(|octet| octet.is_ascii_alphanumeric() || *octet == b'_'),
        _ => false,
    }
}

/// Whether a name that ends here is one of a secret.
pub(super) fn is_secret_name(name: &[u8]) -> bool {
    let ends = name.last().is_some_and(|last| ENDS.contains(last));
    ends && PARAMETERS
        .iter()
        .any(|known| name.len().checked_sub(known.len()).is_some_and(|start| name[start..].eq_ignore_ascii_case(known)))
}

/// Where the run of octets from `start` on ends that are `wanted`.
fn run(text: &[u8], start: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|octet| wanted(**octet)).count()
}

fn begins(text: &[u8], at: usize, word: &[u8]) -> bool {
    text.get(at..at + word.len()).is_some_and(|piece| piece.eq_ignore_ascii_case(word))
}

fn contains(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|piece| piece == word)
}

/// Returns the value of a Base64 letter, in either alphabet (RFC 4648 §4 and §5).
const fn digit(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Which octets are letters of Base64 in either alphabet. A table, since every octet of every line is looked at.
const IS_BASE64: [bool; 256] = {
    let mut is_letter = [false; 256];
    let mut octet = 0_u8;
    while octet < u8::MAX {
        is_letter[octet as usize] = digit(octet).is_some();
        octet += 1;
    }
    is_letter
};

fn is_base64(octet: u8) -> bool {
    IS_BASE64[usize::from(octet)]
}

/// The letters of Base64 for addresses (RFC 4648 §5).
fn is_url_safe(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-')
}

fn is_quote(octet: u8) -> bool {
    matches!(octet, b'"' | b'\'' | b'`' | b'<' | b'>')
}
