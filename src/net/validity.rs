//! The validity period and the hosts of a certificate (RFC 5280 §4.1.2.5, RFC 9525). The service itself decides
//! nothing by them: its clients do, and people are warned before they call.

use portico_actors::auth::clock::Timestamp;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use url::Url;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::config::{Server, Tls};

/// The remedy for a complaint.
pub const REMEDY: &str = "renew it, then run portico reload";

/// When a certificate begins and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub begin: Timestamp,
    /// The last one.
    pub end: Timestamp,
}

impl Validity {
    /// Of the certificate `der`, where that can be read.
    pub fn of(der: &[u8]) -> Option<Self> {
        let validity = Certificate::from_der(der).ok()?.tbs_certificate.validity;
        let at = |time: x509_cert::time::Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
        let (begin, end) = (at(validity.not_before)?, at(validity.not_after)?);
        Some(Self { begin: Timestamp::from_seconds(begin), end: Timestamp::from_seconds(end) })
    }
}

/// The certificate that clients are shown.
pub fn shown(tls: &Tls) -> Option<&CertificateDer<'static>> {
    tls.certified.cert.first()
}

/// Why clients that call `server` at `now` would refuse its certificate, where one is configured and they would.
pub fn complaint(server: &Server, now: Timestamp) -> Option<String> {
    let certificate = shown(server.tls.as_ref()?)?;
    outside_validity(certificate, now).or_else(|| not_for_host(certificate, &server.public_url))
}

/// Returns why clients refuse `certificate` at `now`, if they do.
pub fn outside_validity(certificate: &CertificateDer<'_>, now: Timestamp) -> Option<String> {
    let Some(validity) = Validity::of(certificate) else {
        return Some("the certificate's beginning and end cannot be read".to_owned());
    };
    if validity.end <= now {
        return Some(format!("the certificate ended at {}", validity.end));
    }
    (validity.begin > now).then(|| format!("the certificate is not valid before {}", validity.begin))
}

/// Returns that `certificate` is for another host than that of `public_url`, if so: a proxy in front may know it by
/// another name.
pub fn not_for_host(certificate: &CertificateDer<'_>, public_url: &str) -> Option<String> {
    let url = Url::parse(public_url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let name = ServerName::try_from(host).ok()?;
    let is_for_host =
        ParsedCertificate::try_from(certificate).is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok());
    (!is_for_host).then(|| format!("the certificate is not for {host}, the host of server.public_url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(begin: i32, end: i32) -> CertificateDer<'static> {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(begin, 3, 1);
        parameters.not_after = rcgen::date_time_ymd(end, 3, 1);
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().into()
    }

    #[test]
    fn begin_and_end_of_a_certificate_are_read() {
        let certificate = certificate(2026, 2031);
        let (begin, end) = (Timestamp::from_seconds(1_772_323_200), Timestamp::from_seconds(1_930_089_600));
        assert_eq!(Validity::of(&certificate), Some(Validity { begin, end }));
        for length in 0..certificate.len().min(200) {
            assert_eq!(Validity::of(&certificate[..length]), None, "a certificate cut off after {length} bytes");
        }
    }
}
