//! Tasks that a client listens for, until each has ended (the extension, §Task Status Notifications).

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::select_all;
use tokio::sync::watch;

use super::task::Task;

/// Tasks, each with what tells of its changes.
#[derive(Debug, Default)]
pub(in crate::mcp) struct TaskSubscription(Vec<(Arc<Task>, watch::Receiver<()>)>);

impl TaskSubscription {
    /// What has happened already is told first: the client may have missed it.
    pub(in crate::mcp) fn new(tasks: Vec<Arc<Task>>) -> Self {
        let watched = tasks.into_iter().map(|task| {
            let mut changed = task.watch();
            if task.is_remarkable() {
                changed.mark_changed();
            }
            (task, changed)
        });
        Self(watched.collect())
    }

    /// Their ids.
    pub(in crate::mcp) fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|(task, _)| task.id()).collect()
    }

    /// How the next task is whose status changes. Waits for ever when none is left; dropping it
    /// loses nothing.
    pub(in crate::mcp) async fn next(&mut self) -> String {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        // The sender is a member of the task that is held beside it: this cannot fail.
        let (_, index, _) = select_all(self.0.iter_mut().map(|(_, changed)| changed.changed().boxed_local())).await;
        let task = Arc::clone(&self.0[index].0);
        // Looked at first: what is over stays as it is.
        let over = task.is_over();
        let details = task.details();
        if over {
            self.0.remove(index);
        }
        details
    }
}
