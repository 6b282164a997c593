//! TLS of incoming connections. The certificate and the client authorities can be renewed while connections are
//! open; they are read with the configuration.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::{Error, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::transport::{HTTP2, Transport};
use crate::config::Tls;

/// The current certificate and client authorities. Open connections keep those that they started with.
pub struct Certificates(ArcSwap<ServerConfig>);

impl Certificates {
    /// Starts with the configured ones.
    ///
    /// # Errors
    /// If the library has no protocol version in common with itself.
    pub fn new(tls: &Tls) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self(ArcSwap::new(settings(tls)?))))
    }

    /// Takes renewed certificates and keys over.
    pub fn renew(&self, tls: &Tls) {
        // The same settings worked at the start.
        if let Ok(settings) = settings(tls) {
            self.0.store(settings);
        }
    }

    /// Secures a connection with the current settings. Handshakes do not block each other, however many there are.
    ///
    /// # Errors
    /// The handshake fails, or the client leaves.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Transport> {
        let acceptor = TlsAcceptor::from(self.0.load_full());
        acceptor.accept(tcp.into()).await.map(|stream| Transport::Left(Box::new(stream)))
    }
}

fn settings(tls: &Tls) -> Result<Arc<ServerConfig>, Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?;
    let own = Arc::new(SingleCertAndKey::from(Arc::clone(&tls.certified)));
    let mut config = match &tls.clients {
        None => builder.with_no_client_auth().with_cert_resolver(own),
        Some(clients) => {
            let mut config = builder.with_client_cert_verifier(Arc::clone(clients)).with_cert_resolver(own);
            // A resumed session is not verified again: a removed authority would stay in force for earlier clients.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
            config
        }
    };
    let http2 = tls.http2.then(|| HTTP2.to_vec());
    config.alpn_protocols = http2.into_iter().chain([b"http/1.1".to_vec()]).collect();
    Ok(Arc::new(config))
}
