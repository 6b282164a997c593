//! Rate limits for sign-in attempts, which prevent guessing without locking others out.
//!
//! *Name and address together* limit what one address can try on one person. *The address* limits what it can try
//! on all. *The name* limits what all addresses together can try on one person, and costs priority, not access:
//! beyond its rate an attempt waits behind all others. An address that has signed in under the name before is not
//! counted there: strangers cannot make it wait.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use quick_cache::unsync::Cache;

use crate::limits::{AuthLimits, ClientAddress, Failures, key, network};
use crate::secret::Digest;
use crate::throttle::{Rate, Throttle};
use portico_core::error::Quota;

/// Failures of one address under one name: so many at once, and so many in this time.
const FREE: Rate = Rate { most: 5, window: Duration::from_mins(5) };
/// Pairs, addresses and names that are counted at one time.
const MOST: usize = 20_000;
/// Pairs that have signed in and are remembered, at most.
const MOST_KNOWN: usize = 20_000;

/// A name at a place.
type Pair = (Digest, ClientAddress);

/// The priority of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptClass {
    /// The place has signed in under the name before.
    Known,
    /// Like most.
    Ordinary,
    /// Under a name that too many have failed with: at the name's own rate, behind all others.
    Slow,
}

/// One attempt that was counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) class: AttemptClass,
    pair: Pair,
    /// Whether it is counted under the name.
    pub(crate) by_name: bool,
}

impl Attempt {
    pub(crate) fn place(&self) -> ClientAddress {
        self.pair.1
    }

    pub(crate) fn name(&self) -> Digest {
        self.pair.0
    }
}

/// The counters.
pub(crate) struct Attempts {
    pairs: Throttle<Pair>,
    /// By address and by name, shared with all other endpoints.
    failures: Failures,
    /// Comparisons under names with too many failures, which have a limit of their own: one after the other, at the
    /// name's rate.
    slow: Throttle<Digest>,
    registrations: Throttle<ClientAddress>,
    /// Pairs that have signed in.
    known: Cache<Pair, ()>,
}

impl Attempts {
    pub(crate) fn new(limits: &AuthLimits, failures: Failures) -> Self {
        Self {
            pairs: Throttle::new("failures-by-name-and-address", FREE, MOST),
            failures,
            slow: Throttle::new("failures-by-name", limits.failures_per_name.one_by_one(), MOST),
            registrations: Throttle::new("registrations", limits.registrations_per_address, MOST),
            known: Cache::new(MOST_KNOWN),
        }
    }

    /// Counts an attempt as a failure until it is reported as a success, so that many at once cannot pass together.
    ///
    /// # Errors
    /// The limit that is used up: of the pair, or of an address that is not known under this name.
    pub(crate) fn begin(&mut self, name: &str, from: Option<IpAddr>, now: Instant) -> Result<Attempt, Quota> {
        let pair = (key(name), from.map(network));
        let is_known = self.known.get(&pair).is_some();
        self.pairs.take(pair, now)?;
        let mut counted = self.failures.lock();
        if let Err(quota) = counted.places.take(pair.1, now)
            && !is_known
        {
            self.pairs.give_back(&pair);
            return Err(quota);
        }
        let by_name = !is_known && counted.names.take(pair.0, now).is_ok();
        let class = match (is_known, by_name) {
            (true, _) => AttemptClass::Known,
            (false, true) => AttemptClass::Ordinary,
            (false, false) => AttemptClass::Slow,
        };
        Ok(Attempt { class, pair, by_name })
    }

    /// Counts a slow attempt if the name has room for one now. Returns whether it is within the name's own limit
    /// too.
    pub(crate) fn admit(&mut self, name: &Digest, now: Instant) -> Result<bool, Quota> {
        self.slow.take(*name, now)?;
        Ok(self.failures.lock().names.take(*name, now).is_ok())
    }

    /// Returns the limit of the name's slow attempts, if it is used up.
    pub(crate) fn room_of(&self, name: &Digest, now: Instant) -> Option<Quota> {
        self.slow.exhausted(name, now)
    }

    /// The attempt was right.
    pub(crate) fn succeeded(&mut self, attempt: &Attempt) {
        self.pairs.forget(&attempt.pair);
        self.give_back_all_but_pair(attempt);
        self.known.insert(attempt.pair, ());
    }

    /// The attempt was not judged.
    pub(crate) fn give_back(&mut self, attempt: &Attempt) {
        self.pairs.give_back(&attempt.pair);
        self.give_back_all_but_pair(attempt);
    }

    fn give_back_all_but_pair(&mut self, attempt: &Attempt) {
        let mut counted = self.failures.lock();
        counted.places.give_back(&attempt.pair.1);
        if attempt.by_name {
            counted.names.give_back(&attempt.pair.0);
        }
    }

    /// Counts a client that registers itself.
    pub(crate) fn registers(&mut self, from: Option<IpAddr>, now: Instant) -> Result<(), Quota> {
        self.registrations.take(from.map(network), now).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    fn attempts(address: u32, name: u32) -> Attempts {
        let (failures_per_address, failures_per_name) = (Rate::per_minute(address), Rate::per_minute(name));
        let limits = AuthLimits { failures_per_address, failures_per_name, ..AuthLimits::default() };
        Attempts::new(&limits, Failures::new(&limits))
    }

    #[test]
    fn one_place_tries_a_few_times_and_others_are_not_concerned() {
        let mut attempts = attempts(100, 100);
        let (now, here, far) = (Instant::now(), at("192.0.2.1"), at("192.0.2.2"));
        for _ in 0..FREE.most {
            assert!(attempts.begin("ann", here, now).is_ok());
        }
        assert_eq!(attempts.begin("ANN", here, now).unwrap_err().policy, "failures-by-name-and-address");
        assert!(attempts.begin("bob", here, now).is_ok());
        let right = attempts.begin("ann", far, now).unwrap();
        attempts.succeeded(&right);
        assert!(attempts.begin("ann", here, now).is_err(), "what another place knows is of no use here");
        assert!(attempts.begin("ann", here, now + FREE.window).is_ok(), "it may try again");
        // A success resets the counters.
        let mut right = attempts.begin("ann", far, now);
        for _ in 0..3 * FREE.most {
            attempts.succeeded(&right.unwrap());
            right = attempts.begin("ann", far, now);
        }
    }

    #[test]
    fn failures_under_a_name_cost_priority_and_not_where_it_has_signed_in() {
        let mut attempts = attempts(100, 3);
        let (now, home) = (Instant::now(), at("198.51.100.1"));
        let right = attempts.begin("ann", home, now).unwrap();
        attempts.succeeded(&right);
        let stranger = |number: u8| at(&format!("192.0.2.{number}"));
        for number in 0..3 {
            assert_eq!(attempts.begin("ann", stranger(number), now).unwrap().class, AttemptClass::Ordinary);
        }
        for number in 3..200 {
            assert_eq!(attempts.begin("ann", stranger(number), now).unwrap().class, AttemptClass::Slow);
        }
        assert_eq!(attempts.begin("ann", home, now).unwrap().class, AttemptClass::Known);
        assert_eq!(attempts.begin("bob", home, now).unwrap().class, AttemptClass::Ordinary);
        assert!(attempts.admit(&key("ann"), now).is_ok_and(|by_name| !by_name), "the slow ones have room of their own");
        assert!(attempts.admit(&key("ann"), now).is_err(), "one after the other");
        // Failures at other endpoints do not use it up.
        for number in 0..200 {
            attempts.failures.count(stranger(number), Some("ann"));
        }
        let later = now + Duration::from_secs(20);
        assert!(attempts.admit(&key("ann"), later).is_ok() && attempts.admit(&key("ann"), later).is_err());
    }

    #[test]
    fn an_address_is_bounded_over_all_names_but_not_where_it_has_signed_in() {
        let mut attempts = attempts(4, 100);
        let (now, here) = (Instant::now(), at("2001:db8::1"));
        let right = attempts.begin("ann", here, now).unwrap();
        attempts.succeeded(&right);
        for name in ["a", "b", "c", "d"] {
            assert!(attempts.begin(name, at("2001:db8::2"), now).is_ok());
        }
        assert_eq!(attempts.begin("e", here, now).unwrap_err().policy, "failures-by-address");
        assert_eq!(attempts.begin("ann", here, now).unwrap().class, AttemptClass::Known);
        let elsewhere = attempts.failures.count(here, None);
        assert_eq!(elsewhere.unwrap().policy, "failures-by-address", "all doors count together");
    }

    #[test]
    fn what_is_known_is_bounded_and_what_is_used_stays() {
        let mut attempts = attempts(u32::MAX, u32::MAX);
        let now = Instant::now();
        let begun = |attempts: &mut Attempts, number: usize| attempts.begin(&number.to_string(), None, now).unwrap();
        for number in 0..3 * MOST_KNOWN {
            let right = begun(&mut attempts, number);
            attempts.succeeded(&right);
            let busy = begun(&mut attempts, 0);
            attempts.give_back(&busy);
            assert_eq!(busy.class, AttemptClass::Known);
        }
        assert!(attempts.known.len() <= MOST_KNOWN);
    }
}
