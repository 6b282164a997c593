//! Keys that sign access tokens: making, loading and publishing them. Signing itself is in `verify/token.rs`.

use std::collections::BTreeMap;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;
use jsonwebtoken::jwk::EllipticCurve;
use jsonwebtoken::{DecodingKey, EncodingKey};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::keys::der::{self, Spki};
use crate::secret;
use portico_core::error::{Error, Result};

/// The algorithm of a key. It belongs to the key: a token's own `alg` is only compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519 (RFC 8037): the algorithm of new keys.
    EdDsa,
    /// ECDSA on P-256 with SHA-256 (RFC 7518 §3.4).
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    Rs256,
}

impl Algorithm {
    /// The `alg` of RFC 7518 or RFC 8037.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    /// Reads the `alg` of RFC 7518 or RFC 8037.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::EdDsa, Self::Es256, Self::Rs256].into_iter().find(|algorithm| algorithm.as_str() == word)
    }

    pub(crate) const fn jwt(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
        }
    }
}

/// The public part of a key: the required members of its JWK (RFC 7517), base64url without padding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kty", deny_unknown_fields)]
pub(crate) enum PublicKey {
    #[serde(rename = "OKP")]
    Edwards { crv: EdwardsCurve, x: String },
    #[serde(rename = "EC")]
    Elliptic { crv: NistCurve, x: String, y: String },
    #[serde(rename = "RSA")]
    Rsa { n: String, e: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EdwardsCurve {
    Ed25519,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NistCurve {
    #[serde(rename = "P-256")]
    P256,
}

impl PublicKey {
    /// Derives the public key from the private one. Not by `Jwk::from_encoding_key`, which accepts Ed25519 keys of
    /// one length only.
    pub(crate) fn from_private(algorithm: Algorithm, private: &[u8]) -> Result<Self> {
        let from = &DEFAULT_PROVIDER.key_utils;
        let text = |octets: Vec<u8>| URL_SAFE_NO_PAD.encode(octets);
        match algorithm {
            Algorithm::EdDsa => (from.ed_pub_components_from_private_key)(private, &EllipticCurve::Ed25519)
                .map(|x| Self::Edwards { crv: EdwardsCurve::Ed25519, x: text(x) }),
            Algorithm::Es256 => (from.ec_pub_components_from_private_key)(private, algorithm.jwt())
                .map(|(_, x, y)| Self::Elliptic { crv: NistCurve::P256, x: text(x), y: text(y) }),
            Algorithm::Rs256 => {
                (from.rsa_pub_components_from_private_key)(private).map(|(n, e)| Self::Rsa { n: text(n), e: text(e) })
            }
        }
        .map_err(Error::internal)
    }

    /// The thumbprint of RFC 7638: the required members in lexicographic order, without white space.
    pub(crate) fn thumbprint(&self) -> Result<String> {
        let members = serde_json::to_value(self).and_then(serde_json::from_value::<BTreeMap<String, Value>>);
        let json = members.and_then(|members| serde_json::to_vec(&members)).map_err(Error::internal)?;
        Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(json)))
    }

    /// Reads only the public members of a JWK (RFC 7517 §4). Returns `None` for keys of other kinds, and for RSA
    /// keys of less than 2048 bits.
    pub(crate) fn from_jwk(jwk: &Value) -> Option<Self> {
        let text = |member: &str| jwk.get(member).and_then(Value::as_str).map(str::to_owned);
        let key = match (text("kty")?.as_str(), text("crv").as_deref()) {
            ("OKP", Some("Ed25519")) => Self::Edwards { crv: EdwardsCurve::Ed25519, x: text("x")? },
            ("EC", Some("P-256")) => Self::Elliptic { crv: NistCurve::P256, x: text("x")?, y: text("y")? },
            ("RSA", _) => Self::Rsa { n: text("n")?, e: text("e")? },
            _ => return None,
        };
        key.is_sound().then_some(key)
    }

    /// Reads a `SubjectPublicKeyInfo` in PEM (RFC 7468 §13).
    pub(crate) fn from_pem(text: &str) -> Result<Self> {
        let wrong = |message| Error::invalid(message).hint("it begins with -----BEGIN PUBLIC KEY-----");
        let body = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----");
        let body = body.and_then(|body| body.strip_suffix("-----END PUBLIC KEY-----"));
        let body: String = body
            .ok_or_else(|| wrong("this is not a public key in PEM"))?
            .chars()
            .filter(|each| !each.is_ascii_whitespace())
            .collect();
        let der = STANDARD.decode(body).map_err(|_| wrong("this is not a public key in PEM"))?;
        let text = |octets: &[u8]| URL_SAFE_NO_PAD.encode(octets);
        let key = match der::public_key(&der) {
            Some(Spki::Edwards(x)) => Self::Edwards { crv: EdwardsCurve::Ed25519, x: text(x) },
            Some(Spki::Elliptic(x, y)) => Self::Elliptic { crv: NistCurve::P256, x: text(x), y: text(y) },
            Some(Spki::Rsa(n, e)) => Self::Rsa { n: text(n), e: text(e) },
            None => return Err(wrong("the key is neither Ed25519, nor on P-256, nor RSA")),
        };
        if key.is_sound() { Ok(key) } else { Err(wrong("the key is too small; an RSA key has 2048 bits or more")) }
    }

    /// Whether each member has the length that its kind demands.
    fn is_sound(&self) -> bool {
        let length = |member: &str| URL_SAFE_NO_PAD.decode(member).map_or(0, |octets| octets.len());
        match self {
            Self::Edwards { x, .. } => length(x) == 32,
            Self::Elliptic { x, y, .. } => length(x) == 32 && length(y) == 32,
            Self::Rsa { n, e } => (256..=1024).contains(&length(n)) && (1..=8).contains(&length(e)),
        }
    }

    fn decoding_key(&self) -> Result<DecodingKey> {
        match self {
            Self::Edwards { x, .. } => DecodingKey::from_ed_components(x),
            Self::Elliptic { x, y, .. } => DecodingKey::from_ec_components(x, y),
            Self::Rsa { n, e } => DecodingKey::from_rsa_components(n, e),
        }
        .map_err(Error::internal)
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Edwards { .. } => Algorithm::EdDsa,
            Self::Elliptic { .. } => Algorithm::Es256,
            Self::Rsa { .. } => Algorithm::Rs256,
        }
    }
}

/// A newly made key, on its way into the store.
pub(crate) struct NewKey {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    /// PKCS #8 in DER; for RS256 the `RSAPrivateKey` of RFC 8017.
    pub(crate) private: SecretSlice<u8>,
    pub(crate) public: PublicKey,
}

impl NewKey {
    /// A new Ed25519 key from the operating system's generator.
    pub(crate) fn generate() -> Result<Self> {
        let seed = secret::random::<32>()?;
        Self::ed25519(&seed)
    }

    /// A new key of this kind. An RSA key has 2048 bits, and making one takes a good part of a second.
    pub(crate) fn generate_for(algorithm: Algorithm) -> Result<Self> {
        let private = match algorithm {
            Algorithm::EdDsa => return Self::generate(),
            Algorithm::Es256 => {
                let random = SystemRandom::new();
                let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
                SecretSlice::from(pkcs8.map_err(Error::internal)?.as_ref().to_vec())
            }
            Algorithm::Rs256 => {
                let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).map_err(Error::internal)?;
                let pkcs8: Pkcs8V1Der<'_> = pair.as_der().map_err(Error::internal)?;
                der::rsa_private_key(pkcs8.as_ref())
                    .ok_or_else(|| Error::internal("bug: the PKCS #8 of a new RSA key cannot be read"))?
            }
        };
        Self::from_private(algorithm, private)
    }

    /// Makes the Ed25519 key with this seed, in the only PKCS #8 form of RFC 8410 §7.
    pub(crate) fn ed25519(seed: &[u8; 32]) -> Result<Self> {
        /// SEQUENCE { version 0, SEQUENCE { id-Ed25519 }, OCTET STRING { OCTET STRING of 32 } }
        const BEFORE_THE_SEED: [u8; 16] =
            [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        let mut der = Zeroizing::new([0; 48]);
        let (head, tail) = der.split_at_mut(BEFORE_THE_SEED.len());
        head.copy_from_slice(&BEFORE_THE_SEED);
        tail.copy_from_slice(seed);
        Self::from_private(Algorithm::EdDsa, SecretSlice::from(der.to_vec()))
    }

    pub(crate) fn from_private(algorithm: Algorithm, private: SecretSlice<u8>) -> Result<Self> {
        let public = PublicKey::from_private(algorithm, private.expose_secret())?;
        Ok(Self { kid: public.thumbprint()?, algorithm, private, public })
    }
}

/// The key that signs.
pub(crate) struct SigningKey {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) encoding: EncodingKey,
}

impl SigningKey {
    pub(crate) fn new(kid: String, algorithm: Algorithm, private: &SecretSlice<u8>) -> Self {
        let der = private.expose_secret();
        let encoding = match algorithm {
            Algorithm::EdDsa => EncodingKey::from_ed_der(der),
            Algorithm::Es256 => EncodingKey::from_ec_der(der),
            Algorithm::Rs256 => EncodingKey::from_rsa_der(der),
        };
        Self { kid, algorithm, encoding }
    }
}

/// A key that verifies: the one that signs, or one that did.
pub(crate) struct VerifyingKey {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) public: PublicKey,
    pub(crate) decoding: DecodingKey,
    /// When it stopped signing.
    pub(crate) retired_at: Option<Timestamp>,
}

impl VerifyingKey {
    pub(crate) fn new(kid: String, public: PublicKey, retired_at: Option<Timestamp>) -> Result<Self> {
        Ok(Self { kid, algorithm: public.algorithm(), decoding: public.decoding_key()?, public, retired_at })
    }

    /// Its entry in a JWK set (RFC 7517 §4).
    pub(crate) fn jwk(&self) -> Jwk<'_> {
        Jwk { public: &self.public, kid: &self.kid, alg: self.algorithm.as_str(), usage: "sig" }
    }
}

/// One entry of a JWK set.
#[derive(Serialize)]
pub(crate) struct Jwk<'a> {
    #[serde(flatten)]
    public: &'a PublicKey,
    kid: &'a str,
    alg: &'static str,
    #[serde(rename = "use")]
    usage: &'static str,
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::jwk::Jwk as AnyJwk;
    use serde_json::json;

    use super::*;

    /// The private and the public key of RFC 8037 appendix A.1, and the thumbprint of A.3.
    const D: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
    const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const THUMBPRINT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

    fn rfc_8037() -> NewKey {
        NewKey::ed25519(&URL_SAFE_NO_PAD.decode(D).unwrap().try_into().unwrap()).unwrap()
    }

    #[test]
    fn an_ed25519_key_is_published_as_rfc_8037_shows_it() {
        let key = rfc_8037();
        let published = VerifyingKey::new(key.kid, key.public, None).unwrap();
        assert_eq!(
            serde_json::to_value(published.jwk()).unwrap(),
            json!({"kty": "OKP", "crv": "Ed25519", "x": X, "kid": THUMBPRINT, "alg": "EdDSA", "use": "sig"})
        );
    }

    #[test]
    fn the_published_key_is_one_that_others_can_read() {
        let key = NewKey::generate().unwrap();
        let published = VerifyingKey::new(key.kid.clone(), key.public, None).unwrap();
        let theirs: AnyJwk = serde_json::from_value(serde_json::to_value(published.jwk()).unwrap()).unwrap();
        assert_eq!(theirs.thumbprint(jsonwebtoken::jwk::ThumbprintHash::SHA256).unwrap(), key.kid);
        let signing = SigningKey::new(key.kid, key.algorithm, &key.private);
        let signature =
            jsonwebtoken::crypto::sign(b"message", &signing.encoding, jsonwebtoken::Algorithm::EdDSA).unwrap();
        let decoding = DecodingKey::from_jwk(&theirs).unwrap();
        let verify =
            |message| jsonwebtoken::crypto::verify(&signature, message, &decoding, jsonwebtoken::Algorithm::EdDSA);
        assert!(verify(b"message").unwrap());
        assert!(!verify(b"another").unwrap());
    }

    #[test]
    fn two_keys_are_never_alike() {
        assert_ne!(NewKey::generate().unwrap().kid, NewKey::generate().unwrap().kid);
    }

    #[test]
    fn a_private_key_of_another_kind_is_refused() {
        let key = rfc_8037();
        for algorithm in [Algorithm::Es256, Algorithm::Rs256] {
            assert!(PublicKey::from_private(algorithm, key.private.expose_secret()).is_err(), "{algorithm:?}");
        }
    }
}
