//! TLS to the source: trusted roots and our own certificate. `sslmode` is interpreted in `conninfo/options.rs`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, version};
use tokio::task::spawn_blocking;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::postgres::connect::conninfo::invalid::refusal;
use crate::postgres::connect::conninfo::options::{Mode, Roots, Tls};
use portico_core::error::{Error, Result};
use portico_core::mutex::lock;

/// Identifies a version of the files: the time of change and the size of each.
type Stamp = Vec<Option<(i64, i64, u64)>>;

/// The connector for an address. Its files are read again when they have changed: certificates are
/// replaced while the service runs.
pub(crate) struct Connectors {
    tls: Arc<Tls>,
    /// Made when first needed.
    current: Mutex<Option<(Stamp, MakeRustlsConnect)>>,
}

impl Connectors {
    /// Reads the files that `tls` names, to check that they are valid.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the parameter whose file is wrong.
    pub(crate) fn new(tls: Arc<Tls>) -> Result<Self> {
        let stamp = stamp(&tls);
        // Without files there is no error to correct.
        let current = if stamp.is_empty() { None } else { Some((stamp, connector(&tls)?)) };
        Ok(Self { tls, current: Mutex::new(current) })
    }

    /// Takes the settings without reading their files yet: the files are another caller's own.
    pub(crate) fn unread(tls: Arc<Tls>) -> Self {
        Self { tls, current: Mutex::new(None) }
    }

    /// The connector of the files as they are now.
    pub(crate) async fn current(&self) -> Result<MakeRustlsConnect> {
        let known = lock(&self.current).clone();
        let tls = Arc::clone(&self.tls);
        let current = match known {
            Some((stamp, connector)) if stamp.is_empty() => return Ok(connector),
            // No roots are needed: nothing is read.
            None if !is_verified(&tls) && tls.client.is_none() => (Vec::new(), connector(&tls)?),
            known => spawn_blocking(move || renewed(&tls, known)).await.map_err(Error::internal)??,
        };
        let connector = current.1.clone();
        *lock(&self.current) = Some(current);
        Ok(connector)
    }
}

/// Returns `known`, or a new connector if the files have changed.
fn renewed(tls: &Tls, known: Option<(Stamp, MakeRustlsConnect)>) -> Result<(Stamp, MakeRustlsConnect)> {
    let stamp = stamp(tls);
    match known {
        Some(known) if known.0 == stamp => Ok(known),
        _ => Ok((stamp, connector(tls)?)),
    }
}

/// Whether a certificate is asked for more than its key.
fn is_verified(tls: &Tls) -> bool {
    tls.mode >= Mode::VerifyCa || (tls.mode == Mode::Require && tls.roots.is_some())
}

fn stamp(tls: &Tls) -> Stamp {
    let roots = tls.roots.iter().filter_map(|roots| match roots {
        Roots::File(path) => Some(path),
        Roots::System => None,
    });
    let client = tls.client.iter().flat_map(|(certificate, key)| [certificate, key]);
    let stamp = |path: &PathBuf| fs::metadata(path).ok().map(|file| (file.mtime(), file.mtime_nsec(), file.size()));
    roots.chain(client).map(stamp).collect()
}

/// The connector for `tls`, by the table of PostgreSQL, §34.19.3. Up to `require` encryption alone
/// is asked for, unless there is a root of one's own.
fn connector(tls: &Tls) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions: &[_] = if tls.only_newest { &[&version::TLS13] } else { &[&version::TLS13, &version::TLS12] };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(Error::internal)?;
    let chain = if is_verified(tls) {
        let roots = Arc::new(roots(tls.roots.as_ref())?);
        let provider = Arc::clone(&provider);
        Some(WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(Error::internal)?)
    } else {
        None
    };
    let builder = match chain {
        Some(verifier) if tls.mode == Mode::VerifyFull => builder.with_webpki_verifier(verifier),
        chain => builder.dangerous().with_custom_certificate_verifier(Arc::new(Lenient { chain, provider })),
    };
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let certificates = certificates("sslcert", certificate)?;
            builder.with_client_auth_cert(certificates, private_key(key)?).map_err(|error| {
                refusal("sslkey", "the key does not belong to sslcert", "name a pair that belongs together")
                    .because(error)
            })?
        }
    };
    // PostgreSQL issues no session tickets: memory for them would be by far the largest part of an address.
    config.resumption = Resumption::disabled();
    if tls.direct {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(MakeRustlsConnect::new(config))
}

fn roots(roots: Option<&Roots>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match roots {
        Some(Roots::File(path)) => {
            for certificate in certificates("sslrootcert", path)? {
                store.add(certificate).map_err(|error| {
                    refusal("sslrootcert", "a certificate of the file cannot be a root", "remove it").because(error)
                })?;
            }
        }
        Some(Roots::System) | None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(store)
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read = read.map_err(|error| {
        refusal(name, &format!("the file cannot be read: {error}"), "name a PEM file that this user may read")
    })?;
    if read.is_empty() {
        return Err(refusal(name, "the file holds no certificate", "name a PEM file with BEGIN CERTIFICATE"));
    }
    Ok(read)
}

/// The client's key. Like libpq (§34.19.2), refuses one that others may read.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let remedy = "name a PEM file with a key that is not encrypted, and that this user may read";
        refusal("sslkey", &format!("the file cannot be read: {error}"), remedy)
    };
    let file = fs::metadata(path).map_err(|error| unreadable(&error))?;
    let allowed = if file.uid() == 0 { 0o740 } else { 0o700 };
    if file.mode() & 0o777 & !allowed != 0 {
        return Err(refusal("sslkey", "others may read the file", "chmod 600 it"));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable(&error))
}

/// Verifies less than a chain to a trusted root and the host's name, but still that the server holds the
/// certificate's key.
#[derive(Debug)]
struct Lenient {
    /// Demands the chain, and takes any name (`verify-ca`); absent, any certificate is taken.
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, when everything else has been found good.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
