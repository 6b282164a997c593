//! TLS on the way in. The certificate and the authorities of clients can be renewed while
//! connections are open; what they are is read with the configuration.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::transport::Transport;
use crate::config::Tls;

/// What is shown to clients and demanded of them, as it is now. Connections that are open keep what
/// they began with.
pub struct Certificates(ArcSwap<Tls>);

impl Certificates {
    /// Begins with what was configured.
    pub fn new(tls: &Tls) -> Arc<Self> {
        Arc::new(Self(ArcSwap::from_pointee(tls.clone())))
    }

    /// Takes renewed ones over. Gives whether the certificate is another one.
    pub fn renew(&self, tls: &Tls) -> bool {
        let before = self.0.swap(Arc::new(tls.clone()));
        before.certified.cert != tls.certified.cert
    }

    /// Secures a connection with what is in force at that moment. The handshake of one does not keep others waiting,
    /// however many there are.
    ///
    /// # Errors
    /// The client does not come to terms with us, or leaves.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Transport> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.0.load().server));
        acceptor.accept(tcp.into()).await.map(|stream| Transport::Left(Box::new(stream)))
    }
}
