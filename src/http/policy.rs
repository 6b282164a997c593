//! The policies of the route table: what is done before and after the handlers of a scope. Each middleware reads
//! its policy from the matched scope: none of them looks at a path, which the router might read in another way.

use actix_web::HttpRequest;

use crate::audit::AuditEvent;

/// The policy of a scope, or of a single route. Each exemption carries its reason.
#[derive(Debug)]
pub(super) struct RoutePolicy {
    /// The form of refusals.
    pub(super) form: ErrorFormat,
    /// What is recorded in the audit trail.
    pub(super) audit: AuditPolicy,
    /// Which pages may call.
    pub(super) origin: OriginCheck,
    /// Whether pages of other origins may call and read (Fetch, CORS).
    pub(super) cors: bool,
    /// Whether requests count against `server.max_calls`.
    pub(super) calls: Calls,
    /// How callers are authenticated.
    pub(super) caller: Authentication,
    /// Whether HEAD is answered as GET: not for a GET without an end, whose head alone says nothing.
    pub(super) head: bool,
    /// Whether requests are taken while the service stops.
    pub(super) while_stopping: bool,
}

/// The form of refusals that come before a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorFormat {
    /// The error object of the SQL API.
    Api,
    /// A JSON-RPC error object.
    Mcp,
    /// As on the SQL API; an error in a form is an OAuth error.
    OAuth,
}

/// What is recorded in the audit trail.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "the route table's test lists why"))]
pub(super) enum AuditPolicy {
    /// A place is reserved for an authenticated caller, before the request is processed.
    Before(AuditEvent),
    /// A place is reserved when the request has ended: until then the caller is unknown, and strangers must not
    /// block the places of others by sending their body slowly.
    After(AuditEvent),
    /// Nothing is recorded.
    No(&'static str),
}

/// Which pages may call, by the `Origin` that browsers send.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "the route table's test lists why"))]
pub(super) enum OriginCheck {
    /// Pages of allowed origins.
    Allowed,
    /// Pages of every origin.
    Any(&'static str),
}

/// Whether requests count against `server.max_calls`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "the route table's test lists why"))]
pub(super) enum Calls {
    /// Requests count.
    Counted,
    /// Requests do not count.
    Uncounted(&'static str),
}

/// How callers are authenticated.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "the route table's test lists why"))]
pub(super) enum Authentication {
    /// By the header `Authorization`. An answer without it is withheld.
    Credential,
    /// By the session of a person's browser. An answer without it is withheld.
    Session,
    /// By the handler.
    Handler(&'static str),
    /// Callers are not authenticated.
    No(&'static str),
}

impl RoutePolicy {
    /// The policy of the scope that `request` was matched to.
    pub(super) fn from_request(request: &HttpRequest) -> Option<&'static Self> {
        request.app_data::<&'static Self>().copied()
    }
}

/// The SQL API.
pub(super) static API: RoutePolicy = BASE;
const BASE: RoutePolicy = RoutePolicy {
    form: ErrorFormat::Api,
    audit: AuditPolicy::Before(AuditEvent::Call),
    origin: OriginCheck::Allowed,
    cors: true,
    calls: Calls::Counted,
    caller: Authentication::Credential,
    head: true,
    while_stopping: false,
};

/// The MCP endpoints.
pub(super) static MCP: RoutePolicy = RoutePolicy { form: ErrorFormat::Mcp, head: false, ..BASE };

/// Tokens and clients.
pub(super) static OAUTH: RoutePolicy = RoutePolicy {
    form: ErrorFormat::OAuth,
    audit: AuditPolicy::After(AuditEvent::Token),
    calls: Calls::Uncounted("a small form, and attempts are limited"),
    caller: Authentication::Handler("the client's secret, code or token"),
    ..BASE
};

/// Where people arrive.
pub(super) static FRONT: RoutePolicy = RoutePolicy {
    caller: Authentication::Handler("the session, where there is one; the rest everybody may read"),
    ..PAGE
};

/// Where people consent to a client's request.
pub(super) static AUTHORIZE: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::After(AuditEvent::Token),
    caller: Authentication::Handler("the session, where there is one; else it is begun here"),
    ..PAGE
};

/// Where people sign in and out.
pub(super) static SIGN_IN: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::After(AuditEvent::Call),
    caller: Authentication::Handler("the password that is shown here, or the session that is ended"),
    ..PAGE
};

/// What people change on their pages. A change has its own record, which does not wait for a place.
pub(super) static CHANGES: RoutePolicy =
    RoutePolicy { audit: AuditPolicy::After(AuditEvent::Call), caller: Authentication::Session, ..PAGE };

/// Pages that only show something.
pub(super) static PAGES: RoutePolicy = PAGE;
const PAGE: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::No("nothing is changed"),
    origin: OriginCheck::Any("forms carry a token of their session, and its cookie stays with our own pages"),
    cors: false,
    calls: Calls::Uncounted("no source is asked"),
    caller: Authentication::Session,
    ..BASE
};

/// Public resources.
pub(super) static PUBLIC: RoutePolicy = OPEN;
const OPEN: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::No("everybody may read it"),
    origin: OriginCheck::Any("everybody may read it"),
    calls: Calls::Uncounted("no source is asked"),
    caller: Authentication::No("everybody may read it"),
    cors: false,
    ..BASE
};

/// The health endpoints, for monitoring.
pub(super) static HEALTH: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::No("machines ask every few seconds"),
    caller: Authentication::No("machines ask without one"),
    while_stopping: true,
    ..OPEN
};

/// The metrics.
pub(super) static METRICS: RoutePolicy = RoutePolicy {
    audit: AuditPolicy::No("machines ask every few seconds"),
    caller: Authentication::Handler("the credential of an administrator, as server.metrics wants it"),
    while_stopping: true,
    ..OPEN
};
