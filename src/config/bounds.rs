//! The bounds of `[server]`: how much one client and all of them together may take of the process.

use std::time::Duration;

use portico_actors::budget::{self, Budget};

use super::problem::Problem;
use super::section::Section;

/// How much is served at once, how large a request may be, and how long a slow client is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Requests that are worked on at once. Streams of events are not counted.
    pub max_calls: usize,
    /// Of these those of one principal, over all its tokens and endpoints. Three quarters unless configured.
    pub max_calls_per_principal: usize,
    /// Bytes of the bodies of requests that are received or worked on; one principal may have half of it.
    pub max_bodies: usize,
    /// Bytes of the answers of tools that are prepared or sent, all together; one principal may have half of it.
    pub max_answers: usize,
    /// Client connections that are open at once on each worker; further ones wait to be accepted.
    pub max_connections: usize,
    /// Client connections of one address that are open at once; trusted proxies have no such bound. A quarter of
    /// `max_connections` unless configured.
    pub max_connections_per_address: usize,
    /// Bytes of a request's head at most: its target and its headers.
    pub max_header: usize,
    /// How long a client may take to send a request's head.
    pub header_timeout: Duration,
    /// How long a client may take to send a request's body.
    pub body_timeout: Duration,
    /// How long an answer may wait for a client that reads none of it.
    pub write_timeout: Duration,
    /// Bytes of large rows that are in memory at once, of all connections.
    pub max_decoding: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_calls: 1_000,
            max_calls_per_principal: 750,
            max_bodies: 256 * 1024 * 1024,
            max_answers: 512 * 1024 * 1024,
            max_connections: 25_600,
            max_connections_per_address: 6_400,
            max_header: 32 * 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            max_decoding: Budget::DEFAULT,
        }
    }
}

/// Reads the bounds among the keys of `[server]`.
pub(super) fn read(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Bounds {
    let usual = Bounds::default();
    let count = |number: Option<u64>, usual: usize| number.and_then(|n| usize::try_from(n).ok()).unwrap_or(usual);
    let seconds = |number: Option<u64>, usual: Duration| number.map_or(usual, Duration::from_secs);
    let max_calls = count(section.integer("max_calls", 1..=1_000_000, problems), usual.max_calls);
    let max_connections = count(section.integer("max_connections", 1..=1_000_000, problems), usual.max_connections);
    let near = section.integer("max_connections_per_address", 1..=1_000_000, problems);
    let own = section.integer("max_calls_per_principal", 1..=1_000_000, problems);
    Bounds {
        max_calls,
        max_calls_per_principal: count(own, max_calls - max_calls / 4),
        max_answers: count(section.integer("max_answers", 1024 * 1024..=1 << 40, problems), usual.max_answers),
        max_bodies: count(section.integer("max_bodies", 1024 * 1024..=1 << 40, problems), usual.max_bodies),
        max_connections,
        max_connections_per_address: count(near, max_connections.div_ceil(4)),
        // What the HTTP library takes at most.
        max_header: count(section.integer("max_header", 1024..=128 * 1024, problems), usual.max_header),
        header_timeout: seconds(section.integer("header_timeout", 1..=300, problems), usual.header_timeout),
        body_timeout: seconds(section.integer("body_timeout", 1..=3600, problems), usual.body_timeout),
        write_timeout: seconds(section.integer("write_timeout", 1..=3600, problems), usual.write_timeout),
        // What is not counted, and what one row could be at most.
        max_decoding: count(
            section.integer("max_decoding", budget::FREE as u64..=u64::from(u32::MAX), problems),
            usual.max_decoding,
        ),
    }
}
