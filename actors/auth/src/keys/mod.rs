//! Keys: what tokens are signed and verified with, and what private keys are encrypted with.

pub(crate) mod der;
pub(crate) mod key;
pub(crate) mod sealing;
pub(crate) mod shared_secret;
