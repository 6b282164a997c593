//! Notices that the store was changed by somebody else. What is done with the new contents is not
//! decided here.

mod either;
mod file;
mod replica;
mod work;

pub(crate) use self::either::Watch;
#[cfg(test)]
pub(crate) use self::file::FileWatch;
pub(crate) use self::work::gone;
