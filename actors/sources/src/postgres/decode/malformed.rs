//! What is told of octets that are not what their type promises.

/// Octets that are not what their type promises.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// All of `raw` as an array of its type's width.
///
/// # Errors
/// It has another width.
pub(crate) fn whole<const N: usize>(raw: &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    raw.try_into().map_err(|_| Malformed(what))
}
