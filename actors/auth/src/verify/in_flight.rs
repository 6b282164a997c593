//! Verifications in progress: the same credential from the same address waits for the same verdict. A program that
//! starts with many calls at once counts as one stranger, not as many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::OnceCell;

use crate::limits::{ClientAddress, network};
use crate::verify::request::CredentialKey;
use portico_core::error::{Error, Result};
use portico_core::mutex::lock;
use portico_core::principal::Principal;

type Shown = (CredentialKey, ClientAddress);
type Judgements = Mutex<HashMap<Shown, Weak<Judgement>>>;

/// The verdicts that are waited for. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<Judgements>);

/// A verification, as long as a caller waits for it.
struct Judgement {
    verdict: OnceCell<Result<Arc<Principal>, Arc<Error>>>,
    shown: Shown,
    all: Arc<Judgements>,
}

impl Drop for Judgement {
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        // Another one may have taken its place.
        if all.get(&self.shown).is_some_and(|kept| std::ptr::eq(kept.as_ptr(), self)) {
            all.remove(&self.shown);
        }
    }
}

impl InFlight {
    /// Returns the verdict on a credential: that of `judge`, unless it is in progress already.
    ///
    /// # Errors
    /// Those of `judge`, to each waiting caller.
    pub(crate) async fn join(
        &self,
        key: CredentialKey,
        from: ClientAddress,
        judge: impl Future<Output = Result<Arc<Principal>>>,
    ) -> Result<Arc<Principal>> {
        let judgement = self.find((key, from.map(network)));
        let verdict = judgement.verdict.get_or_init(|| async { judge.await.map_err(Arc::new) });
        verdict.await.clone().map_err(|error| error.again())
    }

    fn find(&self, shown: Shown) -> Arc<Judgement> {
        // Let go of after the lock, which its own drop takes.
        let kept;
        let mut all = lock(&self.0);
        kept = all.get(&shown).and_then(Weak::upgrade);
        match &kept {
            Some(judgement) if !judgement.verdict.initialized() => Arc::clone(judgement),
            // A finished verdict may be outdated by now.
            _ => {
                let judgement = Arc::new(Judgement { verdict: OnceCell::new(), shown, all: Arc::clone(&self.0) });
                all.insert(shown, Arc::downgrade(&judgement));
                judgement
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::{join, join_all};
    use futures_util::{FutureExt, poll};
    use tokio::sync::Notify;

    use super::*;
    use crate::secret::Digest;
    use portico_core::error::Kind;
    use portico_core::principal::Endpoint;

    const HERE: [u8; 4] = [192, 0, 2, 1];
    const THERE: [u8; 4] = [198, 51, 100, 1];

    #[tokio::test]
    async fn one_credential_from_one_address_is_judged_once_at_a_time() {
        let (in_flight, judged, given) = (InFlight::default(), AtomicUsize::new(0), Notify::new());
        let show = |token: &str, from: [u8; 4]| {
            let judge = async {
                judged.fetch_add(1, Ordering::Relaxed);
                given.notified().await;
                Err(Error::new(Kind::Unauthenticated, "unknown"))
            };
            let key = (Digest::new(token), Endpoint::Api);
            let in_flight = &in_flight;
            async move { in_flight.join(key, Some(IpAddr::from(from)), judge).await }.boxed_local()
        };
        let mut waiting = join_all((0..60).map(|_| show("a", HERE)));
        assert!(poll!(&mut waiting).is_pending());
        assert_eq!(judged.load(Ordering::Relaxed), 1);
        let mut others = join(show("b", HERE), show("a", THERE)).boxed_local();
        assert!(poll!(&mut others).is_pending());
        assert_eq!(judged.load(Ordering::Relaxed), 3, "others are judged by themselves");
        given.notify_waiters();
        for verdict in waiting.await {
            assert_eq!(verdict.expect_err("it is refused").kind, Kind::Unauthenticated);
        }
        let _ = others.await;
        assert!(lock(&in_flight.0).is_empty(), "what was judged is forgotten");
        let mut left = show("a", HERE);
        assert!(poll!(&mut left).is_pending());
        assert_eq!(judged.load(Ordering::Relaxed), 4);
        // The others continue when the first caller leaves.
        let mut second = show("a", HERE);
        assert!(poll!(&mut second).is_pending());
        drop(left);
        assert!(poll!(&mut second).is_pending());
        assert_eq!(judged.load(Ordering::Relaxed), 5);
        drop(second);
        assert!(lock(&in_flight.0).is_empty(), "so is what nobody waits for");
    }
}
