//! Keys that only the processes on one store have, also after a restart: for data that clients carry for us. They
//! are derived (HKDF, RFC 5869) from the private part of the signing key, so that no further key has to be stored,
//! encrypted and backed up, and rotating the signing key replaces them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use secrecy::zeroize::Zeroizing;

use portico_core::error::{Error, Kind, Result};

/// Octets of a derived key.
const LENGTH: usize = 32;

/// Separates these keys from any others derived from the same private key.
const SALT: &[u8] = b"portico: keys that processes on one store share";

/// The secret that keys are derived from, as of the last reading of the store. `Debug` prints nothing of it.
#[derive(Clone, Default)]
pub struct SharedSecret(Arc<ArcSwapOption<Prk>>);

impl SharedSecret {
    /// The secret that `private` leads to, for good.
    pub fn new(private: &[u8]) -> Self {
        Self(Arc::new(ArcSwapOption::from_pointee(extract(private))))
    }

    /// Returns the key for one purpose. Each purpose has a name of its own.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] until the store was read for the first time.
    pub fn key(&self, purpose: &str) -> Result<Zeroizing<[u8; LENGTH]>> {
        let secret = self.0.load();
        let secret = secret.as_ref().ok_or_else(|| {
            Error::new(
                Kind::Unavailable,
                "what clients carry cannot be sealed or opened before the store has been read",
            )
            .retry_after(Duration::from_secs(1))
        })?;
        let mut key = Zeroizing::new([0; LENGTH]);
        let info = [purpose.as_bytes()];
        secret.expand(&info, HKDF_SHA256).and_then(|octets| octets.fill(&mut *key)).map_err(Error::internal)?;
        Ok(key)
    }

    /// Replaces the secret after a change of the signing key; without one, nothing changes.
    pub(crate) fn replace(&self, secret: Option<&Prk>) {
        if let Some(secret) = secret {
            self.0.store(Some(Arc::new(secret.clone())));
        }
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

/// Returns the secret for a private key, from which keys are derived.
pub(crate) fn extract(private: &[u8]) -> Prk {
    Salt::new(HKDF_SHA256, SALT).extract(private)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_its_secret_and_its_purpose_alone() {
        let (one, other) = (SharedSecret::new(b"one"), SharedSecret::new(b"another"));
        let key = one.key("purpose").unwrap();
        assert_eq!(key, SharedSecret::new(b"one").key("purpose").unwrap());
        assert_ne!(key, one.key("something else").unwrap());
        assert_ne!(key, other.key("purpose").unwrap());
        one.replace(None);
        assert_eq!(key, one.key("purpose").unwrap(), "a store that is away takes nothing back");
        one.replace(Some(&extract(b"another")));
        assert_eq!(one.key("purpose").unwrap(), other.key("purpose").unwrap());
        assert_eq!(SharedSecret::default().key("purpose").unwrap_err().kind, Kind::Unavailable);
        assert_eq!(format!("{one:?}"), "SharedSecret");
    }
}
