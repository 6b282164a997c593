//! The session of a client of the 2025 revisions: begun by its own handshake, listened to, and begun again where the
//! service has forgotten it, which the client need not notice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use portico_actors::error::{Error, Kind};
use reqwest::Response;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::call::is_stream;
use super::events::Events;
use super::frames::Outbox;
use super::server::{Failure, Headers, Server};
use crate::mcp::envelope;
use crate::mcp::features::ListKind;
use crate::mcp::model::Params;

/// Resources that are subscribed to again in a new session at most.
const WATCHED: usize = 1_000;
/// How long the first and the longest wait for a listening stream to be opened again are.
const DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// How long the end of a session may take.
const FAREWELL: Duration = Duration::from_secs(1);

const SESSION_ID: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// One session at the service.
#[derive(Debug)]
pub(super) struct Session {
    /// `None` if the service keeps no sessions.
    id: Option<String>,
    version: String,
    capabilities: Value,
}

impl Session {
    fn headers(&self) -> Headers {
        let id = self.id.iter().map(|id| (SESSION_ID, id.clone()));
        id.chain([(VERSION, self.version.clone())]).collect()
    }

    fn announces(&self, kind: &str) -> bool {
        self.capabilities[kind]["listChanged"] == true
    }
}

/// The messages that a new session needs to be equivalent to the previous one.
#[derive(Default)]
struct SessionReplay {
    handshake: Bytes,
    level: Option<Bytes>,
    watched: BTreeMap<String, Bytes>,
}

/// The session of this process' client.
pub(super) struct Sessions {
    server: Rc<Server>,
    out: Outbox,
    /// Held while a session is started: messages after a handshake wait for it.
    current: tokio::sync::Mutex<Option<Rc<Session>>>,
    kept: RefCell<SessionReplay>,
    listening: RefCell<Option<AbortOnDropHandle<()>>>,
}

impl Sessions {
    pub(super) fn new(server: Rc<Server>, out: Outbox) -> Self {
        Self {
            server,
            out,
            current: tokio::sync::Mutex::default(),
            kept: RefCell::default(),
            listening: RefCell::default(),
        }
    }

    /// The session that there is, once the handshake that came before is over.
    pub(super) async fn current(&self) -> Option<Rc<Session>> {
        self.current.lock().await.clone()
    }

    /// Returns the headers of a request in `session`.
    pub(super) fn headers(session: Option<&Rc<Session>>) -> Headers {
        session.map(|session| session.headers()).unwrap_or_default()
    }

    /// Carries the client's handshake. Returns its answer: a body, or a response that starts no session.
    pub(super) async fn begin(self: &Rc<Self>, handshake: &Bytes) -> Result<Result<Bytes, Response>, Failure> {
        let mut current = self.current.lock().await;
        if let Some(before) = current.take() {
            self.listening.borrow_mut().take();
            self.part(&before).await;
        }
        *self.kept.borrow_mut() = SessionReplay { handshake: handshake.clone(), ..SessionReplay::default() };
        let (session, body) = match self.handshake(handshake).await? {
            Ok(begun) => begun,
            Err(response) => return Ok(Err(response)),
        };
        if let Some(session) = session {
            *current = Some(Rc::clone(&session));
            self.listen(session);
        }
        Ok(Ok(body))
    }

    /// A session, if one begins, and the answer that says so.
    async fn handshake(&self, handshake: &Bytes) -> Result<Result<(Option<Rc<Session>>, Bytes), Response>, Failure> {
        let response = self.server.post(handshake, &Headers::new(), false).await?;
        if !response.status().is_success() {
            return Ok(Err(response));
        }
        let id = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.map_err(|error| Failure::from_error(&error))?;
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let version = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
        let capabilities = answer["result"]["capabilities"].take();
        Ok(Ok((version.map(|version| Rc::new(Session { id, version, capabilities })), body)))
    }

    /// Returns another session in place of `lost`, which the service does not know any more; or one that was
    /// started meanwhile.
    ///
    /// # Errors
    /// An equivalent one cannot be started.
    pub(super) async fn renew(self: &Rc<Self>, lost: &Rc<Session>) -> Result<Option<Rc<Session>>, Failure> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(now) if Rc::ptr_eq(now, lost) => {}
            other => return Ok(other.clone()),
        }
        let handshake = self.kept.borrow().handshake.clone();
        let gone = |words: String| {
            let error =
                Error::new(Kind::Unavailable, format!("the session is gone, and another one cannot begin: {words}"));
            Failure::Credential(error.hint("start this program again"))
        };
        let begun = match self.handshake(&handshake).await? {
            Ok((session, _)) => session.ok_or_else(|| gone("the server refuses the handshake".to_owned()))?,
            Err(response) => {
                return Err(gone(format!("the server answered with the status {}", response.status().as_u16())));
            }
        };
        if begun.version != lost.version {
            return Err(gone(format!("the server speaks {} now, and spoke {}", begun.version, lost.version)));
        }
        *current = Some(Rc::clone(&begun));
        drop(current);
        log::info!("the server did not know the session any more; another one has begun");
        self.restore(&begun).await?;
        self.listen(Rc::clone(&begun));
        self.announce_changes(&begun).await;
        Ok(Some(begun))
    }

    /// Repeats the client's settings of the previous session in a new one.
    async fn restore(&self, session: &Session) -> Result<(), Failure> {
        let messages: Vec<Bytes> = {
            let kept = self.kept.borrow();
            let initialized = envelope::notification("notifications/initialized", "{}").into();
            [initialized].into_iter().chain(kept.level.clone()).chain(kept.watched.values().cloned()).collect()
        };
        for message in messages {
            // Its answer was given when the client asked.
            let response = self.server.post(&message, &session.headers(), false).await?;
            let _ = response.bytes().await;
        }
        Ok(())
    }

    /// Announces changes that may have happened without a session.
    async fn announce_changes(&self, session: &Session) {
        for list in ListKind::ALL {
            if session.announces(list.capability()) {
                self.out.send(envelope::notification(&list.notification(), "{}")).await;
            }
        }
        let watched: Vec<String> = self.kept.borrow().watched.keys().cloned().collect();
        for uri in watched {
            let params = serde_json::json!({"uri": uri});
            self.out.send(envelope::notification("notifications/resources/updated", params)).await;
        }
    }

    /// Stores the messages that a new session will need.
    pub(super) fn note(&self, method: &str, params: &Params, body: &Bytes) {
        let mut kept = self.kept.borrow_mut();
        match method {
            "logging/setLevel" => kept.level = Some(body.clone()),
            "resources/subscribe" if kept.watched.len() < WATCHED => {
                kept.watched.extend(params.text("uri").map(|uri| (uri, body.clone())));
            }
            "resources/unsubscribe" => {
                if let Some(uri) = params.text("uri") {
                    kept.watched.remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// Takes up the stream of an answer behind the event `last`.
    pub(super) async fn resume(&self, session: &Session, last: String) -> Result<Response, Failure> {
        let mut headers = session.headers();
        headers.push(("last-event-id", last));
        self.server.get(&headers).await
    }

    /// Listens to a session's notifications, as long as it is the current one.
    fn listen(self: &Rc<Self>, session: Rc<Session>) {
        if session.id.is_none() {
            return;
        }
        let listening = actix::spawn(Rc::clone(self).hear(session));
        *self.listening.borrow_mut() = Some(AbortOnDropHandle::new(listening));
    }

    async fn hear(self: Rc<Self>, session: Rc<Session>) {
        let (mut last, mut delay) = (None::<String>, DELAY);
        loop {
            let opened = match &last {
                Some(last) => self.resume(&session, last.clone()).await,
                None => self.server.get(&session.headers()).await,
            };
            match opened {
                Ok(response) if response.status().is_success() && is_stream(&response) => {
                    delay = DELAY;
                    let mut events = Events::new(response);
                    while let Ok(Some(event)) = events.next().await {
                        last = event.id.or(last);
                        if !event.data.is_empty() {
                            self.out.send(event.data).await;
                        }
                    }
                }
                Ok(response) if response.status().as_u16() == 404 => {
                    // In a task of its own: starting another session ends this listening.
                    drop(actix::spawn(async move {
                        if let Err(failure) = self.renew(&session).await {
                            log::warn!("{}", failure.error().message);
                        }
                    }));
                    return;
                }
                Ok(response) if [400, 405, 406].contains(&response.status().as_u16()) => {
                    // The position where the stream broke may not be known any more.
                    if last.take().is_none() {
                        return;
                    }
                }
                Ok(_) | Err(_) => {}
            }
            sleep(delay).await;
            delay = (delay * 2).min(LONGEST_DELAY);
        }
    }

    /// Ends the session, and with it its running requests.
    pub(super) async fn end(&self) {
        self.listening.borrow_mut().take();
        // A handshake that is not over by now is not waited for.
        let current = self.current.try_lock().ok().and_then(|mut current| current.take());
        if let Some(session) = current {
            self.part(&session).await;
        }
    }

    async fn part(&self, session: &Session) {
        if session.id.is_some() {
            let headers = session.headers();
            let _ = timeout(FAREWELL, self.server.delete(&headers)).await;
        }
    }
}
