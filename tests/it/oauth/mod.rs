//! People, applications and tokens: sign-in, consent, grants, credentials.

mod admission;
mod clients;
mod credentials;
mod front;
pub(crate) mod replicas;
mod signing_in;
mod store_on_postgres;
mod workspaces;
