//! Long-lived streams: `subscriptions/listen` of 2026-07-28, and the GET stream of the 2025 revisions. Changes are
//! detected in `changes.rs`; the transport is not known here.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::{Stream, stream};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fields::Fields;
use crate::mcp::envelope::{self, RpcError, invalid_params, params_error};
use crate::mcp::extensions::tasks::TaskSubscription;
use crate::mcp::features::{Digests, ListKind};
use crate::mcp::model::{Id, LONGEST_NAME, META_SERVER, ServerEvent, server_info};
use crate::mcp::sessions::{ListeningStream, Session};
use crate::mcp::streams::changes::ChangeWatcher;

/// The notification of a change of a watched resource.
const UPDATED: &str = "notifications/resources/updated";
/// The notification of a followed task's status.
const TASK: &str = "notifications/tasks";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The subscription of a client of 2026-07-28.
#[derive(Debug)]
pub struct Subscription {
    id: Id,
    lists: Vec<ListKind>,
    /// The watched resources, each with the version that the client was last notified of.
    resources: Vec<(String, u64)>,
    tasks: TaskSubscription,
}

/// The maximal number of resources that one subscription watches, and the bytes of their list.
const WATCHED: usize = 1_000;
const WATCHED_BYTES: usize = 128 * 1024;
/// The maximal number of tasks that one subscription follows.
const FOLLOWED: usize = 100;

impl Subscription {
    /// Reads the parameters of `subscriptions/listen`. Unsupported parts are left out of the acknowledgement;
    /// `tasks` returns the existing tasks of the ids.
    pub(in crate::mcp) fn read(
        id: &Id,
        mut params: Fields,
        offered: &Value,
        tasks: impl FnOnce(Option<Vec<String>>) -> Result<TaskSubscription, RpcError>,
    ) -> Result<Self, RpcError> {
        // It is kept as long as the stream, and sent with each of its messages.
        if id.as_json().len() > LONGEST_NAME {
            return Err(invalid_params(format!(
                "id: a subscription's id may have at most {LONGEST_NAME} bytes; give a shorter one"
            )));
        }
        let asked = params
            .take("notifications")
            .ok_or_else(|| invalid_params("notifications: say what to listen for, as {\"toolsListChanged\": true}"))?;
        let mut asked = Fields::parse(asked.get(), "notifications").map_err(params_error)?;
        let mut lists = Vec::new();
        for list in ListKind::ALL {
            let wanted = asked.boolean(list.subscription()).map_err(params_error)? == Some(true);
            if wanted && offered[list.capability()]["listChanged"] == true {
                lists.push(list);
            }
        }
        let given = asked.take("resourceSubscriptions").filter(|_| offered["resources"]["subscribe"] == true);
        let bytes = given.as_ref().map_or(0, |given| given.get().len());
        let resources = texts(given, "resourceSubscriptions: give a list of URIs")?.unwrap_or_default();
        if resources.len() > WATCHED || bytes > WATCHED_BYTES {
            return Err(invalid_params(format!(
                "resourceSubscriptions: give at most {WATCHED} resources and {WATCHED_BYTES} bytes; listen for fewer"
            )));
        }
        let ids = texts(asked.take("taskIds"), "taskIds: give a list of the ids of tasks")?;
        if ids.as_ref().is_some_and(|ids| ids.len() > FOLLOWED) {
            return Err(invalid_params(format!("taskIds: give at most {FOLLOWED} tasks")));
        }
        let resources = resources.into_iter().map(|uri| (uri, 0)).collect();
        Ok(Self { id: id.clone(), lists, resources, tasks: tasks(ids)? })
    }

    fn meta(&self) -> String {
        format!("{{\"{META_SUBSCRIPTION}\":{}}}", self.id.as_json())
    }

    fn acknowledgement(&self) -> Vec<u8> {
        let mut honoured: Value = self.lists.iter().map(|list| (list.subscription(), true)).collect();
        if !self.resources.is_empty() {
            honoured["resourceSubscriptions"] = self.resources.iter().map(|(uri, _)| uri.as_str()).collect();
        }
        if !self.tasks.ids().is_empty() {
            honoured["taskIds"] = Value::from(self.tasks.ids());
        }
        let params = format_args!("{{\"_meta\":{},\"notifications\":{honoured}}}", self.meta());
        envelope::notification("notifications/subscriptions/acknowledged", params)
    }

    /// Returns the notification of a task's status; `details` is the text of a JSON object.
    fn task(&self, mut details: String) -> Vec<u8> {
        details.pop();
        envelope::notification(TASK, format_args!("{details},\"_meta\":{}}}", self.meta()))
    }

    /// Returns the stream: the acknowledgement, then each change, and the request's result when `closing` is
    /// cancelled.
    pub fn events(mut self, changes: ChangeWatcher, closing: CancellationToken) -> impl Stream<Item = ServerEvent> {
        self.resources.retain_mut(|(uri, known)| changes.version(uri).inspect(|version| *known = *version).is_some());
        let acknowledgement = ServerEvent::message(self.acknowledgement());
        Listening::open(self, changes, closing, Some(acknowledgement))
    }
}

fn texts(given: Option<Box<RawValue>>, form: &str) -> Result<Option<Vec<String>>, RpcError> {
    given.map(|given| serde_json::from_str(given.get())).transpose().map_err(|_| invalid_params(form))
}

/// The listener of a stream.
trait Listener {
    /// Returns the next event that is not about a change; `None` at the end. Dropping the future loses nothing.
    async fn told(&mut self) -> Option<ServerEvent>;

    /// Returns the events for these lists, and for the resources whose version in `changes` differs.
    fn changed(&mut self, lists: Vec<ListKind>, changes: &ChangeWatcher) -> Vec<ServerEvent>;

    /// The last event.
    fn end(&self) -> Option<ServerEvent> {
        None
    }
}

/// A stream that reports changes to a listener.
struct Listening<L> {
    listener: L,
    changes: ChangeWatcher,
    closing: CancellationToken,
    /// Events to send first: further changes are awaited only when it is empty.
    waiting: VecDeque<ServerEvent>,
    ended: bool,
}

impl<L: Listener> Listening<L> {
    fn open(
        listener: L,
        changes: ChangeWatcher,
        closing: CancellationToken,
        first: Option<ServerEvent>,
    ) -> impl Stream<Item = ServerEvent> {
        let listening = Self { listener, changes, closing, waiting: first.into_iter().collect(), ended: false };
        stream::unfold(listening, Self::next)
    }

    async fn next(mut self) -> Option<(ServerEvent, Self)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some((event, self));
            }
            if self.ended {
                return None;
            }
            let goes_on = tokio::select! {
                biased;
                () = self.closing.cancelled() => None,
                event = self.listener.told() => event.map(|event| vec![event]),
                // A connection that was removed does not change any more.
                lists = self.changes.next() => lists.map(|lists| self.listener.changed(lists, &self.changes)),
            };
            self.ended = goes_on.is_none();
            self.waiting.extend(goes_on.unwrap_or_else(|| self.listener.end().into_iter().collect()));
        }
    }
}

impl Listener for Subscription {
    async fn told(&mut self) -> Option<ServerEvent> {
        let details = self.tasks.next().await;
        Some(ServerEvent::message(self.task(details)))
    }

    fn changed(&mut self, lists: Vec<ListKind>, changes: &ChangeWatcher) -> Vec<ServerEvent> {
        let meta = self.meta();
        let lists = lists.into_iter().filter(|list| self.lists.contains(list));
        let lists =
            lists.map(|list| envelope::notification(&list.notification(), format_args!("{{\"_meta\":{meta}}}")));
        let resources = self.resources.iter_mut().filter_map(|(uri, known)| {
            let now = changes.version(uri).unwrap_or(*known);
            let params = || format!("{{\"uri\":{},\"_meta\":{meta}}}", Value::from(uri.as_str()));
            (std::mem::replace(known, now) != now).then(|| envelope::notification(UPDATED, params()))
        });
        lists.chain(resources).map(ServerEvent::message).collect()
    }

    /// The graceful end.
    fn end(&self) -> Option<ServerEvent> {
        let (server, id) = (server_info(), self.id.as_json());
        let meta = format!("{{\"{META_SERVER}\":{server},\"{META_SUBSCRIPTION}\":{id}}}");
        let result = format!("{{\"resultType\":\"complete\",\"_meta\":{meta}}}");
        Some(ServerEvent::message(envelope::success(&self.id, result)))
    }
}

/// The listening stream of the 2025 revisions: each change while it is its session's newest, until `closing` is
/// cancelled, or the session ends, or the client has opened too many. What changed meanwhile it reports when it is the
/// newest again: the other one may have been lost with it. `last` is the id of the last event that the client has seen:
/// later changes are reported at once.
pub fn announcements(
    stream: Option<ListeningStream>,
    mut changes: ChangeWatcher,
    closing: CancellationToken,
    last: Option<&str>,
) -> impl Stream<Item = ServerEvent> + use<> {
    if let Some(seen) = last.and_then(read_id) {
        changes.resume(seen);
    }
    let listener = SessionListener { stream, told: changes.announced(), missed: Vec::new() };
    // An event without an id has no use.
    let first = Some(listener.event(Bytes::new())).filter(|event| event.id.is_some());
    Listening::open(listener, changes, closing, first)
}

struct SessionListener {
    /// `None` for a client without a session.
    stream: Option<ListeningStream>,
    /// What the client knows after all events sent so far.
    told: Digests,
    /// Lists that changed while another stream was the newest, each with its digest.
    missed: Vec<(ListKind, u64)>,
}

impl SessionListener {
    /// A message as an event, with an id where events have one.
    fn event(&self, message: Bytes) -> ServerEvent {
        let session = self.stream.as_ref().map(|stream| &stream.session).filter(|session| session.resumes());
        ServerEvent { id: session.map(|session| id(session, self.told)), message }
    }

    /// Notes that the client knows the list with this digest from the event that is returned on: one that loses the
    /// stream between two events has not seen the second.
    fn list_changed(&mut self, list: ListKind, digest: u64) -> ServerEvent {
        self.told[list as usize] = digest;
        self.event(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}", list.notification()).into())
    }
}

impl Listener for SessionListener {
    async fn told(&mut self) -> Option<ServerEvent> {
        let Some(stream) = &self.stream else { return std::future::pending().await };
        if let Some((list, digest)) = self.missed.first().copied() {
            tokio::select! {
                biased;
                () = stream.over() => return None,
                () = stream.newest() => {}
            }
            self.missed.remove(0);
            return Some(self.list_changed(list, digest));
        }
        tokio::select! {
            biased;
            () = stream.over() => None,
            message = stream.announced() => Some(self.event(message)),
        }
    }

    fn changed(&mut self, lists: Vec<ListKind>, changes: &ChangeWatcher) -> Vec<ServerEvent> {
        let now = changes.announced();
        if self.stream.as_ref().is_some_and(|stream| !stream.is_newest()) {
            self.missed.retain(|(list, _)| !lists.contains(list));
            self.missed.extend(lists.into_iter().map(|list| (list, now[list as usize])));
            return Vec::new();
        }
        let mut events: Vec<ServerEvent> =
            lists.into_iter().map(|list| self.list_changed(list, now[list as usize])).collect();
        let session = self.stream.as_ref().map(|stream| &stream.session);
        for uri in session.map(|session| session.changed(|uri| changes.version(uri))).unwrap_or_default() {
            events.push(self.event(envelope::notification(UPDATED, json!({"uri": uri})).into()));
        }
        events
    }
}

/// The prefix of event ids on a listening stream; those of an answer start with its number.
const LISTENING: &str = "list-";

/// Returns the id of an event on a listening stream: it contains what the client knows from then on, so that
/// nothing has to be kept for a client that reconnects.
fn id(session: &Session, told: Digests) -> String {
    let told: Vec<String> = told.iter().map(|digest| format!("{digest:016x}")).collect();
    format!("{LISTENING}{}-{}", session.number(), told.join("."))
}

/// Reads what the client knew from the id of the last event that it has seen.
fn read_id(id: &str) -> Option<Digests> {
    let (_, told) = id.strip_prefix(LISTENING)?.split_once('-')?;
    let told: Vec<u64> = told.split('.').map(|digest| u64::from_str_radix(digest, 16).ok()).collect::<Option<_>>()?;
    told.try_into().ok()
}

/// Whether `id` belongs to a listening stream.
pub fn is_listening(id: &str) -> bool {
    read_id(id).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_holds_what_the_client_knows() {
        let session = crate::mcp::sessions::Sessions::default().begin(
            crate::mcp::sessions::Owner::new("a", 0, portico_actors::principal::Scope::Read),
            "2025-11-25",
            Value::Null,
        );
        let told = [0xfeed, 0xbee, 0xf00d];
        let (first, second) = (id(&session, told), id(&session, told));
        assert_ne!(first, second, "ids are unique within a session");
        assert_eq!((read_id(&first), read_id(&second)), (Some(told), Some(told)));
        for wrong in ["", "list-", "list-1-", "list-1-xyz", "list-1-1", "list-1-1.2.3.4", "7-1"] {
            assert_eq!(read_id(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_not_served_is_not_acknowledged() {
        let id = envelope::read(br#"{"jsonrpc":"2.0","id":"s","method":"m"}"#).unwrap().id().unwrap().clone();
        let offered = json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {"listChanged": true}});
        let read = |params: &str| {
            let params = Fields::parse(params, "params").unwrap();
            Subscription::read(&id, params, &offered, |_| Ok(TaskSubscription::default()))
        };
        let subscription =
            read(r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"],"new":1}}"#).unwrap();
        let acknowledged: Value = serde_json::from_slice(&subscription.acknowledgement()).unwrap();
        assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
        assert_eq!(acknowledged["params"]["_meta"][META_SUBSCRIPTION], "s");
        let none: Value = serde_json::from_slice(&read(r#"{"notifications":{}}"#).unwrap().acknowledgement()).unwrap();
        assert_eq!(none["params"]["notifications"], json!({}));
        for wrong in ["{}", r#"{"notifications":[]}"#, r#"{"notifications":{"toolsListChanged":"yes"}}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
