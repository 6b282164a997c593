//! How many may wait for the [`AuthActor`](crate::auth::AuthActor) at once: it answers from memory, but what is not known
//! may have to be looked for in the store. Beyond it the answer is given at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::auth::limits::{ClientAddress, network};
use crate::error::{Error, Kind, Result};

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
pub(crate) struct PendingRequests(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    all: usize,
    strangers: usize,
    by_place: HashMap<ClientAddress, usize>,
}

/// One of them, until it is dropped.
pub(crate) struct Pending {
    pending: PendingRequests,
    /// Where a stranger is.
    stranger: Option<ClientAddress>,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more who is known.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when there are too many.
    pub(crate) fn admit(&self) -> Result<Pending> {
        let mut counted = self.lock();
        if counted.all >= MOST {
            let full = Error::new(Kind::Unavailable, "too many wait for their credentials to be judged");
            return Err(full.retry_after(RETRY));
        }
        counted.all += 1;
        Ok(Pending { pending: self.clone(), stranger: None })
    }

    /// One more who shows what is not known.
    ///
    /// # Errors
    /// [`Kind::Busy`] when there are too many, from that address or in all.
    pub(crate) fn admit_stranger(&self, from: ClientAddress) -> Result<Pending> {
        let place = from.map(network);
        let mut waiting = self.admit()?;
        let mut counted = self.lock();
        let own = counted.by_place.get(&place).copied().unwrap_or_default();
        if own >= STRANGERS_OF_ADDRESS || counted.strangers >= STRANGERS {
            drop(counted);
            let full = "too many credentials that are not known yet are being judged";
            return Err(Error::new(Kind::Busy, full).retry_after(RETRY));
        }
        counted.strangers += 1;
        counted.by_place.insert(place, own + 1);
        drop(counted);
        waiting.stranger = Some(place);
        Ok(waiting)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut counted = self.pending.lock();
        counted.all -= 1;
        let Some(place) = self.stranger else { return };
        counted.strangers -= 1;
        match counted.by_place.get_mut(&place) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(counted.by_place.remove(&place)),
        }
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
        let counted = pending.lock();
        assert_eq!((counted.all, counted.strangers, counted.by_place.len()), (0, 0, 0));
    }
}
