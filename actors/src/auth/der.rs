//! The little of DER (X.690) that keys need: which algorithm a public key is for, and what lies
//! within an envelope. Everything unexpected is no key.

use secrecy::SecretSlice;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// `AlgorithmIdentifier` of Ed25519 (RFC 8410 §3), without its SEQUENCE.
const ED25519: [u8; 5] = [0x06, 0x03, 0x2b, 0x65, 0x70];
/// `AlgorithmIdentifier` of an EC key on P-256 (RFC 5480 §2.1.1).
const P256: [u8; 19] =
    [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// `AlgorithmIdentifier` of `rsaEncryption` with its NULL (RFC 8017 appendix A.1).
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// What a `SubjectPublicKeyInfo` (RFC 5280 §4.1) holds.
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
    let mut rest = only(spki, SEQUENCE)?;
    let algorithm = take(&mut rest, SEQUENCE)?;
    // The first octet counts unused bits: none.
    let key = only(rest, BIT_STRING)?.strip_prefix(&[0])?;
    if algorithm == ED25519 && key.len() == 32 {
        return Some(Spki::Edwards(key));
    }
    if algorithm == P256 {
        let (x, y) = key.strip_prefix(&[4]).filter(|point| point.len() == 64)?.split_at(32);
        return Some(Spki::Elliptic(x, y));
    }
    if algorithm == RSA {
        let mut rest = only(key, SEQUENCE)?;
        let (n, e) = (unsigned(take(&mut rest, INTEGER)?), unsigned(only(rest, INTEGER)?));
        return Some(Spki::Rsa(n, e));
    }
    None
}

/// The `RSAPrivateKey` (RFC 8017 appendix A.1.2) within a PKCS #8 envelope (RFC 5208 §5).
pub(crate) fn rsa_private_key(pkcs8: &[u8]) -> Option<SecretSlice<u8>> {
    let mut rest = only(pkcs8, SEQUENCE)?;
    take(&mut rest, INTEGER).filter(|version| *version == [0])?;
    take(&mut rest, SEQUENCE).filter(|algorithm| *algorithm == RSA)?;
    Some(SecretSlice::from(take(&mut rest, OCTET_STRING)?.to_vec()))
}

/// The contents of the next element, if it has that tag; `rest` goes on behind it.
fn take<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (first, more) = rest.split_first()?;
    let (length, mut more) = more.split_first()?;
    let mut length = usize::from(*length);
    if *first != tag {
        return None;
    }
    if length >= 0x80 {
        // The long form; no key is so large that its length takes more than two octets.
        let (octets, behind) =
            more.split_at_checked(length & 0x7f).filter(|(octets, _)| (1..=2).contains(&octets.len()))?;
        length = octets.iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet));
        more = behind;
    }
    let (contents, behind) = more.split_at_checked(length)?;
    *rest = behind;
    Some(contents)
}

/// The contents of the one element that `octets` are.
fn only(mut octets: &[u8], tag: u8) -> Option<&[u8]> {
    take(&mut octets, tag).filter(|_| octets.is_empty())
}

/// A number without the zeros in front of it.
fn unsigned(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    number.get(zeros..).unwrap_or_default()
}
