//! Whether a host, an origin or an address is of this machine.

use std::net::IpAddr;

/// Returns true if `address` is of this machine, also as IPv4 in IPv6.
pub fn is_address(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Names that are this machine wherever they are looked up (RFC 6761 §6.3), and its addresses, as URLs write a host.
pub fn is_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_address)
}

/// Whether an origin of the web (RFC 6454 §6.2) is this machine's: its host cannot be rebound.
pub fn is_origin(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| !authority.ends_with([':', '.']) && is_host(host(authority)))
}

/// The host of `host:port`, without the dot that ends a whole name.
pub fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => host,
        _ => authority,
    };
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_this_machine_everywhere_is_loopback() {
        for ours in ["localhost", "LOCALHOST:8787", "localhost.:1", "127.0.0.1:80", "127.9.9.9", "[::1]:8787", "[::1]"]
        {
            assert!(is_host(host(ours)), "{ours}");
        }
        for other in [
            "",
            "localhost.evil.example",
            "evil.example:8787",
            "127.0.0.1.nip.io",
            "0.0.0.0:8787",
            "10.0.0.1",
            "[::]",
            "user@localhost",
            "localhost:x",
            "2130706433",
        ] {
            assert!(!is_host(host(other)), "{other}");
            assert!(!is_origin(&format!("http://{other}")), "{other}");
        }
    }

    #[test]
    fn an_origin_is_judged_by_its_scheme_and_host() {
        for origin in ["http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:9"] {
            assert!(is_origin(origin), "{origin}");
        }
        for origin in ["null", "http://127.0.0.1.evil.example", "file://localhost", "http://localhost:", "localhost"] {
            assert!(!is_origin(origin), "{origin}");
        }
    }
}
