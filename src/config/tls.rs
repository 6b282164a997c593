//! `[server.tls]`: the files are read with the configuration, so that what is wrong with them is
//! told with key and line, and a reload takes renewed ones over.

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

use super::problem::Problem;
use super::section::Section;

/// What the service shows, and what it demands.
#[derive(Clone)]
pub struct Tls {
    /// The certificate with its chain, and its key.
    pub certified: Arc<CertifiedKey>,
    /// Judges clients' certificates, where they are demanded.
    pub clients: Option<Arc<dyn ClientCertVerifier>>,
    /// Where the key was read from.
    pub key_file: PathBuf,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("clients", &self.clients.is_some()).finish_non_exhaustive()
    }
}

/// Reads `[server.tls]`, where it is there.
pub(super) fn read(server: &mut Section<'_>, base: &Path, problems: &mut Vec<Problem>) -> Option<Tls> {
    if !server.has("tls") {
        return None;
    }
    let mut section = server.section("tls", problems);
    let certificate =
        section.required("certificate", "add the path of a PEM file: the certificate and its chain", problems);
    let key = section.required("key", "add the path of a PEM file with the certificate's private key", problems);
    let authority = section.string("client_ca", problems);
    section.finish(problems);
    let chain = certificate.and_then(|path| certificates(&section, "certificate", &base.join(path), problems));
    let key_file = key.map(|path| base.join(path));
    let key = key_file.as_ref().and_then(|path| {
        PrivateKeyDer::from_pem_file(path)
            .map_err(|error| {
                let message = format!("{} holds no private key: {error}", path.display());
                section.problem("key", message, "name a readable PEM file with one private key", problems);
            })
            .ok()
    });
    let clients = authority.map(|path| clients(&section, &base.join(path), problems));
    let certified = CertifiedKey::from_der(chain?, key?, &aws_lc_rs::default_provider())
        .map_err(|error| {
            let message = format!("certificate and key are no pair: {error}");
            section.problem("key", message, "name the key that the certificate was made for", problems);
        })
        .ok()?;
    let clients = match clients {
        Some(clients) => Some(clients?),
        None => None,
    };
    Some(Tls { certified: Arc::new(certified), clients, key_file: key_file? })
}

fn certificates(
    section: &Section<'_>,
    name: &'static str,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let wrong = match read {
        Ok(certificates) if !certificates.is_empty() => return Some(certificates),
        Ok(_) => "there is none in it".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("{} holds no certificate: {wrong}", path.display());
    section.problem(name, message, "name a readable PEM file with at least one certificate", problems);
    None
}

fn clients(section: &Section<'_>, path: &Path, problems: &mut Vec<Problem>) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(section, "client_ca", path, problems)?);
    let provider = Arc::new(aws_lc_rs::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        // Clients that have one certificate for us do not need to be told the names (RFC 8446 §4.2.4).
        .clear_root_hint_subjects()
        .build()
        .map_err(|error| {
            let message = format!("{} holds no authority: {error}", path.display());
            section.problem("client_ca", message, "name a PEM file with the authorities' certificates", problems);
        })
        .ok()
}
