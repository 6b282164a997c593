//! Which host a request names, where only programs of this machine can reach us: a page of another site can have
//! its own name resolve to this machine (DNS rebinding), and then counts as ours to its browser. Whoever
//! names a host that is not ours is told so.

use std::net::IpAddr;

use actix_web::dev::ServiceRequest;
use actix_web::http::header;
use portico_actors::error::Error;

use crate::app::App;
use crate::http::connection::Connection;

/// What is wrong with the host of a request that came to a loopback listener.
pub(in crate::http) fn foreign(request: &ServiceRequest, app: &App) -> Option<Error> {
    // Browsers do not reach a Unix socket.
    if !request.request().conn_data::<Connection>()?.on_loopback() {
        return None;
    }
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str(),
        // Only HTTP/1.0 leaves it out, and no browser does.
        None => request.headers().get(header::HOST)?.to_str().unwrap_or_default(),
    };
    let host = host(authority);
    let config = app.config();
    let server = &config.server;
    let public = server.public_url.split_once("://").map_or("", |(_, authority)| authority);
    let is_ours = is_loopback(host)
        || host.eq_ignore_ascii_case(self::host(public))
        || server.allowed_hosts.iter().any(|allowed| host.eq_ignore_ascii_case(allowed));
    (!is_ours).then(|| {
        Error::invalid("Host: this service is not known by that name")
            .hint("use the host of its public address; an administrator can add others to server.allowed_hosts")
    })
}

/// The host of `host:port`, without the dot that ends a whole name.
fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => host,
        _ => authority,
    };
    host.strip_suffix('.').unwrap_or(host)
}

/// Names that are this machine wherever they are looked up (RFC 6761 §6.3), and its addresses.
fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_this_machine_everywhere_is_loopback() {
        for ours in ["localhost", "LOCALHOST:8787", "localhost.:1", "127.0.0.1:80", "127.9.9.9", "[::1]:8787", "[::1]"]
        {
            assert!(is_loopback(host(ours)), "{ours}");
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
            assert!(!is_loopback(host(other)), "{other}");
        }
    }
}
