//! From a line of the client's to the service, and from its answer to a line for the client. Which era a message is of
//! decides how it is carried: by itself, or in a session.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use portico_actors::error::{Error, Kind};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::{Call, ForwardOutcome, is_repeatable};
use super::cancelling::Requests;
use super::frames::{Frame, LONGEST, Outbox};
use super::server::{Failure, Server};
use super::session::{Session, Sessions};
use super::subscription;
use crate::mcp::envelope::{self, RpcError};
use crate::mcp::model::{Id, Message, Params};

/// How long running requests may continue after the end of the input: long enough for fast answers, so that
/// messages can come from a file.
const GRACE: Duration = Duration::from_secs(1);
/// How often a stream is taken up again before its answer is given up.
const RESUMES: usize = 20;

/// A client on one side, a service on the other.
pub(super) struct Bridge(Rc<Inner>);

struct Inner {
    server: Rc<Server>,
    out: Outbox,
    sessions: Rc<Sessions>,
    requests: Requests,
    /// The requests in progress that end by themselves.
    tracker: TaskTracker,
    over: CancellationToken,
}

impl Bridge {
    pub(super) fn new(server: Server, out: Outbox) -> Self {
        let server = Rc::new(server);
        let sessions = Rc::new(Sessions::new(Rc::clone(&server), out.clone()));
        let (requests, tracker, over) = (Requests::default(), TaskTracker::new(), CancellationToken::new());
        Self(Rc::new(Inner { server, out, sessions, requests, tracker, over }))
    }

    /// Completes when the client reads no more.
    pub(super) async fn unheard(&self) {
        self.0.out.closed().await;
    }

    /// Begins to work on a line. Waits for nothing: a client that reads no answers can still be left.
    pub(super) fn take(&self, frame: Frame) {
        let inner = &self.0;
        let body = match frame {
            Frame::Message(body) => body,
            Frame::TooLong(id) => {
                let failure =
                    RpcError::envelope(format!("the message has more than {LONGEST} bytes; send less at a time"));
                return self.say(failure.body(id.as_ref()));
            }
        };
        if body.trim_ascii_start().starts_with(b"[") {
            // The service knows which revisions accept a batch.
            let call = inner.call(None, "batch", body, false);
            return self.spawn(async move |inner| inner.carry_batch(call).await);
        }
        match envelope::read(&body) {
            Err((id, failure)) => self.say(failure.body(id.as_ref())),
            Ok(Message::Request { id, method, params }) => {
                let call = inner.call(Some(id), &method, body, params.names_version());
                if method == subscription::LISTEN && call.is_stateless {
                    // It has no end that could be waited for.
                    drop(actix::spawn(Rc::clone(inner).carry(call, params)));
                } else {
                    self.spawn(async move |inner| inner.carry(call, params).await);
                }
            }
            Ok(Message::Notification { method, mut params }) if method == "notifications/cancelled" => {
                let Some(id) = params.take("requestId") else { return };
                let Some(running) = inner.requests.find(id.get()) else {
                    // It may be one of a batch, whose messages only the service tells apart.
                    let call = inner.call(None, &method, body, params.names_version());
                    return self.spawn(async move |inner| {
                        if !call.is_stateless {
                            inner.notify(call).await;
                        }
                    });
                };
                running.silence();
                if running.is_stateless {
                    return running.end();
                }
                let call = inner.call(None, &method, body, false);
                self.spawn(async move |inner| {
                    inner.notify(call).await;
                    running.end();
                });
            }
            Ok(Message::Notification { method, params }) => {
                let call = inner.call(None, &method, body, params.names_version());
                self.spawn(async move |inner| {
                    if call.is_stateless { inner.carry_alone(&call, &params).await } else { inner.notify(call).await }
                });
            }
            Ok(Message::Response { .. }) => {
                let call = inner.call(None, "response", body, false);
                self.spawn(async move |inner| inner.notify(call).await);
            }
        }
    }

    fn say(&self, message: Vec<u8>) {
        self.spawn(async move |inner| inner.out.send(message).await);
    }

    fn spawn(&self, work: impl AsyncFnOnce(Rc<Inner>) + 'static) {
        let inner = Rc::clone(&self.0);
        let token = inner.tracker.token();
        actix::spawn(async move {
            work(inner).await;
            drop(token);
        });
    }

    /// Ends everything: running requests are cancelled at their source.
    pub(super) async fn end(&self) {
        let inner = &self.0;
        inner.tracker.close();
        let _ = timeout(GRACE, inner.tracker.wait()).await;
        inner.over.cancel();
        inner.sessions.end().await;
        // Cancelled requests close their connections.
        let _ = timeout(GRACE / 4, inner.tracker.wait()).await;
    }
}

impl Inner {
    fn call(&self, id: Option<Id>, method: &str, body: Bytes, is_stateless: bool) -> Call {
        let (is_silent, over) = (Rc::new(Cell::new(false)), self.over.child_token());
        Call { id, method: method.to_owned(), body, is_stateless, is_silent, over }
    }

    /// Carries a request until it is answered, or called off.
    async fn carry(self: Rc<Self>, call: Call, params: Params) {
        let entered = call.id.as_ref().map(|id| self.requests.enter(id, &call));
        if matches!(entered, Some(None)) {
            let error =
                Error::new(Kind::Busy, "too many requests are under way").hint("send it again when some are answered");
            return call.refuse(&self.out, &RpcError::transport(crate::code(error.kind), &error)).await;
        }
        let carried = async {
            if call.is_stateless {
                self.carry_alone(&call, &params).await;
            } else if call.method == "initialize" {
                self.begin(&call).await;
            } else {
                self.carry_in_session(&call, &params).await;
            }
        };
        tokio::select! {
            biased;
            () = call.over.cancelled() => {}
            () = carried => {}
        }
    }

    /// Carries a message that is complete in itself.
    async fn carry_alone(&self, call: &Call, params: &Params) {
        let headers = call.stateless_headers(params);
        if call.method == subscription::LISTEN && call.id.is_some() {
            return subscription::carry(&self.server, &self.out, call, &headers).await;
        }
        let mut may_repeat = is_repeatable(&call.method);
        loop {
            let answered = match self.server.post(&call.body, &headers, true).await {
                Ok(response) => call.pass_on(&self.out, response).await,
                Err(failure) => Err(failure),
            };
            match answered {
                Ok(ForwardOutcome::Whole) => return,
                // It had neither an end nor a place where it could go on: as if it had broken off.
                Ok(ForwardOutcome::Paused(_) | ForwardOutcome::Missing) | Err(Failure::Broken(_)) if may_repeat => {
                    may_repeat = false;
                }
                Ok(ForwardOutcome::Paused(_) | ForwardOutcome::Missing) => {
                    return call.fail(&self.out, unanswered()).await;
                }
                Err(failure) => return call.fail(&self.out, failure).await,
            }
        }
    }

    /// Carries a handshake.
    async fn begin(&self, call: &Call) {
        let begun = self.sessions.begin(&call.body).await;
        let answered = match begun {
            Ok(Ok(body)) => {
                call.say(&self.out, body).await;
                Ok(ForwardOutcome::Whole)
            }
            Ok(Err(response)) => call.pass_on(&self.out, response).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = answered {
            call.fail(&self.out, failure).await;
        }
    }

    /// Carries a request in the current session, and in another one if the service has forgotten that.
    async fn carry_in_session(&self, call: &Call, params: &Params) {
        self.sessions.note(&call.method, params, &call.body);
        let mut session = self.sessions.current().await;
        let (mut may_repeat, mut may_renew) = (is_repeatable(&call.method), true);
        loop {
            let response = match self.server.post(&call.body, &Sessions::headers(session.as_ref()), true).await {
                Ok(response) => response,
                Err(Failure::Broken(_)) if std::mem::take(&mut may_repeat) => continue,
                Err(failure) => return call.fail(&self.out, failure).await,
            };
            if let Some(lost) = session.as_ref().filter(|_| response.status().as_u16() == 404)
                && std::mem::take(&mut may_renew)
            {
                session = match self.sessions.renew(lost).await {
                    Ok(session) => session,
                    Err(failure) => return call.fail(&self.out, failure).await,
                };
                continue;
            }
            let answered = match call.pass_on(&self.out, response).await {
                Ok(ForwardOutcome::Paused(last)) => self.resume(call, session.as_ref(), last).await,
                other => other,
            };
            match answered {
                Ok(ForwardOutcome::Whole) => return,
                Ok(ForwardOutcome::Missing | ForwardOutcome::Paused(_)) | Err(Failure::Broken(_))
                    if std::mem::take(&mut may_repeat) => {}
                Ok(ForwardOutcome::Missing | ForwardOutcome::Paused(_)) => {
                    return call.fail(&self.out, unanswered()).await;
                }
                Err(failure) => return call.fail(&self.out, failure).await,
            }
        }
    }

    /// Resumes an answer whose stream was closed before its end, which services do on purpose.
    async fn resume(
        &self,
        call: &Call,
        session: Option<&Rc<Session>>,
        mut last: String,
    ) -> Result<ForwardOutcome, Failure> {
        let Some(session) = session else { return Ok(ForwardOutcome::Missing) };
        for _ in 0..RESUMES {
            let response = match self.sessions.resume(session, last.clone()).await {
                Ok(response) => response,
                Err(Failure::Unreached(_)) => {
                    tokio::time::sleep(GRACE).await;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            if !response.status().is_success() {
                return Ok(ForwardOutcome::Missing);
            }
            match call.pass_on(&self.out, response).await? {
                ForwardOutcome::Paused(next) => last = next,
                // It ended without anything new.
                ForwardOutcome::Missing => {}
                ForwardOutcome::Whole => return Ok(ForwardOutcome::Whole),
            }
        }
        Ok(ForwardOutcome::Missing)
    }

    /// Carries a message without an answer.
    async fn notify(&self, call: Call) {
        let session = self.sessions.current().await;
        let headers = Sessions::headers(session.as_ref());
        let sent = tokio::select! {
            biased;
            () = call.over.cancelled() => return,
            sent = self.server.post(&call.body, &headers, true) => sent,
        };
        match sent {
            Ok(response) if response.status().is_success() => {}
            // Its subject ended with its session.
            Ok(response) => log::info!("{} was answered with the status {}", call.method, response.status().as_u16()),
            Err(failure) => log::warn!("{} was not delivered: {}", call.method, failure.error().message),
        }
    }

    /// Carries several messages at once (2025-03-26).
    async fn carry_batch(&self, call: Call) {
        let session = self.sessions.current().await;
        let carried = async {
            let response = self.server.post(&call.body, &Sessions::headers(session.as_ref()), false).await?;
            let body = response.bytes().await.map_err(|error| Failure::from_error(&error))?;
            if !body.is_empty() {
                call.say(&self.out, body).await;
            }
            Ok(())
        };
        let carried = tokio::select! {
            biased;
            () = call.over.cancelled() => return,
            carried = carried => carried,
        };
        if let Err(failure) = carried {
            let error = Failure::error(failure);
            self.out.send(RpcError::transport(crate::code(error.kind), &error).body(None)).await;
        }
    }
}

/// A stream that had no answer in it.
fn unanswered() -> Failure {
    Failure::Broken("the stream ended".to_owned())
}
