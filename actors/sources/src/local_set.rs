//! Tasks that go on beside a call, in the local set of its thread where it has one. There they turn within the same turn as
//! the call does; between it and a task of the runtime the thread asks the kernel for events once more.

use std::future::Future;

use tokio::task::JoinHandle;
use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    /// Is there while a task of a local set is polled that says so.
    static IN_LOCAL_SET: ();
}

/// Has the tasks that `work` spawns beside itself go on in the local set that it is polled in: it must be a part of a task
/// there.
pub fn in_local_set<F: Future>(work: F) -> TaskLocalFuture<(), F> {
    IN_LOCAL_SET.scope((), work)
}

/// Spawns `task` on this thread: in its local set within [`in_local_set`], otherwise outside of it.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    match IN_LOCAL_SET.try_with(|()| ()) {
        Ok(()) => tokio::task::spawn_local(task),
        Err(_) => tokio::spawn(task),
    }
}
