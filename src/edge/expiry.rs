//! When a certificate ends: the few bytes of DER that say it (RFC 5280 §4.1.2.5). Nothing is judged
//! by it; it is told to people.

/// Seconds since 1970-01-01T00:00:00Z at which the certificate `der` ends, where that can be read.
pub fn of(der: &[u8]) -> Option<i64> {
    let (_, certificate, _) = element(der)?;
    let (_, mut rest, _) = element(certificate)?;
    // The version is there only in certificates that have extensions.
    if rest.first() == Some(&0xa0) {
        rest = element(rest)?.2;
    }
    // Serial number, signature, issuer.
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (_, validity, _) = element(rest)?;
    let (_, _, end) = element(validity)?;
    let (kind, text, _) = element(end)?;
    moment(kind, std::str::from_utf8(text).ok()?)
}

/// Tag, contents and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        let bytes = rest.get(..count).filter(|_| (1..=4).contains(&count))?;
        (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest.get(count..)?)
    };
    Some((tag, rest.get(..length)?, rest.get(length..)?))
}

/// `YYMMDDHHMMSSZ` (`UTCTime`) or `YYYYMMDDHHMMSSZ` (`GeneralizedTime`).
fn moment(kind: u8, text: &str) -> Option<i64> {
    let digits = text.strip_suffix('Z').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (year, rest) = match kind {
        0x17 if digits.len() == 12 => {
            let year: i64 = digits[..2].parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, &digits[2..])
        }
        0x18 if digits.len() == 14 => (digits[..4].parse().ok()?, &digits[4..]),
        _ => return None,
    };
    let pair = |at: usize| rest[at..at + 2].parse::<i64>().ok();
    let (month, day, hour, minute, second) = (pair(0)?, pair(2)?, pair(4)?, pair(6)?, pair(8)?);
    // Days of the civil calendar, counted in years that begin with March.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (years.div_euclid(400), years.rem_euclid(400));
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * months + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
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
        assert_eq!(of(certificate.der()), Some(1_930_089_600));
        for length in 0..certificate.der().len().min(200) {
            assert_eq!(of(&certificate.der()[..length]), None, "a certificate that is cut off after {length} bytes");
        }
    }

    #[test]
    fn both_forms_of_time_are_understood() {
        assert_eq!(moment(0x17, "700101000000Z"), Some(0));
        assert_eq!(moment(0x17, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(moment(0x18, "20500101000000Z"), Some(2_524_608_000));
        for wrong in ["", "Z", "7001010000Z", "70010100000éZ", "700101000000"] {
            assert_eq!(moment(0x17, wrong), None, "{wrong}");
        }
    }
}
