//! What keeps a caller where it belongs, beside the grants of the connection's user.

pub(super) mod functions;
