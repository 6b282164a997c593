//! Identity: who calls, and how far they reach. The command line changes the [`store`], and the
//! [`AuthActor`] answers from memory what the store holds. How a credential travels is not known
//! here.
//!
//! What was found is remembered, for any thread to read (`verdicts`). What this process takes away is refused
//! when that is answered; what the command line does, once it was told so by [`Auth::look`]; what another process
//! does, within 100 ms: the actor looks at the store before every answer and several times between. A database of
//! several processes is watched by a thread (`watch`), and a refusal that it could know better is said only once
//! it was asked (`asking`).

mod asking;
mod attempts;
mod client;
pub mod clock;
mod crowd;
mod der;
mod grant;
mod issuer;
mod issuing;
mod judging;
mod jwks;
mod jws;
mod key;
mod peers;
pub mod people;
mod published;
pub mod recording;
pub mod records;
mod resource;
mod sealing;
mod secret;
mod shared_secret;
mod snapshot;
pub mod store;
mod supervisor;
pub mod throttle;
mod token;
mod verdicts;
mod watch;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::{Actor, Arbiter, AsyncContext, Context, Handler, Response, System};
use secrecy::ExposeSecret;
use tokio::sync::oneshot;
use uuid::Uuid;

pub use self::attempts::AuthLimits;
pub use self::client::{ClientProof, Introspect, Introspection, Revoke};
pub use self::grant::{AccessToken, Grant, GrantError, Ticket};
pub use self::issuer::{IssuerIdentity, IssuerKey, IssuerKeys, TrustedIssuer};
pub use self::issuing::{Exchange, Mint};
pub use self::key::Algorithm;
pub use self::peers::{PeerMessage, PeerMessages};
pub use self::published::Jwks;
pub use self::sealing::StoreKey;
pub use self::secret::{CLIENT_ID_PREFIX, CLIENT_SECRET_PREFIX, PAT_PREFIX};
pub use self::shared_secret::SharedSecret;
pub use self::supervisor::{Auth, Reconfigure};

use self::asking::{Away, Revoked, Settled};
use self::attempts::{Failures, Issued};
use self::clock::Clock;
use self::issuer::Issuer;
use self::judging::{Held, Legacy};
use self::snapshot::Snapshot;
use self::store::Place;
use self::supervisor::{Obituary, Occupant};
use self::token::{Refusal, Tokens};
use self::verdicts::{Judge, Memory, Verdicts};
use self::watch::Watch;
use crate::beat::Beat;
use crate::error::{Error, Result};
use crate::event::Observer;
use crate::principal::{Credential, Endpoint, Principal};

/// How long an access token is valid unless the settings say otherwise.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(1);

/// How often the store is looked at: whoever is known asks nobody.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the actor is started with.
#[derive(Clone)]
pub struct AuthSettings {
    /// The store; a file is made if it does not exist.
    pub store: Place,
    /// The origin that clients see: `iss` of our tokens, and the stem of every audience.
    pub issuer: String,
    /// How long an access token is valid.
    pub token_lifetime: Duration,
    /// What private keys in the store are encrypted with, where they are.
    pub store_key: Option<StoreKey>,
    /// Every configured connection: what the token of a user who reaches all of them names.
    pub connections: Arc<[Uuid]>,
    /// How often what may happen.
    pub limits: AuthLimits,
    /// Issuers besides our own.
    pub issuers: Vec<TrustedIssuer>,
    /// Which clients people may give access to.
    pub admission: people::client::Admission,
    /// Hears when the store cannot be read.
    pub observer: Observer,
    /// Tells the time, and how far the clocks of other machines may be apart from it.
    pub clock: Clock,
    /// Takes note of which personal access tokens are used.
    pub uses: people::Uses,
    /// Where changes of who may do what are recorded.
    pub recording: recording::Recording,
    /// The other processes on the store.
    pub(crate) peers: peers::Peers,
    /// What all processes on the store derive keys from.
    pub(crate) shared: SharedSecret,
    /// Credentials that were wrong, at all doors: counted from when the limits are known.
    failures: Arc<OnceLock<Failures>>,
    /// What is remembered of credentials.
    pub(crate) memory: Memory,
    /// What an actor leaves to the next one.
    pub(crate) legacy: Legacy,
    /// Becomes true when the store was read for the first time.
    pub(crate) store_read: Arc<AtomicBool>,
}

impl AuthSettings {
    /// Settings with the usual lifetime and the system's clock.
    pub fn new(store: impl Into<Place>, issuer: impl Into<String>, observer: Observer) -> Self {
        Self {
            store: store.into(),
            issuer: issuer.into(),
            token_lifetime: TOKEN_LIFETIME,
            store_key: None,
            connections: Arc::new([]),
            limits: AuthLimits::default(),
            issuers: Vec::new(),
            admission: people::client::Admission::default(),
            observer,
            clock: Clock::system(),
            uses: people::Uses::default(),
            recording: recording::Recording::default(),
            peers: peers::Peers::default(),
            shared: SharedSecret::default(),
            failures: Arc::default(),
            memory: Memory::default(),
            legacy: Legacy::default(),
            store_read: Arc::default(),
        }
    }

    /// The count of failures that all who are started with these settings share.
    pub(crate) fn failures(&self) -> Failures {
        self.failures.get_or_init(|| Failures::new(&self.limits)).clone()
    }
}

impl fmt::Debug for AuthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthSettings")
            .field("store", &self.store)
            .field("issuer", &self.issuer)
            .field("token_lifetime", &self.token_lifetime)
            .finish_non_exhaustive()
    }
}

/// Judges credentials and issues access tokens, on a thread of its own: it may read the store
/// without holding up anybody else.
pub struct AuthActor {
    watch: Watch,
    snapshot: Snapshot,
    verdicts: Verdicts,
    /// What was let in with access tokens.
    held: Held,
    tokens: Tokens,
    connections: Arc<[Uuid]>,
    failures: Failures,
    issued: Issued,
    issuers: Vec<Issuer>,
    /// What keys of issuers are fetched with; none where nobody's are.
    client: Option<reqwest::Client>,
    observer: Observer,
    clock: Clock,
    recording: recording::Recording,
    peers: peers::Peers,
    shared: SharedSecret,
    legacy: Legacy,
    /// Whether the last look at the store failed: an outage is told once.
    store_failed: bool,
    /// What was revoked here.
    revoked: Revoked,
    obituary: Obituary,
}

impl AuthActor {
    /// Opens the store, makes the first signing key if there is none, reads everything, and starts
    /// the actor. Must be called within an actix system.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    #[cfg(test)]
    pub(crate) async fn start(settings: AuthSettings) -> Result<actix::Addr<Self>> {
        Ok(Self::launch(settings, Obituary(None)).await?.address)
    }

    /// The same, with a thread of its own; `obituary` tells of its end.
    async fn launch(settings: AuthSettings, obituary: Obituary) -> Result<Occupant> {
        if System::try_current().is_none() {
            return Err(Error::internal("an actor needs a running actix system"));
        }
        let opened = tokio::task::spawn_blocking(move || Self::open(settings, obituary));
        let actor = opened.await.map_err(Error::internal)??;
        let arbiter = Arbiter::new().handle();
        let beat = Beat::of(&arbiter, "auth");
        Ok(Occupant { address: Self::start_in_arbiter(&arbiter, |_| actor), arbiter, beat })
    }

    fn open(settings: AuthSettings, mut obituary: Obituary) -> Result<Self> {
        // Until it lives, nobody has died.
        let died = obituary.0.take();
        let admission = settings.admission;
        let mut actor = Self::read(settings)?;
        actor.snapshot.admit(admission);
        actor.judge_anew();
        actor.obituary.0 = died;
        Ok(actor)
    }

    fn read(settings: AuthSettings) -> Result<Self> {
        let mut watch = Watch::open(&settings)?;
        let read = match watch.changed() {
            Ok(snapshot) => {
                settings.store_read.store(true, Ordering::Release);
                Some(snapshot.ok_or_else(|| Error::internal("the store was not read at its first opening"))?)
            }
            // It is tried again, and until then nobody is known but to an actor before.
            Err(_) if watch.tells() => None,
            Err(error) => return Err(error),
        };
        let (snapshot, held) = settings.legacy.pass_on(read);
        settings.shared.replace(snapshot.secret());
        let fetched = |issuer: &TrustedIssuer| matches!(issuer.keys, IssuerKeys::Url(_));
        let verdicts = Verdicts::of_settings(&settings);
        let client = settings.issuers.iter().any(fetched).then(jwks::client).transpose()?;
        let failures = settings.failures();
        Ok(Self {
            watch,
            snapshot,
            verdicts,
            held,
            tokens: Tokens::new(&settings.issuer, settings.token_lifetime, settings.clock.skew()),
            connections: settings.connections,
            failures,
            issued: Issued::new(&settings.limits),
            issuers: settings.issuers.into_iter().map(Issuer::new).collect::<Result<_>>()?,
            client,
            observer: settings.observer,
            clock: settings.clock,
            recording: settings.recording,
            peers: settings.peers,
            shared: settings.shared,
            legacy: settings.legacy,
            store_failed: false,
            revoked: Revoked::new(),
            obituary: Obituary(None),
        })
    }

    /// The answer to a credential that does not open anything.
    fn refused(&mut self, Judge { asked, token: shown, .. }: &Judge, refusal: Refusal) -> Error {
        let name = match &asked.credential {
            Credential::Basic { email, .. } => Some(email.as_str()),
            Credential::Bearer(_) => None,
        };
        let (id, claimed) = match &asked.credential {
            Credential::Basic { email, .. } => {
                // An `@` where no usual address is may be one of a password in the wrong place.
                let is_told =
                    !email.contains('@') || records::is_usual_address(email) || self.snapshot.holder(email).is_some();
                (self.snapshot.id_of(shown).map(str::to_owned), is_told.then(|| email.to_owned()))
            }
            Credential::Bearer(token) => token::identity(token.expose_secret(), refusal).unwrap_or_default(),
        };
        let because = |mut error: Error| {
            error = error.because(refusal.words());
            if let Some(id) = &id {
                error = error.of_credential(id);
            }
            if let Some(name) = &claimed {
                error = error.claimed(name);
            }
            error
        };
        match refusal {
            // Whoever holds a genuine token may know what it is for.
            Refusal::WrongAudience => {
                let error = Error::unauthenticated("the access token is for another audience than this endpoint");
                return because(
                    error.hint("ask for one whose resource is this endpoint, or for one without a resource"),
                );
            }
            Refusal::NoScope => {
                let error = Error::forbidden("the access token has no scope that is known here").needs("read");
                return because(error.hint("ask for one with the scope read, write or admin"));
            }
            _ => {}
        }
        // What was good once is no attempt to guess.
        let quota = if refusal.was_genuine() { None } else { self.failures.count(asked.from, name) };
        because(match quota {
            None => Error::unauthenticated("the credential is not valid, or it has expired"),
            Some(quota) => Error::throttled("too many credentials that are not valid; wait before the next one", quota),
        })
    }

    /// Looks for an issuer's newer keys where a token names an unknown one, or where the known ones
    /// are old. What is to be waited for, if the judgement may be another one then.
    fn newer_keys(
        &mut self,
        credential: &Credential,
        refusal: Option<Refusal>,
        context: &Context<Self>,
    ) -> Option<oneshot::Receiver<()>> {
        let Credential::Bearer(token) = credential else { return None };
        if refusal.is_some_and(|refusal| !refusal.is_for_want_of_a_key()) {
            return None;
        }
        let index = self.foreign(token.expose_secret())?;
        if refusal.is_some() {
            return self.look_for_keys(index, context);
        }
        if self.issuers.get(index)?.is_stale(self.clock.now().time()) {
            drop(self.look_for_keys(index, context));
        }
        None
    }
}

impl AuthActor {
    /// Judges, and waits for what may change the judgement: keys of an issuer, and a look at the store,
    /// unless that was tried, with or without success.
    fn answer(
        &mut self,
        judge: Judge,
        settled: Option<bool>,
        context: &Context<Self>,
    ) -> Response<Result<Arc<Principal>>> {
        let judged = self.authenticate(&judge);
        let own = context.address();
        if let Some(wait) = self.newer_keys(&judge.asked.credential, judged.as_ref().err().copied(), context) {
            return Response::fut(async move {
                // Whether they came or not: they are not asked for again so soon, and so this ends.
                let _ = wait.await;
                own.send(judge).await.map_err(Error::internal)?
            });
        }
        let refusal = match judged {
            Ok(principal) => return Response::reply(Ok(principal)),
            Err(refusal) => refusal,
        };
        let ours = match &judge.asked.credential {
            Credential::Basic { .. } => true,
            Credential::Bearer(token) => self.foreign(token.expose_secret()).is_none(),
        };
        if ours && refusal.may_be_behind() {
            if settled.is_none() && self.watch.may_be_behind() {
                let look = self.watch.settle();
                return Response::fut(async move {
                    let settled = Settled::after(judge, look).await;
                    own.send(settled).await.map_err(Error::internal)?
                });
            }
            if self.store_failed || settled == Some(false) {
                return Response::reply(Err(Error::away()));
            }
        }
        Response::reply(Err(self.refused(&judge, refusal)))
    }
}

impl Actor for AuthActor {
    type Context = Context<Self>;

    /// What goes on under a credential is to end with it, also when nobody asks for anything.
    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(LOOK_EVERY, |actor, _| actor.look_at_the_store());
    }

    /// The thread was this actor's alone.
    fn stopped(&mut self, _: &mut Self::Context) {
        Arbiter::current().stop();
    }
}

/// Asks who shows this credential, and whether it opens this endpoint.
#[derive(Clone, Debug)]
pub struct Authenticate {
    /// What is shown.
    pub credential: Credential,
    /// To what it is shown.
    pub endpoint: Endpoint,
    /// Where it is shown from, if that is known.
    pub from: Option<IpAddr>,
}

impl Handler<Judge> for AuthActor {
    type Result = Response<Result<Arc<Principal>>>;

    fn handle(&mut self, judge: Judge, context: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        if let Some(principal) = self.verdicts.of(&judge.key) {
            return Response::reply(Ok(principal));
        }
        self.answer(judge, None, context)
    }
}

impl Handler<Settled<Judge>> for AuthActor {
    type Result = Response<Result<Arc<Principal>>>;

    fn handle(&mut self, settled: Settled<Judge>, context: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        self.answer(settled.question, Some(settled.looked), context)
    }
}
