//! The error for bytes that are not a valid value of their type.

/// Bytes that are not a valid value of their type.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// All of `raw` as an array of its type's width.
///
/// # Errors
/// `raw` has another width.
pub(crate) fn whole<const N: usize>(raw: &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    raw.try_into().map_err(|_| Malformed(what))
}
