//! `tasks/get`, `tasks/update` and `tasks/cancel`, and the part of `subscriptions/listen` for tasks.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::table::EXTENSION;
use super::task::{Task, TaskSubscription};
use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult, Params};
use crate::mcp::context::Context;
use crate::mcp::envelope::{RpcError, invalid_params, params_error};
use crate::mcp::features::RequestResult;
use crate::mcp::sessions::{NOT_SHARED, Owner};

/// The parameter that names a task.
pub(in crate::mcp) const TASK_ID: &str = "taskId";

/// Refuses a client that does not know tasks.
fn declared(context: &Context<'_>) -> Result<(), RpcError> {
    if context.request.client_extends(EXTENSION) { Ok(()) } else { Err(RpcError::extension(EXTENSION)) }
}

/// `tasks/get`.
pub(in crate::mcp) fn get(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (id, _) = named(call, params)?;
    Ok(MethodResult::Complete(shared(call, &id)?.details()))
}

/// `tasks/update`.
pub(in crate::mcp) fn update(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (id, mut fields) = named(call, params)?;
    let given = fields.take("inputResponses");
    let answers = given
        .and_then(|given| serde_json::from_str::<Map<String, Value>>(given.get()).ok())
        .ok_or_else(|| invalid_params("inputResponses: give an object with an answer under each question's key"))?;
    let refused = |key| invalid_params(format!("inputResponses.{key}: an answer must be an object"));
    shared(call, &id)?.answer(answers).map_err(refused)?;
    Ok(MethodResult::nothing())
}

/// `tasks/cancel`.
pub(in crate::mcp) fn cancel(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (id, _) = named(call, params)?;
    found(call, &id, &call.context.owner())?.cancel();
    Ok(MethodResult::nothing())
}

/// The id of the task that a request names, and its other parameters.
fn named(call: &MethodCall<'_>, params: Params) -> RequestResult<(String, Fields)> {
    if !call.context.tasks.are_on() {
        return Err(call.unknown());
    }
    declared(call.context)?;
    let mut fields = params?;
    let id = fields.required(TASK_ID).map_err(params_error)?;
    Ok((id, fields))
}

/// The task, for a caller who may continue it.
fn found(call: &MethodCall<'_>, id: &str, owner: &Owner) -> Result<Arc<Task>, RpcError> {
    let found = call.context.tasks.find(id, owner);
    found.ok_or_else(|| invalid_params("taskId: there is no such task; the result of a call is only kept for a while"))
}

/// The task, for a caller who may see its result too.
fn shared(call: &MethodCall<'_>, id: &str) -> Result<Arc<Task>, RpcError> {
    let owner = call.context.owner();
    let task = found(call, id, &owner)?;
    if task.owner.shares_with(&owner) {
        return Ok(task);
    }
    Err(invalid_params(format!("taskId: {NOT_SHARED}. tasks/cancel still ends it")))
}

/// Returns the existing tasks of these ids. Only a client that supports tasks may ask for any.
pub(in crate::mcp) fn listen(context: &Context<'_>, ids: Option<Vec<String>>) -> Result<TaskSubscription, RpcError> {
    let Some(ids) = ids.filter(|_| context.tasks.are_on()) else { return Ok(TaskSubscription::default()) };
    declared(context)?;
    let owner = context.owner();
    let told = ids.iter().filter_map(|id| context.tasks.find(id, &owner)).filter(|task| task.owner.shares_with(&owner));
    let mut found: Vec<Arc<Task>> = Vec::new();
    for task in told {
        if !found.iter().any(|known| Arc::ptr_eq(known, &task)) {
            found.push(task);
        }
    }
    Ok(TaskSubscription::new(found))
}
