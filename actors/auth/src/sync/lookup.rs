//! Queries whose answer may depend on what another process has just written. They are answered from memory where
//! that grants. A refusal may only mean that memory is stale: it is returned once the store was read again. Where the
//! store cannot be read, the answer is that it is unavailable.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, Handler, Message, Response, ResponseActFuture, WrapFuture};
use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

use crate::actor::AuthActor;
use crate::clock::Timestamp;
use crate::oauth::grant::GrantError;
use crate::recording::AuditContext;
use crate::store::Store;
use crate::verify::snapshot::Snapshot;
use portico_core::error::{Error, Kind, Result};
use portico_core::event::{Event, Observer};

/// How long an answer waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// A failure that can say that the store is unavailable.
pub(crate) trait StoreUnavailable {
    /// The store is unavailable: another attempt may succeed.
    fn store_unavailable() -> Self;
}

impl StoreUnavailable for Error {
    fn store_unavailable() -> Self {
        Self::new(Kind::Unavailable, "credentials cannot be checked at the moment; try again")
            .retry_after(Duration::from_secs(1))
            .because("the store is away, and the credential is not in memory")
    }
}

impl StoreUnavailable for GrantError {
    fn store_unavailable() -> Self {
        Self::new("service_unavailable", "clients cannot be authenticated at the moment; try again")
    }
}

/// An answer from memory.
pub(crate) enum CachedAnswer<T, R> {
    /// Correct, whatever the store contains by now.
    Fresh(T),
    /// A refusal, which is wrong if the store has changed since memory was read.
    MaybeStale(R),
    /// Repeat the query after this completes or is dropped.
    After(oneshot::Receiver<()>),
}

/// An answer from memory to a client's request.
pub(crate) type GrantAnswer<T> = CachedAnswer<Result<T, GrantError>, GrantError>;

/// A query that is answered from memory.
pub(crate) trait CredentialQuery:
    Message<Result = Result<Self::Reply, Self::Failure>> + Clone + Send + 'static
{
    /// The answer.
    type Reply: Send + 'static;
    /// The error.
    type Failure: StoreUnavailable + Send + 'static;

    /// The refusal, as far as memory is up to date.
    type Refusal;

    /// Answers from memory.
    fn ask(
        &self,
        actor: &mut AuthActor,
        context: &Context<AuthActor>,
    ) -> CachedAnswer<Result<Self::Reply, Self::Failure>, Self::Refusal>;

    /// Returns the answer for a final `refusal`. Guesses are counted here.
    fn refused(&self, actor: &mut AuthActor, refusal: Self::Refusal) -> Result<Self::Reply, Self::Failure>;
}

/// The same query after a look at the store, which may have failed.
struct AfterSync<Q> {
    query: Q,
    succeeded: bool,
}

impl<Q: Message> Message for AfterSync<Q>
where
    Q::Result: Send,
{
    type Result = Q::Result;
}

impl<Q: CredentialQuery> Handler<Q> for AuthActor {
    type Result = Response<<Q as Message>::Result>;

    fn handle(&mut self, query: Q, context: &mut Self::Context) -> Self::Result {
        self.conclude(query, None, context)
    }
}

impl<Q: CredentialQuery> Handler<AfterSync<Q>> for AuthActor {
    type Result = Response<<Q as Message>::Result>;

    fn handle(&mut self, AfterSync { query, succeeded }: AfterSync<Q>, context: &mut Self::Context) -> Self::Result {
        self.conclude(query, Some(succeeded), context)
    }
}

impl AuthActor {
    /// Answers now, or after the possible cause of a wrong answer was checked: the store once, with or without
    /// success.
    fn conclude<Q: CredentialQuery>(
        &mut self,
        query: Q,
        synced: Option<bool>,
        context: &Context<Self>,
    ) -> Response<Result<Q::Reply, Q::Failure>> {
        self.refresh_from_store();
        let own = context.address();
        match query.ask(self, context) {
            CachedAnswer::Fresh(answer) => Response::reply(answer),
            CachedAnswer::After(done) => Response::fut(async move {
                let _ = done.await;
                own.send(query).await.unwrap_or_else(|_| Err(Q::Failure::store_unavailable()))
            }),
            CachedAnswer::MaybeStale(_) if synced.is_none() && self.watch.is_eventually_consistent() => {
                let look = timeout(PATIENCE, self.watch.sync());
                Response::fut(async move {
                    let synced = AfterSync { query, succeeded: matches!(look.await, Ok(Ok(()))) };
                    own.send(synced).await.unwrap_or_else(|_| Err(Q::Failure::store_unavailable()))
                })
            }
            CachedAnswer::MaybeStale(_) if self.store_failed || synced == Some(false) => {
                Response::reply(Err(Q::Failure::store_unavailable()))
            }
            CachedAnswer::MaybeStale(refusal) => Response::reply(query.refused(self, refusal)),
        }
    }

    /// Takes over changes by other processes. If the store cannot be read, memory stays in force.
    pub(crate) fn refresh_from_store(&mut self) {
        match self.watch.changed() {
            Ok(changed) => {
                if let Some(snapshot) = changed {
                    self.take_over(snapshot);
                }
                if std::mem::take(&mut self.store_failed) && !self.watch.reports_outages() {
                    (self.settings.observer)(&Event::StoreResumed);
                }
            }
            Err(error) => {
                if !self.store_failed && !self.watch.reports_outages() {
                    self.report_store_failure(error.cause().unwrap_or(&error.message).to_owned());
                }
                self.store_failed = true;
            }
        }
    }

    fn take_over(&mut self, mut snapshot: Snapshot) {
        self.settings.shared.replace(snapshot.secret());
        snapshot.succeed(&self.snapshot);
        self.snapshot = snapshot;
        // They may have been read before we wrote.
        let now = self.settings.clock.now().time();
        self.revoked.retain(|_, until| *until > now);
        for jti in self.revoked.keys() {
            self.snapshot.revoke(*jti);
        }
        self.reverify();
    }

    pub(crate) fn report_store_failure(&self, cause: String) {
        (self.settings.observer)(&Event::StoreFailed { cause });
    }
}

/// Reports work that failed because the store was unavailable.
pub(crate) fn report_failure<T>(observer: &Observer, done: &Result<T>) {
    if let Err(error) = done
        && error.kind == Kind::Unavailable
    {
        observer(&Event::StoreWorkFailed { cause: error.cause().unwrap_or(&error.message).to_owned() });
    }
}

/// Waits until the store's current content is in force.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SyncStore;

impl Handler<SyncStore> for AuthActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: SyncStore, _: &mut Self::Context) -> Self::Result {
        // A store that cannot be read is not waited for.
        let synced = timeout(PATIENCE, self.watch.sync());
        Box::pin(synced.into_actor(self).map(|_, actor, _| actor.refresh_from_store()))
    }
}

/// Asks to refuse an access token from now on: here, and by the store everywhere.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct RevokeEverywhere {
    pub(crate) jti: Uuid,
    pub(crate) client_id: String,
    /// When no check finds it valid any more.
    pub(crate) until: Timestamp,
    /// The principal and the request.
    pub(crate) audit_context: AuditContext,
}

impl Handler<RevokeEverywhere> for AuthActor {
    type Result = Response<Result<()>>;

    fn handle(&mut self, refuse: RevokeEverywhere, context: &mut Self::Context) -> Self::Result {
        if let Err(refusal) = self.settings.recording.check() {
            return Response::reply(Err(refusal));
        }
        let RevokeEverywhere { jti, client_id, until, audit_context } = refuse;
        let recording = self.settings.recording.clone();
        let written = self.watch.work(Box::new(move |store: &mut Store| {
            store.recorded(&recording, &audit_context, |store| store.revoke_access_token(jti, &client_id, until))
        }));
        let (own, observer) = (context.address(), Arc::clone(&self.settings.observer));
        Response::fut(async move {
            let written = written.await.map_err(|_| Error::internal("the task that watches the store has ended"))?;
            report_failure(&observer, &written);
            written??;
            own.send(NoteRevoked { jti, until }).await.map_err(Error::internal)
        })
    }
}

/// The store has the revocation: memory need not wait for it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
struct NoteRevoked {
    jti: Uuid,
    until: Timestamp,
}

impl Handler<NoteRevoked> for AuthActor {
    type Result = ();

    fn handle(&mut self, NoteRevoked { jti, until }: NoteRevoked, _: &mut Self::Context) {
        self.snapshot.revoke(jti);
        if self.watch.is_eventually_consistent() {
            self.revoked.insert(jti, until);
        }
        self.reverify();
    }
}
