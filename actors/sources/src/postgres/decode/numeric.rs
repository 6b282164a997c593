//! PostgreSQL's binary `numeric` as decimal digits, none lost and none added. Other numbers are
//! read in `cells.rs`.

use crate::postgres::decode::malformed::Malformed;
use portico_core::calendar::push_padded;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const MINUS_INFINITY: u16 = 0xF000;

/// The digits as the source prints them: trailing zeros up to the value's own scale are kept.
pub(crate) fn digits(raw: &[u8]) -> Result<String, Malformed> {
    let (header, mut rest) = raw.split_first_chunk::<8>().ok_or(Malformed("numeric"))?;
    let [n0, n1, w0, w1, s0, s1, d0, d1] = *header;
    let count = usize::from(u16::from_be_bytes([n0, n1]));
    let weight = i32::from(i16::from_be_bytes([w0, w1]));
    let scale = usize::from(u16::from_be_bytes([d0, d1]));
    let sign = match u16::from_be_bytes([s0, s1]) {
        NAN => return Ok("NaN".to_owned()),
        INFINITY => return Ok("Infinity".to_owned()),
        MINUS_INFINITY => return Ok("-Infinity".to_owned()),
        sign => sign,
    };

    let mut groups = Vec::with_capacity(count);
    while let Some((group, more)) = rest.split_first_chunk::<2>() {
        groups.push(u16::from_be_bytes(*group));
        rest = more;
    }
    if groups.len() != count || groups.iter().any(|group| *group > 9999) {
        return Err(Malformed("numeric"));
    }
    // Group `i` stands for 10000^(weight − i); groups outside the list are zero.
    let group_at =
        |power: i32| usize::try_from(weight - power).ok().and_then(|index| groups.get(index)).copied().unwrap_or(0);

    let mut text = String::with_capacity(count * 4 + scale + 3);
    if sign == NEGATIVE {
        text.push('-');
    }
    let start = text.len();
    for power in (0..=weight.max(0)).rev() {
        let group = group_at(power);
        if text.len() > start {
            push_padded(&mut text, group.into(), 4);
        } else if group > 0 || power == 0 {
            push_padded(&mut text, group.into(), 1);
        }
    }
    if scale > 0 {
        text.push('.');
        let end = text.len() + scale;
        let mut power = -1;
        while text.len() < end {
            push_padded(&mut text, group_at(power).into(), 4);
            power -= 1;
        }
        text.truncate(end);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use crate::postgres::decode::numeric::digits;

    fn encoded(weight: i16, sign: u16, scale: u16, groups: &[u16]) -> Vec<u8> {
        let mut raw = u16::try_from(groups.len()).unwrap().to_be_bytes().to_vec();
        raw.extend(weight.to_be_bytes());
        raw.extend(sign.to_be_bytes());
        raw.extend(scale.to_be_bytes());
        for group in groups {
            raw.extend(group.to_be_bytes());
        }
        raw
    }

    #[test]
    fn every_digit_survives() {
        assert_eq!(digits(&encoded(0, 0, 0, &[])).unwrap(), "0");
        assert_eq!(digits(&encoded(0, 0, 3, &[])).unwrap(), "0.000");
        assert_eq!(digits(&encoded(1, 0x4000, 2, &[12, 3456, 7000])).unwrap(), "-123456.70");
        assert_eq!(digits(&encoded(-2, 0, 8, &[12])).unwrap(), "0.00000012");
        assert_eq!(digits(&encoded(2, 0, 0, &[1])).unwrap(), "100000000");
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        assert!(digits(&[0, 1, 0, 0]).is_err());
        assert!(digits(&[0, 2, 0, 0, 0, 0, 0, 0, 0, 1]).is_err());
    }
}
