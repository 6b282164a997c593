//! Determines the client's address behind proxies. Every client can send `Forwarded` (RFC 7239) or
//! `X-Forwarded-For`: only the header that a trusted proxy writes is used, only what it added is believed, and that
//! is read from the end.

use std::net::IpAddr;

use crate::config::{ForwardedHeader, Proxies};

/// The peer that opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A peer at an address.
    Address(IpAddr),
    /// A peer at our Unix socket.
    Unix,
}

impl Proxies {
    /// Whether a connection from there is a proxy's, which many clients share.
    pub(crate) fn trust(&self, address: IpAddr) -> bool {
        // A socket for both families shows IPv4 in IPv6's clothes.
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}

/// Returns the client's address, if known. `values` are those of the header that the proxies write, in the order of
/// the headers.
pub fn client<'h>(peer: Peer, proxies: &Proxies, values: impl Iterator<Item = &'h [u8]>) -> Option<IpAddr> {
    let near = match peer {
        Peer::Address(address) if !proxies.trust(address) => return Some(address.to_canonical()),
        Peer::Address(address) => Some(address.to_canonical()),
        Peer::Unix if !proxies.unix => return None,
        Peer::Unix => None,
    };
    let mut values: Vec<&[u8]> = values.collect();
    values.reverse();
    let has_quotes = proxies.header == ForwardedHeader::Forwarded;
    let elements = values.into_iter().flat_map(|value| pieces(value, b',', has_quotes));
    // Bytes that are not text are the client's own, and end what can be known only at their position.
    let texts = elements.map(|element| std::str::from_utf8(element).unwrap_or("unknown"));
    let present = texts.filter(|element| !element.trim().is_empty());
    behind(present.map(|element| if has_quotes { for_parameter(element) } else { element }), near, proxies)
}

/// Splits `value` at the separators, the last piece first. If it `has_quotes` (RFC 7239 §4), separators in quoted
/// strings do not count. It is read from its end: what a trusted proxy has added is complete, whatever precedes it.
fn pieces(value: &[u8], separator: u8, has_quotes: bool) -> Vec<&[u8]> {
    let (mut pieces, mut rest, mut within_quotes) = (Vec::new(), value, false);
    for (at, octet) in value.iter().enumerate().rev() {
        let before = value.get(..at).unwrap_or_default();
        if *octet == b'"' && has_quotes {
            let backslashes = before.iter().rev().take_while(|octet| **octet == b'\\').count();
            within_quotes ^= backslashes % 2 == 0;
        } else if *octet == separator && !within_quotes {
            pieces.push(rest.get(at + 1..).unwrap_or_default());
            rest = before;
        }
    }
    pieces.push(rest);
    pieces
}

/// Returns the first untrusted one among `hops`, the nearest first; `near` opened the connection.
fn behind<'h>(hops: impl Iterator<Item = &'h str>, near: Option<IpAddr>, proxies: &Proxies) -> Option<IpAddr> {
    let mut known = near;
    for hop in hops {
        // A name or an obfuscated identifier ends what can be known.
        let Some(address) = node(hop) else { break };
        known = Some(address.to_canonical());
        if !proxies.trust(address) {
            break;
        }
    }
    known
}

/// Returns the `for` of an element of `Forwarded`; without it, or with two, the origin is unknown.
fn for_parameter(element: &str) -> &str {
    let pairs = pieces(element.as_bytes(), b';', true).into_iter().filter_map(|pair| std::str::from_utf8(pair).ok());
    let mut found =
        pairs.filter_map(|pair| pair.split_once('=')).filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    match (found.next(), found.next()) {
        (Some((_, value)), None) => value,
        _ => "unknown",
    }
}

/// `192.0.2.1`, `192.0.2.1:80`, `"[2001:db8::1]:80"`, `2001:db8::1`.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split_once(']')?.0.parse().ok();
    }
    text.parse().or_else(|_| text.rsplit_once(':').map_or(text, |(host, _)| host).parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, header: ForwardedHeader, values: &[&str]) -> Option<String> {
        let proxies = Proxies { networks: vec!["10.0.0.0/8".parse().unwrap()], unix: true, header };
        let peer = if peer == "unix" { Peer::Unix } else { Peer::Address(peer.parse().unwrap()) };
        client(peer, &proxies, values.iter().map(|value| value.as_bytes())).map(|found| found.to_string())
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_what_it_added() {
        for (peer, values, expected) in [
            ("192.0.2.9", &["2.2.2.2"][..], Some("192.0.2.9")),
            ("10.0.0.1", &[], Some("10.0.0.1")),
            ("10.0.0.1", &[""], Some("10.0.0.1")),
            ("10.0.0.1", &["6.6.6.6, 192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["6.6.6.6", "192.0.2.7, 10.0.0.2"], Some("192.0.2.7")),
            ("10.0.0.1", &["::ffff:192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["192.0.2.7:5000"], Some("192.0.2.7")),
            ("10.0.0.1", &["é, 192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["nonsense"], Some("10.0.0.1")),
            ("::ffff:10.0.0.1", &["192.0.2.7"], Some("192.0.2.7")),
            ("unix", &["192.0.2.7"], Some("192.0.2.7")),
            ("unix", &[], None),
        ] {
            assert_eq!(seen(peer, ForwardedHeader::XForwardedFor, values).as_deref(), expected, "{peer} {values:?}");
        }
        for (peer, values, expected) in [
            ("192.0.2.9", &["for=1.1.1.1"][..], Some("192.0.2.9")),
            ("10.0.0.1", &["for=6.6.6.6, for=192.0.2.7;proto=https"], Some("192.0.2.7")),
            ("10.0.0.1", &["for=\"6.6.6.6, for=192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["For=\"[2001:db8::1]:4711\""], Some("2001:db8::1")),
            ("10.0.0.1", &["for=6.6.6.6, for=_hidden"], Some("10.0.0.1")),
            ("10.0.0.1", &["for=6.6.6.6, proto=https"], Some("10.0.0.1")),
            ("unix", &["for=192.0.2.7"], Some("192.0.2.7")),
            // A proxy repeats the client's `Host` in quotes.
            ("10.0.0.1", &["proto=http;host=\"x;for=6.6.6.6\";for=192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["proto=http;host=\"x,for=6.6.6.6;by=\";for=192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["for=192.0.2.7;host=\"x,for=6.6.6.6\""], Some("192.0.2.7")),
            ("10.0.0.1", &["for=192.0.2.7;host=\"x\\\",for=6.6.6.6\""], Some("192.0.2.7")),
            ("10.0.0.1", &["host=\"x, for=192.0.2.7"], Some("192.0.2.7")),
            ("10.0.0.1", &["for=6.6.6.6;for=192.0.2.7"], Some("10.0.0.1")),
        ] {
            assert_eq!(seen(peer, ForwardedHeader::Forwarded, values).as_deref(), expected, "{peer} {values:?}");
        }
        let own = b"\xff, 192.0.2.7";
        let proxies = Proxies { unix: true, ..Proxies::default() };
        assert_eq!(client(Peer::Unix, &proxies, [own.as_slice()].into_iter()), "192.0.2.7".parse().ok());
        assert_eq!(client(Peer::Unix, &Proxies::default(), [b"1.1.1.1".as_slice()].into_iter()), None);
    }
}
