//! Counts wrong credentials at all endpoints, by address and by name. A valid credential is always accepted,
//! however many others failed: no one can lock others out, and 256 random bits cannot be guessed. After too many
//! failures the error is returned at once, and is the same for every name.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::oauth::grant::GrantError;
use crate::secret::Digest;
use crate::throttle::{Rate, Throttle};
use portico_core::error::Quota;
use portico_core::mutex::lock;
use portico_core::name;

/// Addresses, and names, that are counted at one time.
const MOST: usize = 20_000;

/// Limits of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthLimits {
    /// Failed sign-ins from one address.
    pub failures_per_address: Rate,
    /// Failed sign-ins under one name, from all addresses that have not signed in under it before. Beyond it
    /// passwords are compared at this rate, behind those of all others.
    pub failures_per_name: Rate,
    /// Tokens issued to one client.
    pub tokens_per_client: Rate,
    /// Clients that register themselves, from one address.
    pub registrations_per_address: Rate,
}

impl Default for AuthLimits {
    fn default() -> Self {
        Self {
            failures_per_address: Rate::per_minute(600),
            failures_per_name: Rate::per_minute(60),
            tokens_per_client: Rate::per_minute(300_000),
            registrations_per_address: Rate::per_minute(10),
        }
    }
}

/// An address, if known: all callers through a Unix socket, which has none, count as one.
pub(super) type ClientAddress = Option<IpAddr>;

/// The failures at all endpoints, counted together. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Failures(Arc<Mutex<Counted>>);

/// The counters. Names are stored as digests, which are short even for long names.
pub(super) struct Counted {
    pub(super) places: Throttle<ClientAddress>,
    pub(super) names: Throttle<Digest>,
}

impl Failures {
    pub(crate) fn new(limits: &AuthLimits) -> Self {
        Self(Arc::new(Mutex::new(Counted {
            places: Throttle::new("failures-by-address", limits.failures_per_address, MOST),
            names: Throttle::new("failures-by-name", limits.failures_per_name, MOST),
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Counted> {
        lock(&self.0)
    }

    /// Counts a failure. Returns the limit that it exceeds, if any.
    pub(crate) fn count(&self, from: Option<IpAddr>, name: Option<&str>) -> Option<Quota> {
        let (now, mut counted) = (Instant::now(), self.lock());
        let by_place = counted.places.take(from.map(network), now).err();
        // A failure refused because of its address does not count for the name: one address cannot use up the
        // name's limit.
        let name = name.filter(|_| by_place.is_none());
        let by_name = name.and_then(|name| counted.names.take(key(name), now).err());
        // The limit that lasts longer.
        by_name.into_iter().chain(by_place).max_by_key(|quota| quota.reset)
    }

    /// Counts a failed client credential. Returns the refusal, or the limit that is used up.
    pub(crate) fn of_client(&self, from: Option<IpAddr>, name: Option<&str>, refusal: GrantError) -> GrantError {
        match self.count(from, name) {
            None => refusal,
            Some(quota) => {
                GrantError::throttled("too many credentials that are not valid; wait before the next one", quota)
            }
        }
    }
}

/// Counts the tokens that are issued to each client.
pub(crate) fn issued(limits: &AuthLimits) -> Throttle<Digest> {
    Throttle::new("tokens", limits.tokens_per_client, MOST)
}

/// Returns the key that a name is counted under: a digest, since names can be long.
pub(super) fn key(name: &str) -> Digest {
    Digest::new(&name::key(name))
}

/// Returns the key that an address is counted under: one caller has a whole IPv6 network of 64 bits (RFC 4291
/// §2.5.1).
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn failures_are_counted_by_name_and_by_network() {
        let hourly = |most| Rate { most, window: Duration::from_hours(1) };
        let limits =
            AuthLimits { failures_per_address: hourly(4), failures_per_name: hourly(2), ..AuthLimits::default() };
        let failures = Failures::new(&limits);
        let [here, near, mapped, far] =
            ["2001:db8::1", "2001:db8::2", "::ffff:192.0.2.1", "192.0.2.1"].map(|text| text.parse::<IpAddr>().ok());
        assert_eq!(failures.count(here, Some("ann")), None);
        assert_eq!(failures.count(far, Some("ANN")), None);
        assert_eq!(failures.count(here, Some("Ann")).unwrap().policy, "failures-by-name");
        assert_eq!(failures.count(near, Some("bob")), None);
        assert_eq!(failures.count(near, None), None);
        assert_eq!(failures.count(near, None).unwrap().policy, "failures-by-address", "the same network");
        assert_eq!(failures.count(mapped, None), None, "another one");
        assert_eq!(network(mapped.unwrap()), far.unwrap());
    }
}
