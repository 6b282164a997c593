//! The methods, one row each, with all their differences.

use futures_util::future::LocalBoxFuture;

use crate::mcp::call::{MethodCall, MethodResult, Params};
use crate::mcp::context::Summary;
use crate::mcp::era::Era;
use crate::mcp::extensions::tasks;
use crate::mcp::features::RequestResult;
use crate::mcp::handlers as on;
use crate::mcp::versions::{session, stateless};

/// One method.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// The era that has it; `None` for both.
    era: Option<Era>,
    /// The parameter that names its subject, which a stateless request says in `Mcp-Name` too.
    pub(super) subject: Option<&'static str>,
    /// Whether a client may keep the result: it depends on the source's catalogue alone.
    pub(super) cacheable: bool,
    /// Whether the result depends on the source's catalogue, so that the source has to be read first.
    pub(super) needs_source: bool,
    pub(super) handler: Handler,
}

/// The function that answers a method.
pub(super) enum Handler {
    /// A function that answers at once.
    Sync(fn(&MethodCall<'_>, Params) -> RequestResult<MethodResult>),
    /// A function that may have to ask the source.
    Async(for<'a> fn(&'a MethodCall<'a>, Params, &'a mut Summary) -> LocalBoxFuture<'a, RequestResult<MethodResult>>),
}

/// One of both eras, without a subject, not to be kept.
const fn method(name: &'static str, handler: Handler) -> Method {
    Method { name, era: None, subject: None, cacheable: false, needs_source: false, handler }
}

impl Method {
    const fn in_era(self, era: Era) -> Self {
        Self { era: Some(era), ..self }
    }

    const fn named_by(self, parameter: &'static str) -> Self {
        Self { subject: Some(parameter), ..self }
    }

    const fn cacheable(self) -> Self {
        Self { cacheable: true, ..self }
    }

    const fn of_source(self) -> Self {
        Self { needs_source: true, ..self }
    }
}

use Handler::{Async, Sync};

/// Every method.
#[rustfmt::skip]
static METHODS: [Method; 18] = [
    method("server/discover", Sync(|call, _| Ok(stateless::discover(call)))).in_era(Era::Stateless).cacheable(),
    method("subscriptions/listen", Sync(on::listen)).in_era(Era::Stateless),
    method("initialize", Sync(session::initialize)).in_era(Era::Session),
    method("ping", Sync(|_, _| Ok(MethodResult::nothing()))).in_era(Era::Session),
    method("logging/setLevel", Sync(session::set_level)).in_era(Era::Session),
    method("tools/list", Sync(on::list_tools)).cacheable().of_source(),
    method("tools/call", Async(|call, params, summary| Box::pin(on::call_tool(call, params, summary))))
        .named_by("name").of_source(),
    method("resources/list", Async(|call, params, summary| Box::pin(on::list_resources(call, params, summary))))
        .cacheable(),
    method("resources/templates/list", Sync(on::list_templates)).cacheable(),
    method("resources/read", Async(|call, params, summary| Box::pin(on::read_resource(call, params, summary))))
        .named_by("uri").cacheable(),
    method("resources/subscribe", Sync(session::subscribe)).in_era(Era::Session),
    method("resources/unsubscribe", Sync(session::unsubscribe)).in_era(Era::Session),
    method("prompts/list", Sync(on::list_prompts)).cacheable(),
    method("prompts/get", Async(|call, params, _| Box::pin(on::get_prompt(call, params)))).named_by("name"),
    method("completion/complete", Async(|call, params, summary| Box::pin(on::complete(call, params, summary)))),
    method("tasks/get", Sync(tasks::get)).in_era(Era::Stateless).named_by(tasks::TASK_ID),
    method("tasks/update", Sync(tasks::update)).in_era(Era::Stateless).named_by(tasks::TASK_ID),
    method("tasks/cancel", Sync(tasks::cancel)).in_era(Era::Stateless).named_by(tasks::TASK_ID),
];

/// The parameter that names the subject of the stateless method `name`, which the header `Mcp-Name` repeats.
pub fn subject_of(name: &str) -> Option<&'static str> {
    find(name, Era::Stateless)?.subject
}

/// The method `name` of `era`.
pub(super) fn find(name: &str, era: Era) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name && method.era.is_none_or(|of| of == era))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::operation;

    #[test]
    fn each_method_has_its_word_in_the_metrics() {
        // The operation of a tool is a word of its own.
        for method in METHODS.iter().filter(|method| method.name != "tools/call") {
            assert_eq!(operation::classify(method.name), method.name);
        }
    }
}
