//! `tasks/get`, `tasks/update` and `tasks/cancel`, and what `subscriptions/listen` says of tasks.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::envelope::{Failure, Standing, words};
use super::super::subscription::Subscription;
use super::super::{Context, stateless};
use super::{EXTENSION, Following, Task};
use crate::fields::Fields;

fn refuse(message: impl Into<String>) -> Failure {
    Failure::params(message, Standing::Answered)
}

/// Refuses a client that does not know tasks.
fn declared(context: &Context<'_>) -> Result<(), Failure> {
    if context.exchange.client_extends(EXTENSION) { Ok(()) } else { Err(Failure::extension(EXTENSION)) }
}

/// Answers a method on one task.
pub(in super::super) fn answer(context: &Context<'_>, method: &str, params: Option<&str>) -> Result<String, Failure> {
    declared(context)?;
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(|error| refuse(words(&error)))?;
    let id = fields.required(stateless::TASK_ID).map_err(|error| refuse(words(&error)))?;
    let answers = match method {
        "tasks/update" => {
            let given = fields.take("inputResponses");
            let given = given.and_then(|given| serde_json::from_str::<Map<String, Value>>(given.get()).ok());
            Some(
                given
                    .ok_or_else(|| refuse("inputResponses: give an object with an answer under each question's key"))?,
            )
        }
        _ => None,
    };
    let task = find(context, &id)
        .ok_or_else(|| refuse("taskId: there is no such task; what a call has ended with is only kept for a while"))?;
    match answers {
        Some(answers) => {
            task.answer(answers).map_err(|key| refuse(format!("inputResponses.{key}: an answer is an object")))?;
        }
        None if method == "tasks/cancel" => task.cancel(),
        None => return Ok(task.details()),
    }
    Ok("{}".to_owned())
}

fn find(context: &Context<'_>, id: &str) -> Option<Arc<Task>> {
    context.tasks.find(id, &context.holder())
}

/// Adds the tasks that `subscription` asks for, those that are there.
pub(in super::super) fn follow(context: &Context<'_>, mut subscription: Subscription) -> Result<Subscription, Failure> {
    if let Some(asked) = subscription.take_tasks().filter(|_| context.tasks.are_on()) {
        declared(context)?;
        let mut found: Vec<Arc<Task>> = Vec::new();
        for task in asked.iter().filter_map(|id| find(context, id)) {
            if !found.iter().any(|known| Arc::ptr_eq(known, &task)) {
                found.push(task);
            }
        }
        subscription.follow(Following::new(found));
    }
    Ok(subscription)
}
