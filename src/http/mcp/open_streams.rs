//! Long-lived streams, and streams that resume the answer of another request: limits them per principal, and ends
//! each when its caller is no longer authorised. Their content is not known here.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, web};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use portico_actors::auth::Authenticate;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::{Credential, Endpoint, Principal};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::http::{caller, connections::peer};
use crate::mcp::target::TargetId;
use portico_actors::shares::{Share, ShareLimits, Shares};

/// When a client that has too many streams may try again: until then another is likely to end.
const RETRY_AFTER: Duration = Duration::from_secs(15);
/// The open streams of every principal, by its subject.
#[derive(Debug, Default)]
pub(in crate::http) struct OpenStreams(Shares<String>);

impl OpenStreams {
    /// Counts one more stream of `subject`, of at most `most`.
    ///
    /// # Errors
    /// [`Kind::Busy`] if the limit is reached.
    fn take(&self, subject: &str, most: usize) -> Result<Share<String>> {
        self.0.take(subject.to_owned(), 1, ShareLimits { each: most, all: usize::MAX }).map_err(|_| {
            Error::new(Kind::Busy, format!("{most} streams of this principal are open already"))
                .retry_after(RETRY_AFTER)
                .hint("close some; an administrator can raise server.max_streams")
        })
    }
}

/// The caller's credential and rights when the stream was opened.
struct AuthLease {
    app: web::Data<App>,
    credential: Credential,
    from: Option<IpAddr>,
    by: Arc<Principal>,
    target: TargetId,
}

impl AuthLease {
    /// Returns true if the caller is still the same, with at least the same rights. If that cannot be decided, it
    /// stays in force.
    async fn is_valid(&self) -> bool {
        let asked = Authenticate { credential: self.credential.clone(), endpoint: Endpoint::Mcp, from: self.from };
        match self.app.auth.authenticate(asked).await {
            Ok(now) => self.by.claims == now.claims && self.by.is_within(&self.target.caller(&now)),
            // With a quota it is told how many such credentials there were, and this is one of them.
            Err(error) => error.kind != Kind::Unauthenticated && error.get_quota().is_none(),
        }
    }
}

/// What an open stream depends on: its place among its principal's streams, and the credential that it was opened
/// with.
pub(in crate::http) struct StreamGuard {
    lease: Rc<AuthLease>,
    closing: CancellationToken,
    _held: Share<String>,
}

impl StreamGuard {
    /// Takes a place for a stream that `by` opens with `request` at the address of `target`.
    ///
    /// # Errors
    /// The request has no credential, or the principal has too many streams open.
    pub(in crate::http) fn take(
        request: &HttpRequest,
        app: &web::Data<App>,
        by: &Arc<Principal>,
        target: TargetId,
    ) -> Result<Self> {
        let (credential, from) = (caller::credential(request)?, peer::client(request, app));
        let streams = request.app_data::<web::Data<OpenStreams>>();
        let streams = streams.ok_or_else(|| Error::internal("bug: a route has no state"))?;
        Ok(Self {
            _held: streams.take(&by.subject, app.config().server.max_streams)?,
            closing: app.draining.child_token(),
            lease: Rc::new(AuthLease { app: app.clone(), credential, from, by: Arc::clone(by), target }),
        })
    }

    /// For a stream that ends with an answer: it is still read while the service stops.
    pub(in crate::http) fn of_one_answer(self) -> Self {
        Self { closing: CancellationToken::new(), ..self }
    }

    /// Returns a token that is cancelled when the stream must end: the service stops, or the caller is no longer
    /// authorised.
    pub(in crate::http) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Ends the stream when its credential is revoked, or opens less.
    pub(in crate::http) fn lost(&self) -> LocalBoxFuture<'static, ()> {
        let (validity, closing) = (self.lease.by.validity.clone(), self.closing.clone());
        async move {
            validity.lost().await;
            closing.cancel();
        }
        .boxed_local()
    }

    /// Asks whether the caller is still let in as when the stream was opened; ends the stream if not: its
    /// credential's time may be over.
    pub(in crate::http) fn check(&self) -> LocalBoxFuture<'static, ()> {
        let (lease, closing) = (Rc::clone(&self.lease), self.closing.clone());
        async move {
            if !lease.is_valid().await {
                closing.cancel();
            }
        }
        .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_bound_and_what_ends_makes_room() {
        let streams = OpenStreams::default();
        let held: Vec<_> = (0..2).map(|_| streams.take("ann", 2).unwrap()).collect();
        let refused = streams.take("ann", 2).unwrap_err();
        assert_eq!((refused.kind, refused.get_retry_after()), (Kind::Busy, Some(RETRY_AFTER)));
        let other = streams.take("bob", 2).unwrap();
        drop(held);
        assert!(streams.take("ann", 1).is_ok());
        drop(other);
        assert_eq!(streams.0.taken(), 0, "a stream that ended is counted");
    }
}
