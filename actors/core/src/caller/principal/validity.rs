//! Whether a credential still opens what it opened when it was judged: told to whatever goes on under it.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Kind};

/// Whether a credential still opens what it did when it was judged. Whatever goes on under it, such as a statement
/// or a stream, ends with it. That its time is over is no reason: what was begun in it may end.
#[derive(Clone, Default)]
pub struct Validity(Arc<CancellationToken>);

impl Validity {
    /// Completes when the credential was revoked, or opens less.
    pub async fn lost(&self) {
        self.0.cancelled().await;
    }

    /// Whether that has happened.
    pub fn is_lost(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Cancelled when the credential was revoked, or opens less.
    pub fn child_token(&self) -> CancellationToken {
        self.0.child_token()
    }

    /// What is told to a caller whose credential does not open any more what it did.
    pub fn refusal() -> Error {
        Error::unauthenticated(
            "the credential is not valid any more, or opens less than before; what ran under it was cancelled",
        )
        .hint("authenticate again")
    }

    /// Why something failed that was abandoned because the credential has lost its validity.
    #[must_use]
    pub fn explain(&self, failure: Error) -> Error {
        if failure.kind == Kind::Abandoned && self.is_lost() { Self::refusal() } else { failure }
    }

    /// The credential opens nothing any more, or less.
    pub fn lose(&self) {
        self.0.cancel();
    }

    /// Whether anybody but whoever judges goes on under it.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl fmt::Debug for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_lost() { "Validity(lost)" } else { "Validity" })
    }
}

/// Who calls and how far they reach says nothing of it.
impl PartialEq for Validity {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Validity {}
