//! Limits the requests that wait for the [`AuthActor`](crate::AuthActor): it answers from memory, but an unknown
//! credential may have to be looked up in the store. Beyond the limit the error is returned at once.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::limits::{ClientAddress, network};
use portico_core::error::{Error, Kind, Result};
use portico_core::mutex::lock;
use portico_core::shares::{Share, ShareLimits, Shares};

/// All together.
const MOST: usize = 4096;
/// The maximal number of requests with unknown credentials.
const STRANGERS: usize = 256;
/// Of these, from one address.
const STRANGERS_OF_ADDRESS: usize = 32;
/// When another attempt is worth it.
const RETRY: Duration = Duration::from_secs(1);

/// The waiting requests. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct PendingRequests {
    all: Shares<()>,
    strangers: Shares<ClientAddress>,
}

/// One of them, until all of its clones are dropped.
#[derive(Clone)]
pub(crate) struct Pending(Arc<Places>);

struct Places {
    _place: Share<()>,
    stranger: Mutex<Option<Share<ClientAddress>>>,
}

impl Pending {
    fn new(place: Share<()>, stranger: Option<Share<ClientAddress>>) -> Self {
        Self(Arc::new(Places { _place: place, stranger: Mutex::new(stranger) }))
    }

    /// Makes room for another stranger: this one now waits for another request's answer, and causes no work here.
    pub(crate) fn release_stranger(&self) {
        drop(lock(&self.0.stranger).take());
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Pending")
    }
}

impl PendingRequests {
    /// Admits a known caller.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if there are too many.
    pub(crate) fn admit(&self) -> Result<Pending> {
        self.place().map(|place| Pending::new(place, None))
    }

    fn place(&self) -> Result<Share<()>> {
        self.all.take((), 1, ShareLimits { each: MOST, all: MOST }).map_err(|_| {
            Error::new(Kind::Unavailable, "too many requests are waiting for their credentials to be checked")
                .retry_after(RETRY)
        })
    }

    /// Admits a caller with an unknown credential.
    ///
    /// # Errors
    /// [`Kind::Busy`] if there are too many, from that address or in all.
    pub(crate) fn admit_stranger(&self, from: ClientAddress) -> Result<Pending> {
        let place = self.place()?;
        let most = ShareLimits { each: STRANGERS_OF_ADDRESS, all: STRANGERS };
        let stranger = self
            .strangers
            .take(from.map(network), 1, most)
            .map_err(|_| Error::new(Kind::Busy, "too many unknown credentials are being checked").retry_after(RETRY))?;
        Ok(Pending::new(place, Some(stranger)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_bounded_by_address_and_in_all_and_keep_nobody_else_away() {
        let pending = PendingRequests::default();
        let at = |number: u32| Some(std::net::IpAddr::from(std::net::Ipv4Addr::from(number)));
        let mut waiting: Vec<_> = (0..STRANGERS_OF_ADDRESS).map(|_| pending.admit_stranger(at(1)).unwrap()).collect();
        let full = pending.admit_stranger(at(1)).err().unwrap();
        assert!(full.kind == Kind::Busy && full.get_retry_after().is_some());
        waiting.extend(
            (2..).take(STRANGERS - STRANGERS_OF_ADDRESS).map(|number| pending.admit_stranger(at(number)).unwrap()),
        );
        assert!(pending.admit_stranger(at(1_000)).is_err());
        let known: Vec<_> = (STRANGERS..MOST).map(|_| pending.admit().unwrap()).collect();
        assert_eq!(pending.admit().err().unwrap().kind, Kind::Unavailable);
        waiting[0].release_stranger();
        let freed = pending.strangers.taken();
        assert_eq!(freed, STRANGERS - 1, "who waits for another's answer leaves room for a stranger");
        drop((waiting, known));
        assert_eq!((pending.all.taken(), pending.strangers.taken()), (0, 0));
    }
}
