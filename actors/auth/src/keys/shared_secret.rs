//! Keys that every process on one store has, also after a restart, and nobody else: for what clients
//! carry for us. They are derived (HKDF, RFC 5869) from the private part of the key that signs, so that
//! nothing more has to be kept, encrypted and backed up, and whoever rotates the one replaces the others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use secrecy::zeroize::Zeroizing;

use portico_core::error::{Error, Kind, Result};

/// Octets of a derived key.
const LENGTH: usize = 32;

/// Keeps these keys apart from whatever else is ever derived from the same private key.
const SALT: &[u8] = b"portico: keys that processes on one store share";

/// What the keys are derived from, as the store held it when it was last read. Its `Debug` prints
/// nothing of it.
#[derive(Clone, Default)]
pub struct SharedSecret(Arc<ArcSwapOption<Prk>>);

impl SharedSecret {
    /// The secret that `private` leads to, for good.
    pub fn new(private: &[u8]) -> Self {
        Self(Arc::new(ArcSwapOption::from_pointee(extract(private))))
    }

    /// The key for one purpose. Who needs one for another gives that another name.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] before the store was read for the first time.
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

    /// The key that signs is another one now; without one, nothing changes.
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

/// What keys are derived from, for a private key.
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
