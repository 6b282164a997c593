//! Whether strict parsers read a JSON text where it is nested in an answer.

/// Levels that a value may have within ours: some parsers read 64 altogether.
const DEPTH: usize = 50;
/// Digits that no number overflows with.
const PLAIN_DIGITS: usize = 300;

/// Returns true if `json`, which is valid JSON, can be read by all parsers: not nested too deeply, without unpaired
/// surrogates, and without numbers out of range. Takes a single pass.
pub(in crate::encode) fn is_strict(json: &str) -> bool {
    let bytes = json.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match string(bytes, at + 1) {
                Some(end) => at = end,
                None => return false,
            },
            b'0'..=b'9' => {
                let end = number(bytes, at);
                let exponent =
                    bytes.get(at..end).is_some_and(|digits| digits.contains(&b'e') || digits.contains(&b'E'));
                let finite = || json.get(at..end).and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_finite);
                if (exponent || end - at > PLAIN_DIGITS) && !finite() {
                    return false;
                }
                at = end;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH {
                    return false;
                }
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => at += 1,
        }
    }
    true
}

fn number(bytes: &[u8], start: usize) -> usize {
    let goes_on = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    bytes.iter().skip(start).position(|byte| !goes_on(byte)).map_or(bytes.len(), |length| start + length)
}

/// Returns the index after the string whose first character is at `at`; `None` if it contains an unpaired
/// surrogate.
fn string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    let mut high = false;
    loop {
        let unit = match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', _) => return (!high).then_some(at + 1),
            (b'\\', Some(b'u')) => {
                let digits = std::str::from_utf8(bytes.get(at + 2..at + 6)?).ok()?;
                at += 6;
                u16::from_str_radix(digits, 16).ok()?
            }
            (b'\\', _) => {
                at += 2;
                0
            }
            _ => {
                at += 1;
                0
            }
        };
        match unit {
            0xd800..0xdc00 if !high => high = true,
            0xdc00..0xe000 if high => high = false,
            0xd800..0xe000 => return None,
            _ if high => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::is_strict;

    #[test]
    fn what_is_strict_is_read() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let (fits, deep, digits) = (nested(50), nested(51), "9".repeat(400));
        for (json, expected) in [
            ("null", true),
            (r#"{"a": [1, -2.5e3, "x\"[[\\", {}], "é🙂": true}"#, true),
            (r#""\ud83d\ude42 \u0000 \\ud800""#, true),
            (r#""\ud83d""#, false),
            (r#""\ude42""#, false),
            (r#"{"\ud83dx": 1}"#, false),
            (r#""\ud83d\ud83d\ude42""#, false),
            (r#""\ud83d\n""#, false),
            ("1e999", false),
            ("[-1E+400]", false),
            ("1e-999", true),
            (&digits, false),
            (&fits, true),
            (&deep, false),
        ] {
            assert_eq!(is_strict(json), expected, "{json}");
            let answer = format!(r#"{{"result":{{"structuredContent":{{"rows":[[{json}]]}}}}}}"#);
            assert!(!expected || serde_json::from_str::<Value>(&answer).is_ok(), "{json}");
        }
    }
}
