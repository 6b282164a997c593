//! The network side of the service: listeners, TLS, and trusted proxies. Knows no HTTP server and no route.

pub mod listener;
pub mod proxies;
pub mod tls;
pub mod transport;
pub mod validity;
