//! The privileges of a database user, compared with what a connection exposes.

pub(crate) mod apply;
pub(crate) mod inventory;
pub(crate) mod reach;
pub(crate) mod script;
pub(crate) mod shown;
pub(crate) mod state;

pub(crate) use self::reach::reach;
