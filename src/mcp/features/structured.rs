//! Whether results are sent as `structuredContent` beside their text. The protocol wants both, and most clients show a
//! model one of them; some show it both, which then pays for every result twice.

use crate::mcp::context::Context;
use crate::tools::Structured;

/// Clients, by the name in their `clientInfo`, that are known to show a model both.
///
/// - `github-copilot-developer`, GitHub Copilot CLI: <https://github.com/github/copilot-cli/issues/4515>, 2026-08-17,
///   open; the name in <https://github.com/github/copilot-cli/issues/1268>, 2026-04-13.
const SHOW_BOTH: [&str; 1] = ["github-copilot-developer"];

/// The revision that knows neither `structuredContent` nor `outputSchema`.
const WITHOUT: &str = "2025-03-26";

/// Whether a result for this client has `structuredContent`.
pub(in crate::mcp) fn is_sent(context: &Context<'_>) -> bool {
    match context.filter.structured() {
        Structured::Always => true,
        Structured::Never => false,
        Structured::Auto => !context.request.client().is_some_and(|name| SHOW_BOTH.contains(&name)),
    }
}

/// Returns true if `tools/list` includes output schemas for this client.
pub(in crate::mcp) fn is_declared(context: &Context<'_>) -> bool {
    is_sent(context) && context.request.session().is_none_or(|session| session.version != WITHOUT)
}
