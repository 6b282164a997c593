//! Keys of other issuers, as the actor looks for them.

use actix::{AsyncContext, Context, Handler, Message};
use tokio::sync::oneshot;

use crate::actor::AuthActor;
use crate::issuers::jwks::Keys;
use crate::verify::jws::Signed;
use portico_core::event::Event;

impl AuthActor {
    /// The trusted issuer that this token claims to be of.
    pub(crate) fn foreign(&self, token: &str) -> Option<usize> {
        if self.issuers.is_empty() {
            return None;
        }
        let signed = Signed::read(token).ok()?;
        let claimed = signed.claimed("iss")?;
        self.issuers.iter().position(|issuer| issuer.name() == claimed)
    }

    /// Starts to fetch newer keys of the issuer. Returns a receiver that completes when there may be some; `None`
    /// if there is nothing to wait for.
    pub(crate) fn look_for_keys(&mut self, index: usize, context: &Context<Self>) -> Option<oneshot::Receiver<()>> {
        let now = self.settings.clock.now().time();
        let issuer = self.issuers.get_mut(index)?;
        let own = context.address();
        issuer.fetch(self.client.as_ref()?, now, move |keys| own.do_send(Fetched { index, keys }));
        issuer.wait()
    }
}

/// The answer of an issuer has come, or has not.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Fetched {
    pub(crate) index: usize,
    pub(crate) keys: Keys,
}

impl Handler<Fetched> for AuthActor {
    type Result = ();

    fn handle(&mut self, Fetched { index, keys }: Fetched, _: &mut Self::Context) {
        let now = self.settings.clock.now().time();
        let Some(issuer) = self.issuers.get_mut(index) else { return };
        match issuer.fetched(keys, now) {
            // What was let in by a key that is gone must neither stay in the cache nor go on.
            Ok(true) => self.reverify(),
            // A token that names an unknown key must not cost all callers what is cached of them.
            Ok(false) => {}
            Err(cause) => {
                let issuer = issuer.name().to_owned();
                (self.settings.observer)(&Event::IssuerFailed { issuer, cause });
            }
        }
    }
}
