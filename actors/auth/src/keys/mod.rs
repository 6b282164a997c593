//! Keys for signing and verifying tokens, and for encrypting private keys.

pub(crate) mod der;
pub(crate) mod key;
pub(crate) mod sealing;
pub(crate) mod shared_secret;
