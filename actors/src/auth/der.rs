//! The little of DER (X.690) that keys need: which algorithm a public key is for, and what lies
//! within an envelope. Everything unexpected is no key.

use secrecy::SecretSlice;

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// `AlgorithmIdentifier` of `rsaEncryption` with its NULL (RFC 8017 appendix A.1).
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

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
