//! TLS on the way in. The certificate and the authorities of clients can be renewed while
//! connections are open; what they are is read with the configuration.

use std::fmt;
use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::transport::{HTTP2, Transport};
use crate::config::Tls;

/// What is shown to clients and demanded of them, as it is now. Connections that are open keep what
/// they began with.
pub struct Certificates(ArcSwap<Tls>);

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates").finish_non_exhaustive()
    }
}

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

    /// What secures the connections of a listener. HTTP/2 is offered and HTTP/1.1.
    ///
    /// # Errors
    /// When the library has no version of the protocol in common with itself.
    pub fn acceptor(self: &Arc<Self>) -> Result<Acceptor, Error> {
        let mut config = self.settings()?;
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(Acceptor(TlsAcceptor::from(Arc::new(config))))
    }

    fn settings(self: &Arc<Self>) -> Result<ServerConfig, Error> {
        let demands = self.0.load().clients.is_some();
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?;
        let own = Arc::new(Current(Arc::clone(self)));
        if !demands {
            return Ok(builder.with_no_client_auth().with_cert_resolver(own));
        }
        let clients = Arc::clone(&own) as Arc<dyn ClientCertVerifier>;
        let mut config = builder.with_client_cert_verifier(clients).with_cert_resolver(own);
        // A session that is taken up again is not verified again: an authority that was taken away
        // would stay in force for whoever was here before.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// Secures connections. The handshake of one does not keep others waiting, however many there are.
#[derive(Clone)]
pub struct Acceptor(TlsAcceptor);

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Acceptor").finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Does the handshake.
    ///
    /// # Errors
    /// The client does not come to terms with us, or leaves.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Transport> {
        self.0.accept(tcp.into()).await.map(|stream| Transport::Tls(Box::new(stream)))
    }
}

/// Answers each handshake with what is in force at that moment.
#[derive(Debug)]
struct Current(Arc<Certificates>);

impl Current {
    fn clients(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        // Whether there are any does not change while the service runs.
        self.0.0.load().clients.clone().ok_or_else(|| Error::General("no authority of clients".to_owned()))
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.0.load().certified))
    }
}

impl ClientCertVerifier for Current {
    /// None: the names could change under the handshake, and clients that have one certificate for
    /// us do not need them (RFC 8446 §4.2.4).
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.clients()?.verify_client_cert(end, chain, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.clients().map(|clients| clients.supported_verify_schemes()).unwrap_or_default()
    }
}
