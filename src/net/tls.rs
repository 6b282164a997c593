//! TLS on the way in. The certificate and the authorities of clients can be renewed while
//! connections are open; what they are is read with the configuration.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::transport::{HTTP2, Transport};
use crate::config::Tls;

/// What is shown to clients and demanded of them, as it is now. Connections that are open keep what
/// they began with.
pub struct Certificates(ArcSwap<(Arc<CertifiedKey>, Arc<ServerConfig>)>);

impl Certificates {
    /// Begins with what was configured.
    ///
    /// # Errors
    /// When the library has no version of the protocol in common with itself.
    pub fn new(tls: &Tls) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self(ArcSwap::from_pointee((Arc::clone(&tls.certified), settings(tls)?)))))
    }

    /// Takes renewed certificates and keys over. Returns true if the certificate changed.
    pub fn renew(&self, tls: &Tls) -> bool {
        // What could be made at the start can be made again.
        let Ok(settings) = settings(tls) else { return false };
        let before = self.0.swap(Arc::new((Arc::clone(&tls.certified), settings)));
        before.0.cert != tls.certified.cert
    }

    /// Secures a connection with what is in force at that moment. The handshake of one does not keep others waiting,
    /// however many there are.
    ///
    /// # Errors
    /// The client does not come to terms with us, or leaves.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Transport> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.0.load().1));
        acceptor.accept(tcp.into()).await.map(|stream| Transport::Left(Box::new(stream)))
    }
}

/// HTTP/2 is offered and HTTP/1.1.
fn settings(tls: &Tls) -> Result<Arc<ServerConfig>, Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?;
    let own = Arc::new(SingleCertAndKey::from(Arc::clone(&tls.certified)));
    let mut config = match &tls.clients {
        None => builder.with_no_client_auth().with_cert_resolver(own),
        Some(clients) => {
            let mut config = builder.with_client_cert_verifier(Arc::clone(clients)).with_cert_resolver(own);
            // A session that is taken up again is not verified again: an authority that was taken away
            // would stay in force for whoever was here before.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
            config
        }
    };
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
