//! The requests in progress, by their ids: each can be cancelled, and all of them end with the process.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tokio_util::sync::CancellationToken;

use super::call::Call;
use crate::mcp::model::Id;

/// The maximal number of concurrent requests. A service accepts fewer of one caller:
/// `server.max_calls_per_principal`.
const MOST: usize = 2_000;

/// A request in progress.
#[derive(Clone, Debug)]
pub(super) struct Running {
    number: u64,
    pub(super) is_stateless: bool,
    is_silent: Rc<Cell<bool>>,
    over: CancellationToken,
}

impl Running {
    /// Suppresses further messages about it.
    pub(super) fn silence(&self) {
        self.is_silent.set(true);
    }

    /// Ends it here: the service notices that its client has left.
    pub(super) fn end(&self) {
        self.over.cancel();
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    numbers: Cell<u64>,
    running: RefCell<HashMap<String, Running>>,
}

/// Takes a request out when it is over.
pub(super) struct Entered<'a> {
    requests: &'a Requests,
    key: String,
    number: u64,
}

impl Requests {
    /// Adds a request; `None` if there are too many.
    pub(super) fn enter(&self, id: &Id, call: &Call) -> Option<Entered<'_>> {
        let mut running = self.running.borrow_mut();
        if running.len() >= MOST {
            return None;
        }
        let number = self.numbers.replace(self.numbers.get() + 1);
        let key = key(id.as_json());
        let (is_silent, over) = (Rc::clone(&call.is_silent), call.over.clone());
        // Of a client that uses an id twice the later one is meant.
        running.insert(key.clone(), Running { number, is_stateless: call.is_stateless, is_silent, over });
        Some(Entered { requests: self, key, number })
    }

    /// The request with this id, as JSON text.
    pub(super) fn find(&self, id: &str) -> Option<Running> {
        self.running.borrow().get(&key(id)).cloned()
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut running = self.requests.running.borrow_mut();
        if running.get(&self.key).is_some_and(|other| other.number == self.number) {
            running.remove(&self.key);
        }
    }
}

/// Returns one spelling for each id, which JSON can write in several ways: `"a"` is `"\u0061"`.
fn key(id: &str) -> String {
    serde_json::from_str::<serde_json::Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}
