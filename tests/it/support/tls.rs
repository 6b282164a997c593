//! TLS for tests: an authority, what it signs, and clients that trust it.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::app::builder;

/// Serves with the certificate named `server`.
pub(crate) const TLS: &str = "[server.tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nhttp2 = true\n";

/// An authority that signs certificates for servers and clients.
pub(crate) struct Authority(pub(crate) CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes `name`.pem and `name`.key.
    pub(crate) fn sign(&self, folder: &Path, name: &str) {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// A client that trusts this authority, with the certificate that `identity` names: its folder, and its name there.
    pub(crate) fn client(&self, identity: Option<(&Path, &str)>) -> reqwest::Client {
        self.speaking(identity, &[b"h2", b"http/1.1"])
    }

    /// A connection of HTTPS over `tcp`, without a client.
    pub(crate) async fn connect(&self, tcp: TcpStream, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(self.settings(None, protocols))).connect(name, tcp).await.unwrap()
    }

    /// The same that speaks these protocols alone.
    pub(crate) fn speaking(&self, identity: Option<(&Path, &str)>, protocols: &[&[u8]]) -> reqwest::Client {
        let config = self.settings(identity, protocols);
        let client = builder().redirect(reqwest::redirect::Policy::none());
        client.tls_backend_preconfigured(config).build().unwrap()
    }

    /// What such a client is made of.
    pub(crate) fn settings(&self, identity: Option<(&Path, &str)>, protocols: &[&[u8]]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some((folder, name)) => {
                let chain = CertificateDer::from_pem_file(folder.join(format!("{name}.pem"))).unwrap();
                let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }
}
