//! The operation of a request, in one word of a closed set, which clients cannot extend.

use crate::tools::OPERATIONS;

/// A request for an access token.
pub(super) const TOKEN: &str = "token";
/// The word for all others: unknown paths, methods and tools.
pub(crate) const OTHER: &str = "other";

/// Paths of the SQL API, of identity and of people's pages.
const PATHS: [(&str, &str); 26] = [
    ("/", "front"),
    ("/api/query", "query"),
    ("/api/batch", "batch"),
    ("/api/exec", "exec"),
    ("/api/connections", "connections"),
    ("/api/workspaces", "workspaces"),
    ("/oauth/token", TOKEN),
    ("/oauth/revoke", "revoke"),
    ("/oauth/introspect", "introspect"),
    ("/oauth/register", "register"),
    ("/authorize", "authorize"),
    ("/authorize/decision", "authorize"),
    ("/sign-in", "sign-in"),
    ("/sign-out", "sign-out"),
    ("/account", "account"),
    ("/account/tokens", "account"),
    ("/account/tokens/revoke", "account"),
    ("/account/applications/revoke", "account"),
    ("/users", "users"),
    ("/users/accounts", "users"),
    ("/users/accounts/change", "users"),
    ("/users/people", "users"),
    ("/users/people/change", "users"),
    ("/users/applications", "users"),
    ("/users/applications/revoke", "users"),
    ("/metrics", "metrics"),
];

/// The metadata endpoints.
const METADATA: [&str; 10] = [
    "/api/catalogs",
    "/api/schemas",
    "/api/tables",
    "/api/columns",
    "/api/primaryKeys",
    "/api/importedKeys",
    "/api/exportedKeys",
    "/api/indexes",
    "/api/procedures",
    "/api/procedureParameters",
];

/// MCP methods and streams that run nothing at the source.
const PROTOCOL: [&str; 24] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "logging/setLevel",
    "subscriptions/listen",
    "notifications/initialized",
    "notifications/cancelled",
    "batch",
    "listen",
    "resume",
    "end of session",
    "response",
];

/// The suffix of the path in the log for a request whose changes are rolled back.
const DRY_RUN: &str = "?dryRun";

/// Returns the word for a call's path, method or tool.
pub(crate) fn classify(what: &str) -> &'static str {
    if let Some((operation, _)) = OPERATIONS.iter().find(|(operation, _)| *operation == what) {
        return operation;
    }
    let what = what.strip_suffix(DRY_RUN).unwrap_or(what);
    if let Some((_, operation)) = PATHS.iter().find(|(path, _)| *path == what) {
        return operation;
    }
    if METADATA.contains(&what) {
        return "metadata";
    }
    PROTOCOL.iter().find(|method| **method == what).copied().unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_one_word() {
        assert_eq!(
            (classify("/api/query"), classify("execute_select"), classify("/api/tables")),
            ("query", "execute_select", "metadata")
        );
        assert_eq!((classify("/api/query?dryRun"), classify("/users/people/change")), ("query", "users"));
        assert_eq!(classify("tools/list"), "tools/list");
        for unknown in ["", "execute_selec", "/mcp/connections/x", "/api/tables2", "tools/list\n"] {
            assert_eq!(classify(unknown), OTHER, "{unknown:?}");
        }
    }
}
