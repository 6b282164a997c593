//! One task: its status, its questions to the client, its description, and its listeners until it has ended (the
//! extension, §Task Status Notifications). The list of tasks is the table's; what a task does is not known here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::select_all;
use portico_actors::auth::clock::Timestamp;
use portico_actors::error::{Error, Kind, Result};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::mcp::model::present;
use crate::mcp::sessions::Owner;
use crate::mcp::streams::progress::Progress;

/// How often a client should ask how a task is, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;

/// How a task has ended.
#[derive(Debug)]
enum TaskEnd {
    /// With a result of the call, a tool's failure among them.
    Completed(Box<RawValue>),
    /// With a protocol error, and its message.
    Failed(Box<RawValue>, String),
    /// Before the call did, and for which reason.
    Cancelled(&'static str),
}

/// A request to the client that waits for its answer.
#[derive(Debug)]
struct PendingInput {
    /// Method and parameters.
    request: Value,
    answer: oneshot::Sender<Value>,
}

#[derive(Debug)]
struct TaskState {
    end: Option<TaskEnd>,
    /// When the status last changed.
    updated: SystemTime,
    /// How long the task ran.
    ran: Option<Duration>,
    /// By unique keys.
    pending: BTreeMap<String, PendingInput>,
    asked: u64,
}

/// One task.
#[derive(Debug)]
pub struct Task {
    /// The id that the client uses.
    pub id: String,
    pub(super) owner: Owner,
    created: SystemTime,
    started: Instant,
    keep: Duration,
    progress: Arc<Progress>,
    /// Notified whenever the status or an open question changes.
    state: watch::Sender<TaskState>,
    cancelled: CancellationToken,
}

impl Task {
    pub(super) fn new(owner: Owner, progress: Arc<Progress>, keep: Duration) -> Self {
        let created = SystemTime::now();
        Self {
            // 122 random bits.
            id: Uuid::new_v4().to_string(),
            owner,
            created,
            started: Instant::now(),
            keep,
            progress,
            state: watch::Sender::new(TaskState {
                end: None,
                updated: created,
                ran: None,
                pending: BTreeMap::new(),
                asked: 0,
            }),
            cancelled: CancellationToken::new(),
        }
    }

    /// Returns true if it has ended, in any way.
    pub fn is_over(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    /// Returns the number of bytes kept of its result.
    pub(super) fn bytes(&self) -> usize {
        match &self.state.borrow().end {
            Some(TaskEnd::Completed(text) | TaskEnd::Failed(text, _)) => text.get().len(),
            Some(TaskEnd::Cancelled(_)) | None => 0,
        }
    }

    /// Cancels it. What runs is stopped soon after; a task that has ended stays as it is.
    pub(super) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Completes when its end was asked for.
    pub(super) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    fn end(&self, end: TaskEnd) {
        self.state.send_modify(|state| {
            if state.end.is_none() {
                state.end = Some(end);
                state.ran = Some(self.started.elapsed());
                self.touch(state);
                // Those waiting for an answer learn that none comes.
                state.pending.clear();
            }
        });
    }

    fn touch(&self, state: &mut TaskState) {
        // A clock that is set back must not make the update older than the task.
        state.updated = SystemTime::now().max(self.created);
    }

    /// Ends the task with this result of the call.
    pub(super) fn complete(&self, result: Box<RawValue>) {
        self.end(TaskEnd::Completed(result));
    }

    /// Ends the task with this error of the protocol, a JSON-RPC error object.
    pub(super) fn fail(&self, error: Box<RawValue>) {
        let words = serde_json::from_str::<Value>(error.get()).unwrap_or_default();
        let words = words["message"].as_str().unwrap_or_default().to_owned();
        self.end(TaskEnd::Failed(error, words));
    }

    /// Stops the task before its end.
    pub(super) fn stop(&self, reason: &'static str) {
        self.end(TaskEnd::Cancelled(reason));
    }

    /// Asks the client, which finds the question when it looks at the task, and waits for the answer.
    ///
    /// # Errors
    /// [`Kind::TimedOut`] where the client does not answer within `patience`, and
    /// [`Kind::Abandoned`] where the task ends before.
    pub(in crate::mcp) async fn ask(&self, method: &str, params: Value, patience: Duration) -> Result<Value> {
        let (sender, answer) = oneshot::channel();
        let (request, mut key) = (json!({"method": method, "params": params}), String::new());
        self.state.send_modify(|state| {
            state.asked += 1;
            key = format!("input-{}", state.asked);
            state.pending.insert(key.clone(), PendingInput { request, answer: sender });
            self.touch(state);
        });
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Error::new(Kind::Abandoned, "the task is over")),
            Err(_) => {
                self.state.send_modify(|state| {
                    state.pending.remove(&key);
                    self.touch(state);
                });
                Err(Error::new(Kind::TimedOut, format!("the client did not answer {method}")))
            }
        }
    }

    /// Passes the client's answers to those waiting for them; others are ignored.
    ///
    /// # Errors
    /// The key of an answer that is not an object; then none is passed on.
    pub(super) fn answer(&self, mut answers: Map<String, Value>) -> Result<(), String> {
        let mut refused = None;
        self.state.send_if_modified(|state| {
            answers.retain(|key, _| state.pending.contains_key(key));
            refused = answers.iter().find(|(_, answer)| !answer.is_object()).map(|(key, _)| key.clone());
            if refused.is_some() || answers.is_empty() {
                return false;
            }
            for (key, answer) in std::mem::take(&mut answers) {
                if let Some(input) = state.pending.remove(&key) {
                    let _ = input.answer.send(answer);
                }
            }
            self.touch(state);
            true
        });
        refused.map_or(Ok(()), Err)
    }

    /// The members of a `Task`, as JSON text without its closing brace.
    fn members(&self, state: &TaskState) -> String {
        let (status, words) = match (&state.end, state.pending.len()) {
            (None, 0) => ("working", Some(self.progress.message())),
            (None, 1) => ("input_required", Some("waiting for one answer".to_owned())),
            (None, more) => ("input_required", Some(format!("waiting for {more} answers"))),
            (Some(TaskEnd::Completed(_)), _) => ("completed", None),
            (Some(TaskEnd::Failed(_, words)), _) => ("failed", Some(words.clone())),
            (Some(TaskEnd::Cancelled(reason)), _) => ("cancelled", Some((*reason).to_owned())),
        };
        // While it runs it is kept for as long as if it ended now: this only ever grows.
        let lives = state.ran.unwrap_or_else(|| self.started.elapsed()) + self.keep;
        let members = present(json!({
            "taskId": self.id,
            "status": status,
            "createdAt": Timestamp::from(self.created),
            "lastUpdatedAt": Timestamp::from(state.updated),
            "ttlMs": u64::try_from(lives.as_millis()).unwrap_or(u64::MAX).max(1),
            "pollIntervalMs": POLL_INTERVAL_MS,
            "statusMessage": words,
        }));
        let mut members = members.to_string();
        members.pop();
        members
    }

    /// Returns a `Task`, the answer to the call itself, as the text of a JSON object.
    pub(super) fn handle(&self) -> String {
        self.members(&self.state.borrow()) + "}"
    }

    /// A `DetailedTask`: how it is now, with its end or its open questions, a JSON object as text.
    pub(in crate::mcp) fn details(&self) -> String {
        let state = self.state.borrow();
        let mut details = self.members(&state);
        match &state.end {
            Some(TaskEnd::Completed(result)) => {
                details.push_str(",\"result\":");
                details.push_str(result.get());
            }
            Some(TaskEnd::Failed(error, _)) => {
                details.push_str(",\"error\":");
                details.push_str(error.get());
            }
            None if !state.pending.is_empty() => {
                let pending: Map<String, Value> =
                    state.pending.iter().map(|(key, input)| (key.clone(), input.request.clone())).collect();
                details.push_str(",\"inputRequests\":");
                details.push_str(&Value::Object(pending).to_string());
            }
            Some(TaskEnd::Cancelled(_)) | None => {}
        }
        details.push('}');
        details
    }
}

/// The decision for a call.
#[derive(Clone, Debug, Default)]
pub enum TaskPromotion {
    /// The call is answered when it is done.
    #[default]
    Never,
    /// The call becomes a task when it has run for so long.
    After(Duration),
    /// The call is a task already.
    Begun(Arc<Task>),
}

/// Tasks, each with a receiver of its changes.
#[derive(Debug, Default)]
pub(in crate::mcp) struct TaskSubscription(Vec<(Arc<Task>, watch::Receiver<TaskState>)>);

impl TaskSubscription {
    /// Past changes are reported first: the client may have missed them.
    pub(in crate::mcp) fn new(tasks: Vec<Arc<Task>>) -> Self {
        let watched = tasks.into_iter().map(|task| {
            let mut changed = task.state.subscribe();
            // It has more to report than that it runs.
            let is_remarkable = changed.borrow().end.is_some() || !changed.borrow().pending.is_empty();
            if is_remarkable {
                changed.mark_changed();
            }
            (task, changed)
        });
        Self(watched.collect())
    }

    /// The ids of the tasks.
    pub(in crate::mcp) fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|(task, _)| task.id.as_str()).collect()
    }

    /// Returns the next task whose status changes. Waits for ever if none is left; dropping the future loses
    /// nothing.
    pub(in crate::mcp) async fn next(&mut self) -> String {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        // The sender is a member of the task that is held beside it: this cannot fail.
        let (_, index, _) = select_all(self.0.iter_mut().map(|(_, changed)| changed.changed().boxed_local())).await;
        let task = Arc::clone(&self.0[index].0);
        // Read first: a task that has ended stays as it is.
        let over = task.is_over();
        let details = task.details();
        if over {
            self.0.remove(index);
        }
        details
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    fn task() -> Task {
        let owner = Owner::new("a", 0, portico_actors::principal::Scope::Read);
        Task::new(owner, Arc::default(), Duration::from_secs(10))
    }

    fn details(task: &Task) -> Value {
        serde_json::from_str(&task.details()).unwrap()
    }

    #[test]
    fn the_first_end_is_the_one() {
        let task = task();
        let before = details(&task);
        assert_eq!((&before["status"], before.get("result")), (&json!("working"), None));
        assert!(before["ttlMs"].as_u64().unwrap() >= 10_000);
        task.fail(RawValue::from_string(r#"{"code":1,"message":"no"}"#.to_owned()).unwrap());
        task.complete(RawValue::from_string("{}".to_owned()).unwrap());
        task.stop("late");
        let after = details(&task);
        assert_eq!((&after["status"], &after["statusMessage"]), (&json!("failed"), &json!("no")));
        assert_eq!((&after["error"], after.get("result")), (&json!({"code": 1, "message": "no"}), None));
        assert!(!task.handle().contains("error"), "the handle holds no end");
    }

    #[actix::test]
    async fn each_answer_goes_to_its_question_and_the_rest_to_nobody() {
        let task = task();
        let pending = async {
            let ask = |words: &'static str| task.ask("elicitation/create", json!(words), PATIENCE);
            futures_util::join!(ask("first"), ask("second"))
        };
        let client = async {
            let mut changed = task.state.subscribe();
            let asked = loop {
                let asked = details(&task);
                if asked["inputRequests"].as_object().is_some_and(|asked| asked.len() == 2) {
                    break asked;
                }
                changed.changed().await.unwrap();
            };
            assert_eq!(asked["status"], "input_required");
            assert_eq!(asked["inputRequests"]["input-2"], json!({"method": "elicitation/create", "params": "second"}));
            let answer = |answers: Value| task.answer(answers.as_object().unwrap().clone());
            assert_eq!(answer(json!({"other": 5})), Ok(()));
            assert_eq!(answer(json!({"input-1": {}, "input-2": 5})), Err("input-2".to_owned()));
            assert_eq!(answer(json!({"input-2": {"n": 2}})), Ok(()));
            assert_eq!(
                details(&task)["inputRequests"].as_object().unwrap().len(),
                1,
                "what is answered is asked no more"
            );
            assert_eq!(answer(json!({"input-2": {"n": 3}, "input-1": {"n": 1}})), Ok(()));
            assert_eq!(details(&task)["status"], "working");
        };
        let ((first, second), ()) = futures_util::join!(pending, client);
        assert_eq!((first.unwrap(), second.unwrap()), (json!({"n": 1}), json!({"n": 2})));
        let (left, ()) = futures_util::join!(task.ask("m", json!({}), PATIENCE), async { task.stop("enough") });
        assert_eq!(left.unwrap_err().kind, Kind::Abandoned, "a task that is over asks nobody");
    }
}
