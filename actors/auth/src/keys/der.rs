//! Reads keys in DER (X.690): the algorithm of a public key, and the content of an envelope.

use secrecy::SecretSlice;
use x509_cert::der::asn1::{ObjectIdentifier, OctetStringRef, UintRef};
use x509_cert::der::{Decode, Reader, SliceReader};
use x509_cert::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};

/// Ed25519 (RFC 8410 §3).
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// Keys on elliptic curves (RFC 5480 §2.1.1), and the curve P-256.
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// `rsaEncryption` (RFC 8017 appendix A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// The content of a `SubjectPublicKeyInfo` (RFC 5280 §4.1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spki<'a> {
    /// The 32 octets of an Ed25519 key.
    Edwards(&'a [u8]),
    /// The two coordinates of a point on P-256.
    Elliptic(&'a [u8], &'a [u8]),
    /// Modulus and exponent of an RSA key, without leading zeros.
    Rsa(&'a [u8], &'a [u8]),
}

/// Reads a `SubjectPublicKeyInfo`.
pub(crate) fn public_key(spki: &[u8]) -> Option<Spki<'_>> {
    let spki = SubjectPublicKeyInfoRef::from_der(spki).ok()?;
    let key: &[u8] = spki.subject_public_key.as_bytes()?;
    let curve = || spki.algorithm.parameters_oid().ok();
    match spki.algorithm.oid {
        ED25519 if key.len() == 32 && spki.algorithm.parameters.is_none() => Some(Spki::Edwards(key)),
        ELLIPTIC if curve() == Some(P256) => {
            let (x, y) = key.strip_prefix(&[4]).filter(|point| point.len() == 64)?.split_at(32);
            Some(Spki::Elliptic(x, y))
        }
        RSA => {
            let mut reader = SliceReader::new(key).ok()?;
            let numbers = reader.sequence(|numbers| Ok((UintRef::decode(numbers)?, UintRef::decode(numbers)?)));
            let (n, e): (UintRef<'_>, UintRef<'_>) = numbers.ok().filter(|_| reader.is_finished())?;
            Some(Spki::Rsa(n.as_bytes(), e.as_bytes()))
        }
        _ => None,
    }
}

/// The `RSAPrivateKey` (RFC 8017 appendix A.1.2) within a PKCS #8 envelope (RFC 5208 §5).
pub(crate) fn rsa_private_key(pkcs8: &[u8]) -> Option<SecretSlice<u8>> {
    let mut reader = SliceReader::new(pkcs8).ok()?;
    let key = reader.sequence(|envelope| {
        let version = u8::decode(envelope)?;
        let algorithm = AlgorithmIdentifierRef::decode(envelope)?;
        let key = OctetStringRef::decode(envelope)?;
        // Attributes may follow.
        envelope.read_slice(envelope.remaining_len())?;
        Ok((version == 0 && algorithm.oid == RSA).then(|| SecretSlice::from(key.as_bytes().to_vec())))
    });
    key.ok().flatten()
}
