//! People sign in, consent, and have pages of their own.

mod authorize;
mod authorize_attacks;
mod browser;
mod browsers;
mod people;
mod within;

// What is included by `store_on_postgres` too has another one there.
use crate::support::fixture;
