//! Requests to the client of a session, and its answers to them (the 2025 revisions; later ones
//! have none). On which stream a request travels is not known here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::mcp::lock::lock;

/// A result, or an error object.
pub type PeerResponse = Result<Value, Value>;

/// What a session has asked and was not answered yet, by the request's id.
#[derive(Debug, Default)]
pub(super) struct PendingRequests(Mutex<HashMap<String, oneshot::Sender<PeerResponse>>>);

impl PendingRequests {
    /// Notes a request with the id `id`.
    pub(super) fn ask(self: &Arc<Self>, id: String) -> PendingRequest {
        let (sender, answer) = oneshot::channel();
        lock(&self.0).insert(id.clone(), sender);
        PendingRequest { open: Arc::clone(self), id, answer }
    }

    /// Hands the client's answer to whoever waits for it; others are ignored.
    pub(super) fn answer(&self, id: &str, answer: PeerResponse) {
        if let Some(waiting) = lock(&self.0).remove(id) {
            let _ = waiting.send(answer);
        }
    }

    /// Nothing is answered any more.
    pub(super) fn close(&self) {
        lock(&self.0).clear();
    }
}

/// One request to the client, until it is dropped.
#[derive(Debug)]
pub struct PendingRequest {
    open: Arc<PendingRequests>,
    id: String,
    answer: oneshot::Receiver<PeerResponse>,
}

impl PendingRequest {
    /// The request's id.
    pub fn id(&self) -> String {
        self.id.clone()
    }

    /// The client's answer; `None` when the session ends before.
    pub async fn answer(mut self) -> Option<PeerResponse> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        lock(&self.open.0).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn an_answer_reaches_the_one_who_asked_and_nobody_else() {
        let open = Arc::new(PendingRequests::default());
        let (one, two) = (open.ask("1".to_owned()), open.ask("2".to_owned()));
        open.answer("3", Ok(Value::Null));
        open.answer("2", Ok(Value::from(2)));
        assert_eq!(two.answer().await, Some(Ok(Value::from(2))));
        drop(one);
        assert!(lock(&open.0).is_empty(), "what nobody waits for was kept");
        let left = open.ask("4".to_owned());
        open.close();
        assert_eq!(left.answer().await, None);
    }
}
