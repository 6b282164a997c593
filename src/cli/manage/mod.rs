//! Commands that change the configuration or the store: connections, workspaces, people, clients, tokens.

pub(in crate::cli) mod client;
pub(in crate::cli) mod connection;
pub(in crate::cli) mod consent;
pub(in crate::cli) mod edit;
pub(in crate::cli) mod grants;
pub(in crate::cli) mod key;
pub(in crate::cli) mod pat;
pub(in crate::cli) mod recording;
pub(in crate::cli) mod service_account;
pub(in crate::cli) mod user;
pub(in crate::cli) mod workspace;
