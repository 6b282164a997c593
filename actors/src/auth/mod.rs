//! Identity: who calls, and how far they reach. The command line changes the [`store`], and the
//! [`AuthActor`] answers from memory what the store holds. How a credential travels is not known
//! here.
//!
//! What was found is remembered, for any thread to read (`verdicts`). What this process takes away is refused
//! when that is answered; what the command line does, once it was told so by [`Auth::look`]; what another process
//! does, within 100 ms: the actor looks at the store before every answer and several times between. A database of
//! several processes is watched by a thread (`watch`), and a refusal that it could know better is said only once
//! it was asked (`asking`).

mod actor;
mod asking;
mod attempts;
mod authenticate;
mod authentication;
mod client;
pub mod clock;
mod crowd;
mod der;
mod grant;
mod held;
mod issuer;
mod issuer_keys;
mod issuing;
mod judging;
mod jwks;
mod jws;
mod key;
mod minting;
mod peers;
pub mod people;
mod published;
pub mod recording;
pub mod records;
mod refusal;
mod resource;
mod sealing;
mod secret;
mod settings;
mod shared_secret;
mod snapshot;
pub mod store;
mod supervisor;
mod telling;
pub mod throttle;
mod token;
mod verdicts;
mod watch;

#[cfg(test)]
mod tests;

pub use self::actor::AuthActor;
pub use self::attempts::AuthLimits;
pub use self::authenticate::Authenticate;
pub use self::client::{Introspect, Introspection, Revoke};
pub use self::grant::{AccessToken, ClientProof, Grant, GrantError, Ticket};
pub use self::issuer::{IssuerIdentity, IssuerKey, IssuerKeys, TrustedIssuer};
pub use self::issuing::{Exchange, Mint};
pub use self::key::Algorithm;
pub use self::peers::{Word, Words};
pub use self::published::Jwks;
pub use self::sealing::StoreKey;
pub use self::secret::{CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};
pub use self::settings::{AuthSettings, TOKEN_LIFETIME};
pub use self::shared_secret::SharedSecret;
pub use self::supervisor::{Auth, Reconfigure};
