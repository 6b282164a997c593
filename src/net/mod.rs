//! Where the service meets the network: listeners, TLS, and whose word on a client's address is
//! taken. Knows no HTTP server and no route.

pub mod listener;
pub mod proxies;
pub mod tls;
pub mod transport;
pub mod validity;
