//! Attempts to sign in that failed, counted by address and by name. Whoever shows a good credential
//! is let in however many others failed: nobody can lock anybody else out, and 256 random bits are
//! not guessed. What failed too often is answered at once, and alike for every name.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use super::secret::Digest;
use super::throttle::{Rate, Throttle};
use crate::error::Quota;
use crate::name;

/// Addresses, and names, that are counted at one time.
const MOST: usize = 20_000;

/// How often what may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthLimits {
    /// Failed sign-ins from one address.
    pub failures_per_address: Rate,
    /// Failed sign-ins under one name, from all addresses that have not signed in under it before. Beyond it
    /// passwords are compared at this rate, behind those of everybody else.
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

/// The failures that are remembered, and the tokens that were issued.
pub(crate) struct Attempts {
    addresses: Throttle<IpAddr>,
    names: Throttle<Digest>,
    clients: Throttle<Digest>,
}

impl Attempts {
    pub(crate) fn new(limits: AuthLimits) -> Self {
        Self {
            addresses: Throttle::new("failures-by-address", limits.failures_per_address, MOST),
            names: Throttle::new("failures-by-name", limits.failures_per_name, MOST),
            clients: Throttle::new("tokens", limits.tokens_per_client, MOST),
        }
    }

    /// Counts a failure. The limit that it goes beyond, if it does.
    pub(crate) fn failed(&mut self, address: Option<IpAddr>, name: Option<&str>) -> Option<Quota> {
        let now = Instant::now();
        let by_name = name.and_then(|name| self.names.take(key(name), now).err());
        let by_address = address.and_then(|address| self.addresses.take(network(address), now).err());
        // The one that lasts longer.
        by_name.into_iter().chain(by_address).max_by_key(|quota| quota.reset)
    }

    /// Counts a token that a client, whose secret was good, asks for.
    pub(crate) fn issued(&mut self, client_id: &str) -> Result<(), Quota> {
        self.clients.take(key(client_id), Instant::now()).map(drop)
    }
}

/// Names are of any length; their digests are not.
pub(super) fn key(name: &str) -> Digest {
    Digest::of(&name::key(name))
}

/// One caller has a whole IPv6 network of 64 bits at hand (RFC 4291 §2.5.1).
pub(super) fn network(address: IpAddr) -> IpAddr {
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
        let mut attempts = Attempts::new(limits);
        let [here, near, mapped, far] =
            ["2001:db8::1", "2001:db8::2", "::ffff:192.0.2.1", "192.0.2.1"].map(|text| text.parse::<IpAddr>().ok());
        assert_eq!(attempts.failed(here, Some("ann")), None);
        assert_eq!(attempts.failed(far, Some("ANN")), None);
        assert_eq!(attempts.failed(here, Some("Ann")).unwrap().policy, "failures-by-name");
        assert_eq!(attempts.failed(near, Some("bob")), None);
        assert_eq!(attempts.failed(near, None), None);
        assert_eq!(attempts.failed(near, None).unwrap().policy, "failures-by-address", "the same network");
        assert_eq!(attempts.failed(mapped, None), None, "another one");
        assert_eq!(network(mapped.unwrap()), far.unwrap());
    }
}
