//! One session: its running requests, its listeners, and the answers it keeps. The list of sessions is the table's.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_actors::error::{Error, Result};
use portico_actors::mutex::lock;
use portico_actors::shares::{Allowance, ShareLimits, Shares};
use serde_json::Value;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::owner::{NOT_SHARED, Owner};
use crate::mcp::logging::Level;
use crate::mcp::streams::replay::ReplayBuffer;

/// The revision whose streams start with an event that has only an id, and can be resumed.
const RESUMABLE: &str = "2025-11-25";
/// Messages that wait for the listening stream at most; the oldest go first.
const ANNOUNCED: usize = 64;
/// Listening streams of one session that are open at once; the oldest ends for a further one.
const LISTENING: usize = 16;
/// The maximal number of resources that one session watches, and the bytes of their addresses.
const WATCHED: usize = 1_000;
const WATCHED_BYTES: usize = 128 * 1024;

/// Octets of a client's name that are kept.
const LONGEST_CLIENT: usize = 64;

/// Answers of one session that are kept at once when they have ended.
pub(super) const RECORDINGS: usize = 4;
/// Bytes of complete answers that all sessions keep together.
pub(super) const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// A result, or an error object.
pub type PeerResponse = Result<Value, Value>;

/// One session.
#[derive(Debug)]
pub struct Session {
    /// The value of `Mcp-Session-Id`.
    pub id: String,
    pub(super) owner: Owner,
    /// The revision that was negotiated.
    pub version: &'static str,
    /// The client's capabilities from its handshake, as JSON text: as values they could take many times the memory.
    capabilities: Box<str>,
    /// The client's name, as it gave it.
    client: OnceLock<Box<str>>,
    /// The lowest severity of log messages that the client wants; `None` until it sets one.
    level: Mutex<Option<Level>>,
    /// The requests waiting for the client's answers, by id.
    pending: Mutex<HashMap<String, oneshot::Sender<PeerResponse>>>,
    /// Resources that the client has subscribed to.
    watched: Mutex<BTreeMap<String, u64>>,
    /// Messages for the listening stream.
    announced: Mutex<VecDeque<Bytes>>,
    announcing: Notify,
    used: Mutex<Instant>,
    /// Cancelled when the session is over.
    over: CancellationToken,
    /// The running requests, the newest last: a number, the request's id, and a token to cancel it.
    running: Mutex<Vec<(u64, String, CancellationToken)>>,
    /// The numbers of the open listening streams, the newest last: it alone is sent messages.
    listening: watch::Sender<Vec<u64>>,
    /// Answers that can be taken up again.
    recordings: Mutex<VecDeque<Recorded>>,
    /// Names its streams and events.
    numbers: AtomicU64,
    /// Counts the bytes of the answers that are kept.
    kept: Shares<()>,
}

impl Session {
    pub(super) fn new(owner: Owner, version: &'static str, capabilities: Value, kept: Shares<()>) -> Self {
        Self {
            // 122 random bits in 32 hexadecimal digits.
            id: Uuid::new_v4().simple().to_string(),
            // Whoever is admitted finds it. There may be thousands of connections, and of sessions.
            owner: Owner { configuration: Vec::new(), ..owner },
            version,
            capabilities: capabilities.to_string().into(),
            client: OnceLock::new(),
            level: Mutex::new(None),
            pending: Mutex::default(),
            watched: Mutex::default(),
            announced: Mutex::default(),
            announcing: Notify::new(),
            used: Mutex::new(Instant::now()),
            over: CancellationToken::new(),
            running: Mutex::default(),
            listening: watch::Sender::default(),
            recordings: Mutex::default(),
            numbers: AtomicU64::new(1),
            kept,
        }
    }

    /// Notes that it was used just now.
    pub(super) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Ends it: its streams end, and running requests are cancelled.
    pub(super) fn finish(&self) {
        self.over.cancel();
        lock(&self.pending).clear();
    }

    /// Returns the client's capabilities from its handshake, an object.
    pub fn capabilities(&self) -> Value {
        serde_json::from_str(&self.capabilities).unwrap_or_default()
    }

    /// The client's name, as it gave it.
    pub fn client(&self) -> Option<&str> {
        self.client.get().map(AsRef::as_ref)
    }

    /// The client calls itself so in its handshake.
    pub fn set_client_name(&self, client: &str) {
        let kept = client.get(..client.floor_char_boundary(LONGEST_CLIENT)).unwrap_or_default();
        let _ = self.client.set(kept.into());
    }

    /// Returns the lowest severity of log messages that the client wants.
    pub fn level(&self) -> Option<Level> {
        *lock(&self.level)
    }

    /// The client wants log messages from this severity on.
    pub fn set_level(&self, level: Level) {
        *lock(&self.level) = Some(level);
    }

    /// Starts a request to the client. Returns its id and the receiver of the answer, which closes with the
    /// session.
    pub fn ask(&self) -> (String, oneshot::Receiver<PeerResponse>) {
        let (sender, answer) = oneshot::channel();
        let id = format!("portico-{}", self.number());
        let mut pending = lock(&self.pending);
        pending.retain(|_, waiting| !waiting.is_closed());
        pending.insert(id.clone(), sender);
        (id, answer)
    }

    /// Passes on the client's answer to our request `id`; ignored if nothing waits for it.
    pub fn answered(&self, id: &str, answer: PeerResponse) {
        if let Some(waiting) = lock(&self.pending).remove(id) {
            let _ = waiting.send(answer);
        }
    }

    /// How many wait for the client's answers.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        lock(&self.pending).len()
    }

    /// Watches the resource `uri` for the client, which knows its `version`. Returns whether there is room for it.
    pub fn subscribe(&self, uri: &str, version: u64) -> bool {
        let mut watched = lock(&self.watched);
        let others = || watched.keys().filter(|known| *known != uri);
        let bytes: usize = others().map(String::len).sum();
        let fits = others().count() < WATCHED && bytes + uri.len() <= WATCHED_BYTES;
        if fits {
            watched.insert(uri.to_owned(), version);
        }
        fits
    }

    /// Stops watching the resource `uri`.
    pub fn unsubscribe(&self, uri: &str) {
        lock(&self.watched).remove(uri);
    }

    /// Returns the resources that have changed since the client was last notified, according to `version`, and
    /// marks them as known.
    pub fn changed(&self, version: impl Fn(&str) -> Option<u64>) -> Vec<String> {
        let told = |(uri, known): (&String, &mut u64)| {
            let now = version(uri).unwrap_or(*known);
            (std::mem::replace(known, now) != now).then(|| uri.clone())
        };
        lock(&self.watched).iter_mut().filter_map(told).collect()
    }

    /// Sends a message on the stream that listens, if there is one.
    pub fn announce(&self, message: Bytes) {
        if self.listening.borrow().is_empty() {
            return;
        }
        let mut announced = lock(&self.announced);
        if announced.len() == ANNOUNCED {
            announced.pop_front();
        }
        announced.push_back(message);
        drop(announced);
        self.announcing.notify_one();
    }

    /// Whether its streams can be taken up again after they broke off.
    pub fn resumes(&self) -> bool {
        self.version == RESUMABLE
    }

    /// Returns how long it was unused. A running call and an open stream are use.
    pub(super) fn idle_for(&self) -> Duration {
        if self.is_in_use() { Duration::ZERO } else { self.used_at().elapsed() }
    }

    /// Whether something runs or listens in it.
    pub(super) fn is_in_use(&self) -> bool {
        !self.listening.borrow().is_empty() || !lock(&self.running).is_empty()
    }

    /// When it was last used, as far as that is over.
    pub(super) fn used_at(&self) -> Instant {
        *lock(&self.used)
    }

    /// Completes when the session is over.
    pub async fn over(&self) {
        self.over.cancelled().await;
    }

    /// A number that was not given in this session before.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that the request `id`, its JSON text, runs from now on.
    pub fn run(self: &Arc<Self>, id: &str) -> RunningRequest {
        let (number, cancelled) = (self.number(), self.over.child_token());
        lock(&self.running).push((number, normal(id), cancelled.clone()));
        RunningRequest { session: Arc::clone(self), number, cancelled }
    }

    /// Cancels the request `id`, its JSON text, if it runs.
    pub fn cancel(&self, id: &str) {
        let id = normal(id);
        // Of a client that uses an id twice the later one is meant.
        if let Some((.., cancelled)) = lock(&self.running).iter().rfind(|(_, running, _)| *running == id) {
            cancelled.cancel();
        }
    }

    /// Opens a stream of change notifications. Messages go to the newest one alone: none is sent on two streams
    /// (MCP 2025-11-25, transports §Multiple Connections). The others stay open: a client that reopened a stream of
    /// its own whenever another one ended it would never come to rest.
    pub fn listen(self: &Arc<Self>) -> ListeningStream {
        let number = self.number();
        self.listening.send_modify(|open| {
            open.push(number);
            if open.len() > LISTENING {
                open.remove(0);
            }
        });
        ListeningStream { session: Arc::clone(self), number }
    }

    /// Begins to record an answer to `owner`.
    pub fn record(&self, owner: Owner) -> Arc<ReplayBuffer> {
        let recording = ReplayBuffer::begin(self.number());
        let room = self.kept.room((), ShareLimits { each: KEPT_BYTES, all: KEPT_BYTES });
        let mut recordings = lock(&self.recordings);
        recordings.push_back(Recorded { recording: Arc::clone(&recording), owner, room });
        // One that still runs has its answer to come; there are no more of them than calls that run.
        if recordings.len() > RECORDINGS
            && let Some(oldest) = recordings.iter().position(|kept| kept.recording.has_ended())
        {
            recordings.remove(oldest);
        }
        recording
    }

    /// Marks the answer as complete. Returns whether there is room to keep it for a client that lost its stream.
    pub fn retain(&self, recording: &ReplayBuffer) -> bool {
        let mut recordings = lock(&self.recordings);
        let kept = recordings.iter_mut().find(|kept| kept.is(recording.stream));
        let has_room = kept.is_some_and(|kept| kept.room.grow(recording.bytes()).is_ok());
        drop(recordings);
        if !has_room {
            self.forget(recording);
        }
        has_room
    }

    /// Drops the answer. Clients that are reading it still get all of it.
    pub fn forget(&self, recording: &ReplayBuffer) {
        lock(&self.recordings).retain(|kept| !kept.is(recording.stream));
    }

    /// Returns the recording of the answer with this name, if it is `by`'s.
    ///
    /// # Errors
    /// If it is, and `by` may not see it any more.
    pub fn recording(&self, stream: u64, by: &Owner) -> Result<Option<Arc<ReplayBuffer>>> {
        let recordings = lock(&self.recordings);
        match recordings.iter().find(|kept| kept.is(stream) && kept.owner.admits(by)) {
            Some(kept) if !kept.owner.shares_with(by) => Err(Error::invalid(format!("Last-Event-ID: {NOT_SHARED}"))),
            kept => Ok(kept.map(|kept| Arc::clone(&kept.recording))),
        }
    }
}

/// Returns one spelling for each id, which JSON can write in several ways: `"a"` is `"\u0061"`.
fn normal(id: &str) -> String {
    serde_json::from_str::<serde_json::Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

/// An answer that is recorded.
#[derive(Debug)]
struct Recorded {
    recording: Arc<ReplayBuffer>,
    /// The owner of the answer.
    owner: Owner,
    /// Its counted memory, once it is complete.
    room: Allowance<()>,
}

impl Recorded {
    fn is(&self, stream: u64) -> bool {
        self.recording.stream == stream
    }
}

/// A request that runs in a session, until it is dropped.
#[derive(Debug)]
pub struct RunningRequest {
    session: Arc<Session>,
    number: u64,
    cancelled: CancellationToken,
}

impl RunningRequest {
    /// Completes when the client cancels the request, or ends the session.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        lock(&self.session.running).retain(|(number, ..)| *number != self.number);
        self.session.touch();
    }
}

/// An open stream that listens in a session, until it is dropped.
#[derive(Debug)]
pub struct ListeningStream {
    /// Where it listens.
    pub session: Arc<Session>,
    number: u64,
}

impl ListeningStream {
    /// Returns the next message for this stream. Dropping the future loses nothing.
    pub async fn announced(&self) -> Bytes {
        loop {
            self.newest().await;
            if let Some(message) = lock(&self.session.announced).pop_front() {
                return message;
            }
            tokio::select! {
                // It must not take a wake that is meant for the newest.
                biased;
                () = self.until(|open| open.last() != Some(&self.number)) => {}
                () = self.session.announcing.notified() => {}
            }
        }
    }

    /// Completes when it is the one that messages go to.
    pub async fn newest(&self) {
        self.until(|open| open.last() == Some(&self.number)).await;
    }

    /// Whether it is the one that messages go to.
    pub fn is_newest(&self) -> bool {
        self.session.listening.borrow().last() == Some(&self.number)
    }

    /// Completes when the client has opened too many others, or the session is over.
    pub async fn over(&self) {
        tokio::select! {
            () = self.session.over() => {}
            () = self.until(|open| !open.contains(&self.number)) => {}
        }
    }

    /// Completes when the open streams are so.
    async fn until(&self, is_so: impl FnMut(&Vec<u64>) -> bool) {
        // The sender is a member of the session: this cannot fail.
        let _ = self.session.listening.subscribe().wait_for(is_so).await;
    }
}

impl Drop for ListeningStream {
    fn drop(&mut self) {
        self.session.listening.send_modify(|open| open.retain(|number| *number != self.number));
        self.session.touch();
    }
}
