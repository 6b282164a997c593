//! The error for an invalid parameter of an address.

use portico_core::error::{Error, Kind};

/// A parameter of the address that cannot be honoured.
pub(crate) fn refusal(name: &str, what: &str, remedy: &str) -> Error {
    let message = if name == "url" { format!("url: {what}") } else { format!("url: parameter {name}: {what}") };
    Error::new(Kind::Invalid, message).hint(remedy)
}
