//! Turns calls into tasks. The server alone decides that, for clients that support tasks: a short call is answered
//! directly, and a longer one is answered with its task's handle and continues.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::time::{Sleep, sleep};

use super::table::{EXTENSION, Tasks};
use super::task::{Task, TaskPromotion};
use crate::mcp::call::Outcome;
use crate::mcp::context::Context;
use crate::mcp::envelope::{self, ResponseStatus};
use crate::mcp::model::Id;
use crate::mcp::request_context::RequestContext;
use crate::mcp::sessions::Owner;
use crate::mcp::versions::stateless;

/// Decides before a call runs: it becomes a task when it takes long, if its client knows tasks.
pub(in crate::mcp) fn prepare(context: &Context<'_>) {
    if context.tasks.are_on() && context.request.client_extends(EXTENSION) {
        context.request.promote(TaskPromotion::After(context.tasks.bounds.after));
    }
}

impl Context<'_> {
    /// Makes the call a task unless it is done at once; whether there was room for one more.
    pub fn begin_task(&self) -> bool {
        let task = self.tasks.begin(self.owner(), Arc::clone(&self.request.progress));
        let has_room = task.is_some();
        self.request.promote(task.map_or(TaskPromotion::Never, TaskPromotion::Begun));
        has_room
    }
}

/// Why a task was stopped before its end.
const BY_CLIENT: &str = "cancelled by the client";
const BY_ACCESS: &str = "cancelled: the caller is no longer let in";

/// Returns the outcome of `call`, which answers the request `id` of `owner`; or the handle of a task, in which it
/// continues until it is cancelled or `gone` completes, because the caller is no longer authorised. If dropped
/// before, it drops the call.
pub async fn promote(
    tasks: Tasks,
    mut call: LocalBoxFuture<'static, Outcome>,
    request: Arc<RequestContext>,
    (id, owner): (Id, Owner),
    gone: impl Future<Output = ()> + 'static,
) -> Outcome {
    let unannounced = UnannouncedTask(&tasks, &request);
    let task = match decided(&mut call, &request).await {
        Ok(outcome) => return outcome,
        Err(TaskPromotion::Begun(task)) => task,
        Err(_) => match tasks.begin(owner, Arc::clone(&request.progress)) {
            Some(task) => {
                request.promote(TaskPromotion::Begun(Arc::clone(&task)));
                task
            }
            None => return call.await,
        },
    };
    std::mem::forget(unannounced);
    let handle = envelope::success(&id, stateless::with_type(task.handle(), "task"));
    tokio::task::spawn_local(async move {
        let work = tokio::task::spawn_local(work(tasks.clone(), Arc::clone(&task), call, gone));
        if work.await.is_err() {
            task.fail(envelope::internal_error("the call has broken off"));
        }
        sleep(tasks.bounds.keep).await;
        tasks.remove(&task);
    });
    Outcome::Response(ResponseStatus::Answered, handle)
}

/// Forgets the task of a call when it is dropped: its client has not heard of it.
struct UnannouncedTask<'a>(&'a Tasks, &'a RequestContext);

impl Drop for UnannouncedTask<'_> {
    fn drop(&mut self) {
        if let TaskPromotion::Begun(task) = self.1.promotion() {
            self.0.remove(&task);
        }
    }
}

/// Runs `call` until it is done, or is to become a task now.
async fn decided(
    call: &mut LocalBoxFuture<'static, Outcome>,
    request: &RequestContext,
) -> Result<Outcome, TaskPromotion> {
    let mut slow: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(outcome) = call.poll_unpin(cx) {
            return Poll::Ready(Ok(outcome));
        }
        match request.promotion() {
            TaskPromotion::Never => Poll::Pending,
            TaskPromotion::After(long) => slow
                .get_or_insert_with(|| Box::pin(sleep(long)))
                .poll_unpin(cx)
                .map(|()| Err(TaskPromotion::After(long))),
            begun @ TaskPromotion::Begun(_) => Poll::Ready(Err(begun)),
        }
    })
    .await
}

/// Runs `call` to its end, or to that of its task.
async fn work(
    tasks: Tasks,
    task: Arc<Task>,
    mut call: LocalBoxFuture<'static, Outcome>,
    gone: impl Future<Output = ()>,
) {
    let outcome = {
        let gone = pin!(gone);
        tokio::select! {
            biased;
            () = gone => {
                // The call ends by it too, and its record says so.
                drop((&mut call).await);
                Err(BY_ACCESS)
            }
            outcome = &mut call => Ok(outcome),
            () = task.cancelled() => Err(BY_CLIENT),
        }
    };
    // Dropping it cancels its statement at the source.
    drop(call);
    match outcome {
        Err(reason) => task.stop(reason),
        Ok(outcome) => match outcome.into_body().as_deref().and_then(envelope::open) {
            Some(Ok(result)) if tasks.has_room(result.get().len()) => task.complete(result),
            Some(Ok(_)) => task.fail(envelope::internal_error(
                "the call has ended, and there is no room to keep its result; ask for fewer rows, or call again when \
                 earlier results are gone",
            )),
            Some(Err(error)) => task.fail(error),
            None => task.fail(envelope::internal_error("the call has ended without an answer")),
        },
    }
}
