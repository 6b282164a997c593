//! Every task: begun, found and forgotten, within bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::task::Task;
use crate::config::TaskLimits;
use crate::mcp::sessions::Owner;
use crate::mcp::streams::progress::Progress;
use portico_actors::mutex::lock;

/// The extension's identifier, under `extensions` of both sides' capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The maximal number of tasks of all callers on all connections. Each running one holds a place for its record in
/// the audit trail, whose queue is longer.
const TOTAL: usize = 1_000;
/// The fraction of the memory for results that one principal may use: one in so many.
const SHARE: usize = 4;

/// Every task. Clones share one table.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// The limits of tasks.
    pub bounds: TaskLimits,
    table: Arc<Mutex<HashMap<String, Arc<Task>>>>,
}

impl Tasks {
    /// A table within these bounds.
    pub fn new(bounds: TaskLimits) -> Self {
        Self { bounds, table: Arc::default() }
    }

    /// Returns true if tasks are enabled.
    pub fn are_on(&self) -> bool {
        self.bounds.per_principal > 0
    }

    /// Starts a task of `owner`, whose call reports in `progress`; `None` if there is no room for one more.
    pub fn begin(&self, owner: Owner, progress: Arc<Progress>) -> Option<Arc<Task>> {
        let bounds = &self.bounds;
        let mut table = lock(&self.table);
        let own = || table.values().filter(|task| task.owner.subject == owner.subject);
        let here = table.values().filter(|task| task.owner.target == owner.target).count();
        let bytes: usize = own().map(|task| task.bytes()).sum();
        if own().count() >= bounds.per_principal
            || here >= bounds.per_connection
            || table.len() >= TOTAL
            || bytes >= bounds.kept_bytes / SHARE
        {
            return None;
        }
        let task = Arc::new(Task::new(owner, progress, bounds.keep));
        table.insert(task.id.clone(), Arc::clone(&task));
        Some(task)
    }

    /// Returns the task with this id, if `owner` may continue it: for others it does not exist.
    pub fn find(&self, id: &str, owner: &Owner) -> Option<Arc<Task>> {
        lock(&self.table).get(id).filter(|task| task.owner.admits(owner)).map(Arc::clone)
    }

    /// Whether there is room for so many bytes of one more result.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let kept: usize = lock(&self.table).values().map(|task| task.bytes()).sum();
        kept + bytes <= self.bounds.kept_bytes
    }

    pub(super) fn remove(&self, task: &Task) {
        lock(&self.table).remove(&task.id);
    }

    /// How many run, or wait for their client.
    pub fn running(&self) -> usize {
        lock(&self.table).values().filter(|task| !task.is_over()).count()
    }
}

#[cfg(test)]
mod tests {
    use portico_actors::principal::Scope;

    use super::*;

    fn owner(subject: &str, connection: u128) -> Owner {
        Owner::new(subject, connection, Scope::Write)
    }

    #[test]
    fn a_task_is_found_by_its_holder_alone() {
        let tasks = Tasks::default();
        let under = |configuration| Owner { configuration, ..owner("a", 1) };
        let task = tasks.begin(under(vec![1]), Arc::default()).unwrap();
        assert!(task.id.len() >= 32, "an id that could be guessed");
        assert!(tasks.find(&task.id, &owner("a", 1)).is_some());
        let narrower = Owner::new("a", 1, Scope::Read);
        for other in [owner("b", 1), owner("a", 2), narrower] {
            assert!(tasks.find(&task.id, &other).is_none());
        }
        let found = tasks.find(&task.id, &under(vec![2])).expect("who began it may end it");
        assert!(!found.owner.shares_with(&under(vec![2])), "its result is told under other settings");
        assert!(found.owner.shares_with(&under(vec![1, 2])), "another connection has come");
        tasks.remove(&task);
        assert!(tasks.find(&task.id, &owner("a", 1)).is_none());
    }

    #[test]
    fn each_bound_is_kept_and_what_goes_makes_room() {
        let bounds = TaskLimits { per_principal: 2, per_connection: 3, ..TaskLimits::default() };
        let tasks = Tasks::new(bounds);
        let begin = |subject, connection| tasks.begin(owner(subject, connection), Arc::default());
        let first = begin("a", 1).unwrap();
        assert!(begin("a", 2).is_some() && begin("a", 3).is_none(), "two of one principal, wherever");
        assert!(
            begin("b", 1).is_some() && begin("c", 1).is_some() && begin("d", 1).is_none(),
            "three on one connection"
        );
        assert_eq!(tasks.running(), 4);
        tasks.remove(&first);
        assert!(begin("d", 1).is_some());
        assert!(!Tasks::new(TaskLimits { per_principal: 0, ..TaskLimits::default() }).are_on());
    }

    #[test]
    fn results_are_kept_within_their_bytes() {
        let tasks = Tasks::new(TaskLimits { kept_bytes: 400, ..TaskLimits::default() });
        let task = tasks.begin(owner("a", 1), Arc::default()).unwrap();
        let result = serde_json::value::RawValue::from_string(format!("\"{}\"", "x".repeat(98))).unwrap();
        task.complete(result);
        assert_eq!((task.bytes(), tasks.running()), (100, 0));
        assert!(tasks.begin(owner("a", 1), Arc::default()).is_none(), "its share is used up");
        assert!(tasks.begin(owner("b", 1), Arc::default()).is_some());
        assert!(tasks.has_room(300) && !tasks.has_room(301));
    }
}
