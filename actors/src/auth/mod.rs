//! Identity: who calls, and how far they reach. The command line changes the [`store`], and the
//! [`AuthActor`] answers from memory what the store holds. How a credential travels is not known
//! here.
//!
//! What was found is remembered, for any thread to read (`verify::cache`). What this process takes away is refused
//! when that is answered; what the command line does, once it was told so by [`Auth::sync`]; what another process
//! does, within 100 ms: the actor looks at the store before every answer and several times between. A database of
//! several processes is watched by a thread (`sync`), and a refusal that it could know better is said only once
//! it was asked (`sync::lookup`).

pub mod accounts;
mod actor;
pub mod clock;
mod issue;
mod issuers;
mod keys;
mod limits;
pub mod oauth;
pub mod recording;
pub mod records;
mod secret;
mod settings;
pub mod store;
mod supervisor;
mod sync;
pub mod throttle;
mod verify;

#[cfg(test)]
mod tests;

pub use self::actor::AuthActor;
pub use self::issue::exchange::{Exchange, IssueToken};
pub use self::issue::published::Jwks;
pub use self::issuers::issuer::{IssuerIdentity, IssuerKey, IssuerKeys, TrustedIssuer};
pub use self::keys::key::Algorithm;
pub use self::keys::sealing::StoreKey;
pub use self::keys::shared_secret::SharedSecret;
pub use self::limits::AuthLimits;
pub use self::oauth::grant::{AccessToken, ClientProof, Grant, GrantError, TokenSpec};
pub use self::oauth::introspection::{Introspect, Introspection, Revoke};
pub use self::secret::{CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};
pub use self::settings::{AuthSettings, TOKEN_LIFETIME};
pub use self::supervisor::{Auth, Reconfigure};
pub use self::sync::peers::{PeerMessage, PeerMessages};
pub use self::verify::authenticate::Authenticate;
