//! How questions are answered whose answer may depend on what another process has just written. From
//! memory, where that says yes; a no may only mean that memory is behind, and is said once the store
//! was looked at again. Where it cannot be looked at, the answer is neither.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, Handler, Message, Response, ResponseActFuture, WrapFuture};
use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

use crate::auth::actor::AuthActor;
use crate::auth::clock::Timestamp;
use crate::auth::oauth::grant::GrantError;
use crate::auth::recording::Door;
use crate::auth::store::Store;
use crate::auth::sync::gone;
use crate::auth::verify::snapshot::Snapshot;
use crate::error::{Error, Kind, Result};
use crate::event::{Event, Observer};

/// How long an answer waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// A failure that can say that the store is away.
pub(crate) trait Away {
    /// The store is away: another attempt may succeed.
    fn away() -> Self;
}

impl Away for Error {
    fn away() -> Self {
        Self::new(Kind::Unavailable, "credentials cannot be judged at the moment; try again")
            .retry_after(Duration::from_secs(1))
            .because("the store is away, and the credential is none that is in memory")
    }
}

impl Away for GrantError {
    fn away() -> Self {
        Self::new("service_unavailable", "clients cannot be judged at the moment; try again")
    }
}

/// What an answer is worth.
pub(crate) enum Answer<T> {
    /// It stands.
    Certain(T),
    /// A refusal, unless the store holds what memory does not.
    Doubtful(T),
}

/// A question that is answered from memory.
pub(crate) trait Question:
    Message<Result = Result<Self::Reply, Self::Failure>> + Clone + Send + 'static
{
    /// The answer.
    type Reply: Send + 'static;
    /// Or why there is none.
    type Failure: Away + Send + 'static;

    /// Asks.
    fn ask(&self, actor: &mut AuthActor) -> Answer<Result<Self::Reply, Self::Failure>>;

    /// The answer where `refusal` stands. What was an attempt to guess is counted here.
    fn refused(&self, _: &mut AuthActor, refusal: Self::Failure) -> Result<Self::Reply, Self::Failure> {
        Err(refusal)
    }
}

/// The same question, now that the store was looked at, or could not be.
#[derive(Clone)]
pub(crate) struct Settled<Q> {
    pub(crate) question: Q,
    pub(crate) looked: bool,
}

impl<Q> Settled<Q> {
    /// Waits for the look.
    pub(crate) async fn after(question: Q, look: oneshot::Receiver<()>) -> Self {
        Self { question, looked: matches!(timeout(PATIENCE, look).await, Ok(Ok(()))) }
    }
}

impl<Q: Message> Message for Settled<Q>
where
    Q::Result: Send,
{
    type Result = Q::Result;
}

impl<Q: Question> Handler<Q> for AuthActor {
    type Result = Response<<Q as Message>::Result>;

    fn handle(&mut self, question: Q, context: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        let answer = question.ask(self);
        self.conclude(question, answer, context)
    }
}

impl<Q: Question> Handler<Settled<Q>> for AuthActor {
    type Result = Response<<Q as Message>::Result>;

    fn handle(&mut self, Settled { question, looked }: Settled<Q>, _: &mut Self::Context) -> Self::Result {
        self.look_at_the_store();
        Response::reply(match question.ask(self) {
            Answer::Certain(answer) => answer,
            Answer::Doubtful(_) if self.store_failed || !looked => Err(Q::Failure::away()),
            Answer::Doubtful(answer) => answer.or_else(|refusal| question.refused(self, refusal)),
        })
    }
}

impl AuthActor {
    /// Answers now, or when the store was looked at.
    pub(crate) fn conclude<Q: Question>(
        &mut self,
        question: Q,
        answer: Answer<Result<Q::Reply, Q::Failure>>,
        context: &Context<Self>,
    ) -> Response<Result<Q::Reply, Q::Failure>> {
        match answer {
            Answer::Certain(answer) => Response::reply(answer),
            Answer::Doubtful(_) if self.watch.may_be_behind() => {
                let (settled, own) = (self.watch.settle(), context.address());
                Response::fut(async move {
                    let settled = Settled::after(question, settled).await;
                    own.send(settled).await.unwrap_or_else(|_| Err(Q::Failure::away()))
                })
            }
            Answer::Doubtful(_) if self.store_failed => Response::reply(Err(Q::Failure::away())),
            Answer::Doubtful(answer) => Response::reply(answer.or_else(|refusal| question.refused(self, refusal))),
        }
    }

    /// Takes over what another process wrote. If the store cannot be read, memory stays in force.
    pub(crate) fn look_at_the_store(&mut self) {
        match self.watch.changed() {
            Ok(None) => self.store_failed = false,
            Ok(Some(snapshot)) => {
                self.take_over(snapshot);
                self.store_failed = false;
            }
            Err(error) => {
                if !self.store_failed && !self.watch.tells() {
                    self.tell(error.cause().unwrap_or(&error.message).to_owned());
                }
                self.store_failed = true;
            }
        }
    }

    fn take_over(&mut self, mut snapshot: Snapshot) {
        self.shared.replace(snapshot.secret());
        snapshot.succeed(&self.snapshot);
        self.snapshot = snapshot;
        // They may have been read before we wrote.
        let now = self.clock.now().time();
        self.revoked.retain(|_, until| *until > now);
        for jti in self.revoked.keys() {
            self.snapshot.revoke(*jti);
        }
        self.judge_anew();
    }

    pub(crate) fn tell(&self, cause: String) {
        (self.observer)(&Event::StoreFailed { cause });
    }
}

/// Tells of work that the store was not there for.
pub(crate) fn tell_failure<T>(observer: &Observer, done: &Result<T>) {
    if let Err(error) = done
        && error.kind == Kind::Unavailable
    {
        observer(&Event::StoreWorkFailed { cause: error.cause().unwrap_or(&error.message).to_owned() });
    }
}

/// Asks to wait until what the store holds now is in force.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Settle;

impl Handler<Settle> for AuthActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Settle, _: &mut Self::Context) -> Self::Result {
        // What cannot be looked at is not waited for.
        let settled = timeout(PATIENCE, self.watch.settle());
        Box::pin(settled.into_actor(self).map(|_, actor, _| actor.look_at_the_store()))
    }
}

/// Asks to refuse an access token from now on: here, and by the store everywhere.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<()>")]
pub(crate) struct Refuse {
    pub(crate) jti: Uuid,
    pub(crate) client_id: String,
    /// When no check finds it valid any more.
    pub(crate) until: Timestamp,
    /// Who asks for it, and by which door.
    pub(crate) door: Door,
}

impl Handler<Refuse> for AuthActor {
    type Result = Response<Result<()>>;

    fn handle(&mut self, refuse: Refuse, context: &mut Self::Context) -> Self::Result {
        if let Err(refusal) = self.recording.check() {
            return Response::reply(Err(refusal));
        }
        let Refuse { jti, client_id, until, door } = refuse;
        let recording = self.recording.clone();
        let written = self.watch.work(Box::new(move |store: &mut Store| {
            store.recorded(&recording, &door, |store| store.revoke_access_token(jti, &client_id, until))
        }));
        let (own, observer) = (context.address(), Arc::clone(&self.observer));
        Response::fut(async move {
            let written = written.await.map_err(gone)?;
            tell_failure(&observer, &written);
            written??;
            own.send(Note { jti, until }).await.map_err(Error::internal)
        })
    }
}

/// The store has been told: memory need not wait for it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
struct Note {
    jti: Uuid,
    until: Timestamp,
}

impl Handler<Note> for AuthActor {
    type Result = ();

    fn handle(&mut self, Note { jti, until }: Note, _: &mut Self::Context) {
        self.snapshot.revoke(jti);
        if self.watch.may_be_behind() {
            self.revoked.insert(jti, until);
        }
        self.judge_anew();
    }
}
