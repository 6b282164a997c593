//! Encrypts private keys at rest: AES-256-GCM with a key that is not in the store but comes from the configuration.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice};

use crate::secret;
use portico_core::error::{Error, Result};

/// The key that private keys in the store are encrypted with. `Debug` prints nothing of it.
#[derive(Clone)]
pub struct StoreKey(Arc<SecretSlice<u8>>);

impl StoreKey {
    /// Reads 32 octets written as 64 hexadecimal digits or as base64; white space around them does
    /// not count.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for everything else, without repeating it.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let octets = from_hex(text)
            .or_else(|| [STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD].iter().find_map(|form| form.decode(text).ok()));
        match octets.map(Zeroizing::new).filter(|octets| octets.len() == AES_256_GCM.key_len()) {
            Some(octets) => Ok(Self(Arc::new(SecretSlice::from(octets.to_vec())))),
            None => Err(Error::invalid("the store's key is not 32 octets in base64 or in hexadecimal digits")
                .hint("make one with `openssl rand -base64 32`")),
        }
    }

    fn cipher(&self) -> Result<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, self.0.expose_secret()).map(LessSafeKey::new).map_err(Error::internal)
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey")
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    (0..32).map(|index| u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()).collect()
}

/// `private` encrypted: a random nonce, then the ciphertext with its tag. `kid` is bound to it, so
/// that two keys cannot change places.
pub(crate) fn seal(key: &StoreKey, kid: &str, private: &[u8]) -> Result<Vec<u8>> {
    let nonce = *secret::random::<NONCE_LEN>()?;
    let mut text = private.to_vec();
    key.cipher()?
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(kid), &mut text)
        .map_err(Error::internal)?;
    Ok([nonce.as_slice(), &text].concat())
}

/// Decrypts what [`seal`] has encrypted.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) without a key, or with another one.
pub(crate) fn open(key: Option<&StoreKey>, kid: &str, sealed: &[u8]) -> Result<SecretSlice<u8>> {
    let remedy = "give the key that it was encrypted with, in PORTICO_STORE_KEY or in the file of store.key_file";
    let key =
        key.ok_or_else(|| Error::invalid("the store's signing key is encrypted, and no key is given").hint(remedy))?;
    let wrong = || {
        Error::invalid(
            "the key that is given does not open the store's signing key, which was encrypted with another one",
        )
        .hint(remedy)
    };
    let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
    let mut text = Zeroizing::new(text.to_vec());
    let opened = key.cipher()?.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(kid), &mut text);
    opened.map(|private| SecretSlice::from(private.to_vec())).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_and_its_name_alone() {
        let (key, other) = (StoreKey::parse(&"ab".repeat(32)).unwrap(), StoreKey::parse(&"ac".repeat(32)).unwrap());
        let sealed = seal(&key, "kid", b"private").unwrap();
        assert_ne!(sealed, seal(&key, "kid", b"private").unwrap(), "a nonce is never used twice");
        assert!(!sealed.windows(7).any(|window| window == b"private"));
        assert_eq!(open(Some(&key), "kid", &sealed).unwrap().expose_secret(), b"private");
        let none = open(None, "kid", &sealed).unwrap_err();
        assert!(none.message.contains("no key is given") && none.get_hint().unwrap().contains("PORTICO_STORE_KEY"));
        for error in
            [open(Some(&other), "kid", &sealed), open(Some(&key), "other", &sealed), open(Some(&key), "kid", b"")]
        {
            assert!(error.unwrap_err().message.contains("another one"));
        }
    }

    #[test]
    fn a_key_is_32_octets_in_base64_or_hexadecimal() {
        let octets = [7; 32];
        for text in [STANDARD.encode(octets) + "\n", STANDARD_NO_PAD.encode(octets), "07".repeat(32)] {
            assert_eq!(StoreKey::parse(&text).unwrap().0.expose_secret(), octets, "{text}");
        }
        for text in ["", "hunter2", &"07".repeat(31), &"é".repeat(32), &STANDARD.encode([7; 31])] {
            let error = StoreKey::parse(text).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2") && error.get_hint().is_some());
        }
        assert_eq!(format!("{:?}", StoreKey::parse(&"07".repeat(32)).unwrap()), "StoreKey");
    }
}
