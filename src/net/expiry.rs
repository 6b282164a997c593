//! When a certificate ends (RFC 5280 §4.1.2.5). Nothing is judged by it; it is told to people.

use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Seconds since 1970-01-01T00:00:00Z at which the certificate `der` ends, where that can be read.
pub fn not_after(der: &[u8]) -> Option<i64> {
    let certificate = Certificate::from_der(der).ok()?;
    i64::try_from(certificate.tbs_certificate.validity.not_after.to_unix_duration().as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2031, 3, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        assert_eq!(not_after(certificate.der()), Some(1_930_089_600));
        for length in 0..certificate.der().len().min(200) {
            assert_eq!(
                not_after(&certificate.der()[..length]),
                None,
                "a certificate that is cut off after {length} bytes"
            );
        }
    }
}
