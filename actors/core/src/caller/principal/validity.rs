//! Whether a credential still has the rights that it was accepted with. Whatever runs under it can wait for the
//! loss.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::effects::Effects;
use crate::error::{Error, Kind};

/// Whether a credential still has the rights that it was accepted with. Statements and streams that run under it
/// end when it loses them. Expiry is no reason to end: work that was begun in time may finish.
#[derive(Clone, Default)]
pub struct Validity {
    lost: Arc<CancellationToken>,
    /// Those of the call that runs under it.
    effects: Option<Effects>,
}

impl Validity {
    /// Completes when the credential is revoked or loses rights.
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Returns true if the credential was revoked or lost rights.
    pub fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Returns a token that is cancelled when the credential is revoked or loses rights.
    pub fn child_token(&self) -> CancellationToken {
        self.lost.child_token()
    }

    /// Returns it for one call, which has these effects.
    #[must_use]
    pub fn of_call(&self, effects: &Effects) -> Self {
        Self { effects: Some(effects.clone()), ..self.clone() }
    }

    /// Returns the error for a caller whose credential was revoked or lost rights. Clients authenticate again after an
    /// [`Kind::Unauthenticated`] and send the same request: a call of which something may stand has another error.
    pub fn refusal(&self) -> Error {
        let lost = "the credential is not valid any more, or opens less than before";
        if self.effects.as_ref().is_some_and(Effects::may_stand) {
            return Error::forbidden(format!("{lost}; what ran under it may have been committed"))
                .hint("look at what it did before you send it again");
        }
        Error::unauthenticated(format!("{lost}; what ran under it was cancelled")).hint("authenticate again")
    }

    /// Replaces an error of [`Kind::Abandoned`] by the refusal, if the loss of validity was the reason.
    #[must_use]
    pub fn explain(&self, failure: Error) -> Error {
        if failure.kind == Kind::Abandoned && self.is_lost() { self.refusal() } else { failure }
    }

    /// Marks the credential as revoked or reduced.
    pub fn lose(&self) {
        self.lost.cancel();
    }

    /// Returns true if anything beside the authenticator holds a clone, so that something still runs under it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.lost) > 1
    }
}

impl fmt::Debug for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_lost() { "Validity(lost)" } else { "Validity" })
    }
}

/// The validity takes no part in comparing principals.
impl PartialEq for Validity {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Validity {}
