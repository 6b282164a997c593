//! The credential sent to the service with each request.

use async_trait::async_trait;
use portico_actors::error::Result;
use secrecy::SecretString;

/// Provides the token of the caller.
#[async_trait(?Send)]
pub trait TokenProvider {
    /// Returns the token; obtains one if there is none yet.
    ///
    /// # Errors
    /// No token can be obtained.
    async fn token(&self) -> Result<SecretString>;

    /// Returns another token in place of `refused`, which the service does not accept; `None` if there is no other
    /// one.
    ///
    /// # Errors
    /// There should be one, and it cannot be obtained.
    async fn renewed(&self, refused: &SecretString) -> Result<Option<SecretString>>;
}

/// A given token: if the service refuses it, there is no other one.
pub struct Bearer(pub SecretString);

#[async_trait(?Send)]
impl TokenProvider for Bearer {
    async fn token(&self) -> Result<SecretString> {
        Ok(self.0.clone())
    }

    async fn renewed(&self, _: &SecretString) -> Result<Option<SecretString>> {
        Ok(None)
    }
}
