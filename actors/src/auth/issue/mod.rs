//! Access tokens are issued here, and the keys published that verify them.

pub(crate) mod issuing;
pub(crate) mod minting;
pub(crate) mod published;
