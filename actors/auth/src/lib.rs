//! Authenticates callers and determines their rights. The command line changes the [`store`]; the [`AuthActor`]
//! answers from memory what the store contains. HTTP is not known here.
//!
//! `verify` verifies credentials, and keeps its verdicts in a cache that any thread reads. `issue` makes access
//! tokens. `issuers` trusts tokens of other issuers. `oauth` has the grants and clients of OAuth 2. `accounts` is
//! what people do in a browser. `sync` keeps memory up to date with the store.
//!
//! A revocation by this process is in force when it is answered; one by the command line after [`Auth::sync`]; one
//! by another process within 100 ms: the actor reads the revision of the store before every answer and several
//! times between. A store in PostgreSQL is watched by a thread, and a refusal that may be stale is answered only
//! after another check (`sync::lookup`).

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
pub use self::issue::published::Jwks;
pub use self::issue::token_request::{IssueToken, TokenRequest};
pub use self::issuers::issuer::{IssuerIdentity, IssuerKey, IssuerKeys, TrustedIssuer};
pub use self::keys::key::Algorithm;
pub use self::keys::sealing::StoreKey;
pub use self::keys::shared_secret::SharedSecret;
pub use self::limits::{AuthLimits, network};
pub use self::oauth::grant::{AccessToken, ClientAuthentication, GrantError, TokenSpec};
pub use self::oauth::introspection::{Introspect, Introspection, Revoke};
pub use self::secret::{CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};
pub use self::settings::{AuthSettings, TOKEN_LIFETIME};
pub use self::supervisor::{Auth, Reconfigure};
pub use self::sync::peers::{PeerMessage, PeerMessages};
pub use self::verify::request::Authenticate;
