//! The client's address, from its connection and the headers of trusted proxies.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderValue};

use crate::app::App;
use crate::config::ForwardedHeader;
use crate::net::proxies::{self, Peer};

/// Returns the client's address, if known: it is logged, and failures are counted by it.
pub(in crate::http) fn client(request: &HttpRequest, app: &App) -> Option<IpAddr> {
    let peer = request.peer_addr().map_or(Peer::Unix, |address| Peer::Address(address.ip()));
    let proxies = &app.config().server.trusted_proxies;
    let header = match proxies.header {
        ForwardedHeader::XForwardedFor => header::X_FORWARDED_FOR,
        ForwardedHeader::Forwarded => header::FORWARDED,
    };
    let values = request.headers().get_all(header);
    proxies::client(peer, proxies, values.map(HeaderValue::as_bytes))
}
