//! Secrets that this service hands out, and the digests that it keeps of them. Signing keys are
//! not here, see `keys/key.rs`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng;
use rand::rngs::SysRng;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use portico_core::error::{Error, Result};

/// Begins every personal access token, so that scanners for leaked secrets recognise one.
pub const PAT_PREFIX: &str = "ptc_pat_";
/// Begins every client secret.
pub const CLIENT_SECRET_PREFIX: &str = "ptc_cs_";
/// Begins every client id.
pub const CLIENT_ID_PREFIX: &str = "ptc_ci_";

/// The SHA-256 of a secret: all that is ever stored of one. A secret of 256 random bits cannot be
/// guessed, so a slow hash would add cost and no safety.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Matches no secret: an unknown name is compared with it, so that it takes as long as a known one.
    pub(crate) const NONE: Self = Self([0; 32]);

    pub(crate) fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Hashes the parts together.
    pub(crate) fn of_parts(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// From the store's column.
    pub(crate) fn from_octets(octets: &[u8]) -> Option<Self> {
        octets.try_into().ok().map(Self)
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.0
    }

    /// Compares in a time that does not depend on the octets.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

/// A new secret of 256 random bits behind `prefix`, and its digest.
pub(crate) fn mint(prefix: &str) -> Result<(SecretString, Digest)> {
    let octets = random::<32>()?;
    let text = Zeroizing::new(URL_SAFE_NO_PAD.encode(octets.as_slice()));
    let mut whole = String::with_capacity(prefix.len() + text.len());
    whole.push_str(prefix);
    whole.push_str(&text);
    let secret = SecretString::from(whole);
    let digest = Digest::new(secret.expose_secret());
    Ok((secret, digest))
}

/// A new name of 128 random bits behind `prefix`: no secret.
pub(crate) fn mint_id(prefix: &str) -> Result<String> {
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random::<16>()?.as_slice())))
}

/// Octets from the operating system's generator.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut octets = Zeroizing::new([0; N]);
    SysRng.try_fill_bytes(octets.as_mut_slice()).map_err(Error::internal)?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_secrets_are_long_recognisable_and_never_alike() {
        let (one, digest) = mint(PAT_PREFIX).unwrap();
        let (other, _) = mint(PAT_PREFIX).unwrap();
        let body = one.expose_secret().strip_prefix(PAT_PREFIX).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(body).unwrap().len(), 32);
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert!(digest.fits(&Digest::new(one.expose_secret())));
        assert!(!digest.fits(&Digest::new(other.expose_secret())));
        assert!(!digest.fits(&Digest::NONE));
    }

    #[test]
    fn client_ids_hold_128_bits() {
        let id = mint_id(CLIENT_ID_PREFIX).unwrap();
        let body = id.strip_prefix(CLIENT_ID_PREFIX).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(body).unwrap().len(), 16);
        assert_ne!(id, mint_id(CLIENT_ID_PREFIX).unwrap());
    }

    #[test]
    fn debug_shows_neither_secret_nor_digest() {
        let (secret, digest) = mint(CLIENT_SECRET_PREFIX).unwrap();
        let shown = format!("{secret:?} {digest:?}");
        assert!(!shown.contains(CLIENT_SECRET_PREFIX) && !shown.contains(secret.expose_secret()), "{shown}");
        assert!(shown.ends_with("Digest"), "{shown}");
    }
}
