//! Passwords as argon2id keeps them (RFC 9106). Every function here takes tens of milliseconds and
//! 19 MiB on purpose: never on an async thread, nor on the store's.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};

use crate::secret;
use portico_core::error::{Error, Result};

/// The minimal length of a password in characters. Length is what protects it, so there are no further rules (NIST
/// SP 800-63B §3.1.1).
pub const SHORTEST_PASSWORD: usize = 12;
/// Octets of a password at most, so that hashing one is bounded.
const LONGEST: usize = 1_024;

/// The hash that the password for an unknown name is compared with. No password matches it, and comparing takes as
/// long as with any other.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The PHC string of `password` under a fresh salt.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) when it is too short or too long.
pub(crate) fn hash(password: &SecretString) -> Result<String> {
    let text = password.expose_secret();
    if text.chars().count() < SHORTEST_PASSWORD || text.len() > LONGEST {
        return Err(Error::invalid(format!(
            "a password must have at least {SHORTEST_PASSWORD} characters and at most {LONGEST} octets"
        )));
    }
    let salt = secret::random::<16>()?;
    let hashed = Argon2::default().hash_password_with_salt(text.as_bytes(), salt.as_slice());
    Ok(hashed.map_err(Error::internal)?.to_string())
}

/// Returns true if `password` matches the PHC string `kept`. Without a string it takes as long and returns false.
pub(crate) fn fits(password: &SecretString, kept: Option<&str>) -> bool {
    let text = password.expose_secret();
    // Longer than any password: refused at once, for known and unknown names alike.
    if text.len() > LONGEST {
        return false;
    }
    let fits = Argon2::default().verify_password(text.as_bytes(), kept.unwrap_or(NOBODY)).is_ok();
    fits && kept.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_alone() {
        let password = SecretString::from("correct horse battery");
        let kept = hash(&password).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(kept, hash(&password).unwrap(), "the salt is fresh each time");
        assert!(fits(&password, Some(&kept)));
        assert!(!fits(&SecretString::from("correct horse batterz"), Some(&kept)));
        assert!(!fits(&password, None));
    }

    #[test]
    fn an_unknown_name_costs_a_whole_comparison() {
        // It parses, so that the work is done: a broken one would be refused at once. And it is as much work as
        // the comparison with a hash that is made today, by the same parameters and sizes.
        let nobody = argon2::password_hash::phc::PasswordHash::new(NOBODY).unwrap();
        let kept = hash(&SecretString::from("correct horse battery")).unwrap();
        let kept = argon2::password_hash::phc::PasswordHash::new(&kept).unwrap();
        assert_eq!((nobody.algorithm, nobody.version, &nobody.params), (kept.algorithm, kept.version, &kept.params));
        let sizes = |hash: &argon2::password_hash::phc::PasswordHash| {
            (hash.salt.as_ref().map(|salt| salt.len()), hash.hash.as_ref().map(argon2::password_hash::phc::Output::len))
        };
        assert_eq!(sizes(&nobody), sizes(&kept));
    }

    #[test]
    fn what_is_too_short_or_too_long_is_refused() {
        for wrong in ["", "elevenchars", &"x".repeat(LONGEST + 1)] {
            assert!(hash(&SecretString::from(wrong)).is_err(), "{}", wrong.len());
        }
        assert!(hash(&SecretString::from("dreizehn äöü")).is_ok());
    }
}
