//! How many may wait for the [`AuthActor`](crate::AuthActor) at once: it answers from memory, but what is not known
//! may have to be looked for in the store. Beyond it the answer is given at once.

use std::time::Duration;

use crate::limits::{ClientAddress, network};
use portico_core::error::{Error, Kind, Result};
use portico_core::shares::{Share, ShareLimits, Shares};

/// All together.
const MOST: usize = 4096;
/// Those who show what is not known.
const STRANGERS: usize = 256;
/// Of these, from one address.
const STRANGERS_OF_ADDRESS: usize = 32;
/// When another attempt is worth it.
const RETRY: Duration = Duration::from_secs(1);

/// Those who wait. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct PendingRequests {
    all: Shares<()>,
    strangers: Shares<ClientAddress>,
}

/// One of them, until it is dropped.
pub(crate) struct Pending {
    _place: Share<()>,
    _stranger: Option<Share<ClientAddress>>,
}

impl PendingRequests {
    /// One more who is known.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when there are too many.
    pub(crate) fn admit(&self) -> Result<Pending> {
        let place = self.all.take((), 1, ShareLimits { each: MOST, all: MOST }).map_err(|_| {
            Error::new(Kind::Unavailable, "too many wait for their credentials to be judged").retry_after(RETRY)
        })?;
        Ok(Pending { _place: place, _stranger: None })
    }

    /// One more who shows what is not known.
    ///
    /// # Errors
    /// [`Kind::Busy`] when there are too many, from that address or in all.
    pub(crate) fn admit_stranger(&self, from: ClientAddress) -> Result<Pending> {
        let waiting = self.admit()?;
        let most = ShareLimits { each: STRANGERS_OF_ADDRESS, all: STRANGERS };
        let stranger = self.strangers.take(from.map(network), 1, most).map_err(|_| {
            Error::new(Kind::Busy, "too many credentials that are not known yet are being judged").retry_after(RETRY)
        })?;
        Ok(Pending { _stranger: Some(stranger), ..waiting })
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
        drop((waiting, known));
        assert_eq!((pending.all.taken(), pending.strangers.taken(), pending.strangers.holders()), (0, 0, 0));
    }
}
