//! People, applications and tokens: sign-in, consent, grants, credentials.

mod admission;
mod authorize;
mod authorize_attacks;
mod browser;
mod browsers;
mod client_documents;
mod doors;
mod endings;
mod endpoints;
mod front;
mod issuers;
mod people;
mod registrations;
pub(crate) mod replicas;
mod resources;
mod revocation;
mod secrets;
mod store_on_postgres;
mod throttling;
mod within;
mod workspaces;

use crate::support::fixture;
