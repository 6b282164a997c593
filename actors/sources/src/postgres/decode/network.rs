//! PostgreSQL's binary network addresses as the source prints them.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::postgres::decode::malformed::Malformed;

/// `inet` and `cidr`: the mask is left out where an `inet` is a single host.
pub(crate) fn address(raw: &[u8]) -> Result<String, Malformed> {
    let (&[_family, bits, is_network, _length], octets) = raw.split_first_chunk::<4>().ok_or(Malformed("inet"))?;
    let (mut text, all_bits) = if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        (Ipv4Addr::from(octets).to_string(), 32)
    } else {
        let octets = <[u8; 16]>::try_from(octets).map_err(|_| Malformed("inet"))?;
        (version_6(octets), 128)
    };
    if is_network != 0 || bits != all_bits {
        text.push('/');
        text.push_str(&bits.to_string());
    }
    Ok(text)
}

/// The source prints an embedded IPv4 address with dots also where RFC 5952 does not ask for it.
fn version_6(octets: [u8; 16]) -> String {
    let address = Ipv6Addr::from(octets);
    match (address.segments(), octets) {
        ([0, 0, 0, 0, 0, 0, high, _], [.., a, b, c, d]) if high != 0 => format!("::{}", Ipv4Addr::new(a, b, c, d)),
        _ => address.to_string(),
    }
}

/// `macaddr` and `macaddr8`: octets in hexadecimal with colons.
pub(crate) fn hardware_address(raw: &[u8]) -> String {
    raw.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
}
