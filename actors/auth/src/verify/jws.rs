//! Signed texts (JWS in its compact form, RFC 7515 §7.1), ours and other issuers', parsed by one parser and only
//! once: so all decisions on a token see the same members.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::keys::key::VerifyingKey;
use crate::verify::refusal::Refusal;

/// Longer than any token of ours; longer texts are not even decoded.
const LONGEST: usize = 64 * 1024;

/// The prefix that a registered media type may have if no other slash follows (RFC 7515 §4.1.9).
const APPLICATION: &str = "application/";

/// A signed text whose signature is not verified yet.
#[derive(Debug)]
pub(crate) struct Signed<'t> {
    pub(crate) header: Header,
    claims: Map<String, Value>,
    message: &'t str,
    signature: &'t str,
}

/// The members of a header that are looked at. An embedded `jwk`, `jku` or `x5u` never is: the only keys
/// are ones that we know already.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    alg: String,
    pub(crate) kid: Option<String>,
    typ: Option<String>,
    #[serde(default, deserialize_with = "there")]
    crit: bool,
}

impl Header {
    /// Returns true if this is a text of the type `media`; one without a type is of the type `JWT` (RFC 7519 §5.1).
    pub(crate) fn is_of_type(&self, media: &str) -> bool {
        plain(self.typ.as_deref().unwrap_or("JWT")).eq_ignore_ascii_case(plain(media))
    }
}

/// Returns a media type without the optional prefix.
fn plain(media: &str) -> &str {
    let head = media.get(..APPLICATION.len()).filter(|head| head.eq_ignore_ascii_case(APPLICATION));
    head.and_then(|_| media.get(APPLICATION.len()..)).filter(|rest| !rest.contains('/')).unwrap_or(media)
}

impl<'t> Signed<'t> {
    pub(crate) fn read(token: &'t str) -> Result<Self, Refusal> {
        if token.len() > LONGEST {
            return Err(Refusal::Malformed);
        }
        let parts = token.rsplit_once('.').and_then(|(message, signature)| {
            let (header, claims) = message.split_once('.')?;
            Some((object(header)?, object(claims)?, message, signature))
        });
        let (header, claims, message, signature) = parts.ok_or(Refusal::Malformed)?;
        let header = serde_json::from_value(Value::Object(header)).map_err(|_| Refusal::Malformed)?;
        Ok(Self { header, claims, message, signature })
    }

    /// Returns the text of a claim, which is not verified.
    pub(crate) fn claimed(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    /// The claims, if `key` has signed them: its algorithm decides, the token's own is only compared with it.
    pub(crate) fn verified(self, key: &VerifyingKey) -> Result<Map<String, Value>, Refusal> {
        self.check(key)?;
        Ok(self.claims)
    }

    /// The claims, if one of `keys` has signed them.
    pub(crate) fn verified_by<'k>(
        self,
        keys: impl Iterator<Item = &'k VerifyingKey>,
    ) -> Result<Map<String, Value>, Refusal> {
        let mut refusal = Refusal::UnknownKey;
        for key in keys {
            match self.check(key) {
                Ok(()) => return Ok(self.claims),
                // A key of another kind tells least.
                Err(Refusal::WrongAlgorithm) if refusal != Refusal::UnknownKey => {}
                Err(other @ (Refusal::WrongAlgorithm | Refusal::WrongSignature | Refusal::Malformed)) => {
                    refusal = other;
                }
                Err(decided) => return Err(decided),
            }
        }
        Err(refusal)
    }

    fn check(&self, key: &VerifyingKey) -> Result<(), Refusal> {
        if self.header.alg != key.algorithm.as_str() {
            return Err(Refusal::WrongAlgorithm);
        }
        if self.header.crit {
            return Err(Refusal::CriticalHeader);
        }
        let (message, algorithm) = (self.message.as_bytes(), key.algorithm.jwt());
        match jsonwebtoken::crypto::verify(self.signature, message, &key.decoding, algorithm) {
            // Bound to a key of its holder (RFC 7800), whose proof is not requested here: a thief could present it.
            Ok(true) if self.claims.contains_key("cnf") => Err(Refusal::BoundToKey),
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::WrongSignature),
            Err(_) => Err(Refusal::Malformed),
        }
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    match serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()? {
        Unique(Value::Object(members)) => Some(members),
        Unique(_) => None,
    }
}

/// A value in which no object has two members with the same name: readers differ in which of the two they take (RFC
/// 8259 §4).
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(Unique(value)) = elements.next_element()? {
                    values.push(value);
                }
                Ok(Value::Array(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
                let mut object = Map::new();
                while let Some((name, Unique(value))) = members.next_entry::<String, Unique>()? {
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom("two members have the same name"));
                    }
                }
                Ok(Value::Object(object))
            }
        }

        deserializer.deserialize_any(Any).map(Self)
    }
}

/// Returns true for any value of a member that is present.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<Map<String, Value>> {
        object(&URL_SAFE_NO_PAD.encode(text))
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect()))
            ]
        })
    }

    /// `value` as JSON, with the member `at` of all its objects' written twice.
    fn twice(value: &Value, at: &mut usize) -> String {
        match value {
            Value::Object(members) => {
                let mut written = Vec::new();
                for (name, value) in members {
                    let one = format!("{}:{}", Value::from(name.as_str()), twice(value, at));
                    if *at == 0 {
                        written.push(one.clone());
                    }
                    *at = at.wrapping_sub(1);
                    written.push(one);
                }
                format!("{{{}}}", written.join(","))
            }
            Value::Array(values) => {
                format!("[{}]", values.iter().map(|value| twice(value, at)).collect::<Vec<_>>().join(","))
            }
            leaf => leaf.to_string(),
        }
    }

    fn members(value: &Value) -> usize {
        match value {
            Value::Object(object) => object.values().map(|value| 1 + members(value)).sum(),
            Value::Array(values) => values.iter().map(members).sum(),
            _ => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn members_are_read_as_they_are_and_twice_nowhere(inner in value(), at in any::<prop::sample::Index>()) {
            let whole = json!({"claims": inner});
            prop_assert_eq!(read(&whole.to_string()), whole.as_object().cloned());
            let mut at = at.index(members(&whole));
            prop_assert_eq!(read(&twice(&whole, &mut at)), None);
        }
    }

    #[test]
    fn types_are_compared_as_media_types() {
        let header = |typ: Value| serde_json::from_value::<Header>(json!({"alg": "EdDSA", "typ": typ})).unwrap();
        for (typ, media, same) in [
            (json!("at+jwt"), "at+jwt", true),
            (json!("application/AT+JWT"), "at+jwt", true),
            (json!("at+jwt"), "application/at+jwt", true),
            (Value::Null, "JWT", true),
            (Value::Null, "at+jwt", false),
            (json!("logout+jwt"), "JWT", false),
            (json!("application/a/jwt"), "a/jwt", false),
        ] {
            assert_eq!(header(typ.clone()).is_of_type(media), same, "{typ} as {media}");
        }
    }
}
