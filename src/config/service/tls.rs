//! `[server.tls]`: the files are read with the configuration, so that problems are reported with key and line, and
//! a reload takes over renewed files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;

use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::Switch;
use crate::config::declared::setting::{SWITCH, TEXT};
use crate::config::declared::table::{ReadSetting, Table, settings};

/// What the service shows, and what it demands.
#[derive(Clone)]
pub struct Tls {
    /// The certificate with its chain, and its key.
    pub certified: Arc<CertifiedKey>,
    /// Judges clients' certificates, where they are demanded.
    pub clients: Option<Arc<dyn ClientCertVerifier>>,
    /// The authorities that clients' certificates are of.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Where the key was read from.
    pub key_file: PathBuf,
    /// Whether HTTP/2 is offered.
    pub http2: bool,
}

impl Tls {
    /// Returns the settings whose files hold another certificate, or other authorities, than `before`.
    pub fn changed_files(&self, before: &Self) -> impl Iterator<Item = &'static str> {
        let changes = [
            ("server.tls.certificate", self.certified.cert != before.certified.cert),
            ("server.tls.client_ca", self.authorities != before.authorities),
        ];
        changes.into_iter().filter(|(_, has_changed)| *has_changed).map(|(name, _)| name)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("clients", &self.clients.is_some()).finish_non_exhaustive()
    }
}

settings! {
    /// TLS on every TCP listener.
    pub(in crate::config) struct CertificateFiles {
        /// A PEM file with the certificate and its chain.
        certificate: PathBuf = TEXT.example("\"server.pem\"").renewed()
            .required("add the path of a PEM file: the certificate and its chain"),
        /// A PEM file with the certificate's private key.
        key: PathBuf = TEXT.example("\"server.key\"").renewed()
            .required("add the path of a PEM file with the certificate's private key"),
        /// Demands a certificate by one of the authorities in this PEM file from every client.
        client_ca: Option<PathBuf> = TEXT.example("\"clients.pem\"").renewed(),
        /// Offers HTTP/2 beside HTTP/1.1. Its library keeps up to 16 MiB of a head that does not end, for each connection
        /// and before anybody is known: where `client_ca` or a proxy keeps strangers away.
        http2: bool = SWITCH.or(Switch(false)).live(),
    }
}

impl ReadSetting for Option<Tls> {
    fn take(server: &Section<'_>, name: &str) -> Self {
        let section = server.optional_table(name)?;
        let files = CertificateFiles::read(&section);
        let chain = certificates(&section, "certificate", &files.certificate);
        let key_file = section.base().join(files.key);
        let key = PrivateKeyDer::from_pem_file(&key_file).map_err(|error| {
            let message = format!("{} holds no private key: {error}", key_file.display());
            section.problem("key", message, "name a readable PEM file with one private key");
        });
        let authorities = files.client_ca.as_ref().map(|path| certificates(&section, "client_ca", path));
        let authorities = match authorities {
            Some(authorities) => authorities?,
            None => Vec::new(),
        };
        let clients = files.client_ca.as_ref().map(|path| clients(&section, path, &authorities));
        let certified = CertifiedKey::from_der(chain?, key.ok()?, &aws_lc_rs::default_provider()).map_err(|error| {
            let message = format!("certificate and key do not belong together: {error}");
            section.problem("key", message, "name the key that the certificate was made for");
        });
        let clients = match clients {
            Some(clients) => Some(clients?),
            None => None,
        };
        Some(Tls { certified: Arc::new(certified.ok()?), clients, authorities, key_file, http2: files.http2 })
    }
}

fn certificates(section: &Section<'_>, name: &str, path: &Path) -> Option<Vec<CertificateDer<'static>>> {
    let path = section.base().join(path);
    let read = CertificateDer::pem_file_iter(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let wrong = match read {
        Ok(certificates) if !certificates.is_empty() => return Some(certificates),
        Ok(_) => "there is none in it".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("{} holds no certificate: {wrong}", path.display());
    section.problem(name, message, "name a readable PEM file with at least one certificate");
    None
}

fn clients(
    section: &Section<'_>,
    path: &Path,
    authorities: &[CertificateDer<'static>],
) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        // Clients with one certificate for us do not need the names (RFC 8446 §4.2.4).
        .clear_root_hint_subjects()
        .build();
    let refused = verifier.map_err(|error| {
        let message = format!("{} holds no authority: {error}", section.base().join(path).display());
        section.problem("client_ca", message, "name a PEM file with the authorities' certificates");
    });
    refused.ok()
}
