//! What is shown to the service with each request.

use async_trait::async_trait;
use portico_actors::error::Result;
use secrecy::SecretString;

/// Who calls.
#[async_trait(?Send)]
pub trait TokenProvider {
    /// The token to show; whoever has none yet gets one.
    ///
    /// # Errors
    /// There is none to be had.
    async fn token(&self) -> Result<SecretString>;

    /// Another one in the place of `refused`, which the service does not take; `None` where there is no other one.
    ///
    /// # Errors
    /// There should be one, and it is not to be had.
    async fn renewed(&self, refused: &SecretString) -> Result<Option<SecretString>>;
}

/// A token that somebody gave: one that the service refuses stays refused.
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
