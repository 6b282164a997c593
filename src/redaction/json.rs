//! Redacts lines of JSON: secrets behind escapes, and under names chosen by callers.

use std::borrow::Cow;

use serde_json::Value;

use super::text::{REDACTED, is_secret_name, redact, stands_for_another};

/// A line of JSON without the secrets in its texts.
pub(crate) fn redact_json(line: String) -> String {
    // Most have none, and need not be parsed. An escape hides where a secret starts.
    if !line.contains('\\') && matches!(redact(&line), Cow::Borrowed(_)) {
        return line;
    }
    let Ok(mut value) = serde_json::from_str(&line) else { return redact(&line).into_owned() };
    if redact_value(&mut value, false) { value.to_string() } else { line }
}

/// The member of a record below which names are the caller's own.
const GIVEN: &str = "parameters";

/// Redacts the texts in `value`. Returns true if there were secrets. Names reveal a secret only if they are `given`
/// by a caller: our own members are known.
fn redact_value(value: &mut Value, given: bool) -> bool {
    match value {
        Value::String(text) => match redact(text) {
            Cow::Owned(clean) => {
                *text = clean;
                true
            }
            Cow::Borrowed(_) => false,
        },
        // Each of them, even after a secret was found.
        Value::Array(items) => items.iter_mut().fold(false, |found, item| redact_value(item, given) | found),
        Value::Object(members) => {
            let mut found = false;
            for (name, mut value) in std::mem::take(members) {
                found |= given && is_secret_name(name.as_bytes()) && redact_texts(&mut value);
                found |= redact_value(&mut value, given || name == GIVEN);
                let clean = redact(&name);
                found |= matches!(clean, Cow::Owned(_));
                members.insert(clean.into_owned(), value);
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Redacts all values in `value`, which is under the name of a secret. Returns true if there were any.
fn redact_texts(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |found, item| redact_texts(item) | found),
        Value::Object(members) => members.values_mut().fold(false, |found, member| redact_texts(member) | found),
        Value::String(text) if stands_for_another(text.as_bytes()) || text == REDACTED => false,
        Value::String(_) | Value::Number(_) => {
            *value = Value::from(REDACTED);
            true
        }
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    const BODY: &str = "Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9";

    #[test]
    fn a_line_of_json_stays_one() {
        let line = format!(r#"{{"a":"x \"ptc_pat_{BODY}\" y","b":["postgres://u:p@h"],"n":1,"token":"laptop"}}"#);
        let clean: Value = serde_json::from_str(&redact_json(line)).unwrap();
        let expected = r#"{"a":"x \"[redacted]\" y","b":["postgres://u:[redacted]@h"],"n":1,"token":"laptop"}"#;
        assert_eq!(clean, serde_json::from_str::<Value>(expected).unwrap());
        // Secrets behind escapes, and under a caller's own name, are found too.
        let pasted = STANDARD.encode("admin@x.org:MyPassword1");
        let escaped = json!({
            "statement": format!("select '\n{pasted}' /*\n{pasted}\n*/ --{pasted}"),
            "parameters": {
                "@password": "Hunter2", "nested": {"csrf_token": [{"a": 5, "b": "x"}, null, true]},
                "body": "{\"client_secret\": \"Hunter3\", \"note\": \"kept\"}", "note": "kept", "secret": "***"
            },
            "token": "laptop"
        });
        let clean: Value = serde_json::from_str(&redact_json(escaped.to_string())).unwrap();
        assert_eq!(
            clean,
            json!({
                "statement": "select '\n[redacted]' /*\n[redacted]\n*/ --[redacted]",
                "parameters": {
                    "@password": "[redacted]",
                    "nested": {"csrf_token": [{"a": "[redacted]", "b": "[redacted]"}, null, true]},
                    "body": "{\"client_secret\": \"[redacted]\", \"note\": \"kept\"}", "note": "kept", "secret": "***"
                },
                "token": "laptop"
            })
        );
        for name in ["password", "@api_key", "stripeApiKey", "privateKey", "aws_access_key", "passcode", "secret_key"] {
            let named = json!({"parameters": {name: "Hunter2"}}).to_string();
            assert_eq!(redact_json(named), json!({"parameters": {name: REDACTED}}).to_string(), "{name}");
        }
        let plain = r#"{"z":1,"a":"x"}"#.to_owned();
        assert_eq!(redact_json(plain.clone()), plain);
    }
}
