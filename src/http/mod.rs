//! The route table and the order of the middleware; it reads as a table of contents and contains nothing that a
//! handler needs.

mod accept;
mod api;
mod authenticated;
mod caller;
mod connections;
mod error;
mod form;
mod mcp;
mod middleware;
mod oauth;
mod pages;
mod policy;
mod public;
mod quota;
mod state;
mod table;

use std::sync::Arc;

use actix_web::App as WebApp;
use actix_web::Resource;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};

use crate::app::App;
use crate::net::listener::Listeners;
pub(crate) use error::code;
use middleware::body::Limit;
use middleware::{head, limits, path, request_id};
use public::{description, fallback, health, metrics, well_known};
use table::Table;

/// Adds every route with its policy.
fn routes(config: &mut ServiceConfig) -> Vec<table::Row> {
    let mut table = Table::new(config);
    table
        .scope(&policy::MCP, "/mcp", |mcp| {
            mcp.route("", "GET, POST, DELETE", Limit::MaxBody, mcp_endpoint)
                .route("/connections/{connectionId}", "GET, POST, DELETE", Limit::MaxBody, mcp_endpoint)
                .route("/workspaces/{workspace}", "GET, POST, DELETE", Limit::MaxBody, mcp_endpoint)
        })
        .scope_of_results(&policy::API, "/api", |api| {
            let api = api
                .keyed("/query", "POST", Limit::MaxBody, |query| query.app_data(api::sql::QUERY).post(api::sql::run))
                .keyed("/batch", "POST", Limit::MaxBody, |batch| batch.app_data(api::sql::BATCH).post(api::sql::run))
                .keyed("/exec", "POST", Limit::MaxBody, |exec| exec.app_data(api::sql::EXEC).post(api::sql::run))
                .read("/connections", |list| list.get(api::metadata::connections))
                .read("/workspaces", |list| list.get(api::metadata::workspaces));
            api::metadata::routes(api)
        })
        .scope(&policy::OAUTH, "/oauth", |oauth| {
            oauth
                .route("/token", "POST", oauth::form::LIMIT, |token| token.post(oauth::token::token))
                .route("/revoke", "POST", oauth::form::LIMIT, |revoke| revoke.post(oauth::token::revoke))
                .route("/introspect", "POST", oauth::form::LIMIT, |introspect| {
                    introspect.post(oauth::token::introspect)
                })
                .route("/register", "POST", oauth::register::LIMIT, |clients| clients.post(oauth::register::register))
        });
    pages::routes(&mut table);
    table
        .scope(&policy::PUBLIC, "/.well-known", |documents| {
            documents
                .read("/jwks.json", |keys| keys.get(well_known::jwks))
                .read("/oauth-authorization-server", |server| server.get(well_known::authorization_server))
                .read("/oauth-protected-resource", |service| service.get(well_known::protected_service))
                .read("/oauth-protected-resource/mcp", |all| all.get(well_known::protected_mcp))
                .read("/oauth-protected-resource/mcp/workspaces/{workspace}", |workspace| {
                    workspace.get(well_known::protected_workspace)
                })
                .read("/oauth-protected-resource/mcp/connections/{connectionId}", |connection| {
                    connection.get(well_known::protected_connection)
                })
        })
        .route(&policy::PUBLIC, "/openapi.json", error::READ, Limit::None, |page| page.get(description::openapi))
        .route(&policy::PUBLIC, "/docs", error::READ, Limit::None, |page| page.get(description::docs))
        .route(&policy::HEALTH, "/healthz", error::READ, Limit::None, |page| page.get(health::alive))
        .route(&policy::HEALTH, "/readyz", error::READ, Limit::None, |page| page.get(health::ready))
        .route(&policy::METRICS, "/metrics", error::READ, Limit::None, |page| page.get(metrics::metrics));
    table.rows
}

/// Adds the methods of every MCP address.
fn mcp_endpoint(endpoint: Resource) -> Resource {
    endpoint
        .post(mcp::post::post)
        .get(mcp::streams::get)
        .delete(mcp::streams::delete)
        .default_service(web::to(mcp::post::other))
}

/// Serves `app` on `listeners` until its handle is told to stop.
///
/// # Errors
/// If a listener cannot be used.
pub(crate) fn serve(app: Arc<App>, listeners: Listeners) -> std::io::Result<Server> {
    let data = web::Data::from(Arc::clone(&app));
    let memory = web::Data::new(api::idempotency::IdempotencyStore::default());
    let streams = web::Data::new(mcp::open_streams::OpenStreams::default());
    connections::listening::serve(&app, listeners, move || {
        // On the thread of each worker, for each listener.
        data.attend("http");
        WebApp::new()
            .app_data(data.clone())
            .app_data(memory.clone())
            .app_data(streams.clone())
            // The last one wrapped sees a request first. What depends on the route is in `table`.
            .wrap(from_fn(limits::bound))
            .wrap(from_fn(head::fit))
            .wrap(from_fn(path::check))
            .wrap(from_fn(request_id::identify))
            .wrap(from_fn(connections::write_timeout::track_request))
            .configure(|config| drop(routes(config)))
            .default_service(web::to(fallback::no_such_path))
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::policy::{AuditPolicy, Authentication, Calls, OriginCheck, RoutePolicy};
    use super::*;
    use crate::observe::operation;

    fn described(policy: &RoutePolicy) -> String {
        let audit = match policy.audit {
            AuditPolicy::Before(event) => format!("audit {event:?}"),
            AuditPolicy::After(event) => format!("audit {event:?} at its end"),
            AuditPolicy::No(why) => format!("no audit ({why})"),
        };
        let origin = match policy.origin {
            OriginCheck::Allowed => "origin checked".to_owned(),
            OriginCheck::Any(why) => format!("any origin ({why})"),
        };
        let calls = match policy.calls {
            Calls::Counted => "max_calls".to_owned(),
            Calls::Uncounted(why) => format!("uncounted ({why})"),
        };
        let caller = match policy.caller {
            Authentication::Credential => "credential".to_owned(),
            Authentication::Session => "session".to_owned(),
            Authentication::Handler(how) => format!("authenticated by {how}"),
            Authentication::No(why) => format!("nobody authenticated ({why})"),
        };
        let mut words = vec![audit, origin, calls, caller];
        for (has, word) in [(policy.cors, "CORS"), (policy.head, "HEAD"), (policy.while_stopping, "while stopping")] {
            words.extend(has.then(|| word.to_owned()));
        }
        words.join(", ")
    }

    /// Lists the policy of each route, with the reasons of exemptions: a change must be made here too.
    #[test]
    fn each_route_says_what_it_has() {
        let mut rows = Vec::new();
        let _app = WebApp::new().configure(|config| rows = routes(config));
        let mut listed = String::new();
        let mut last = String::new();
        for row in &rows {
            let policy = described(row.policy);
            if policy != last {
                let _ = writeln!(listed, "{policy}:");
                last = policy;
            }
            let keyed = if row.keyed { ", Idempotency-Key" } else { "" };
            let _ = writeln!(listed, "  {} {}, {:?}{keyed}", row.methods, row.path, row.body);
        }
        insta::assert_snapshot!(listed);
        for row in &rows {
            let (path, policy) = (&row.path, row.policy);
            let begins = |prefix: &str| path.starts_with(prefix);
            let walled = begins("/mcp") || begins("/api/");
            let guarded = walled || begins("/oauth/");
            assert_eq!(guarded, matches!(policy.origin, OriginCheck::Allowed), "{path}");
            assert_eq!(walled, matches!(policy.calls, Calls::Counted), "{path}");
            let changes = row.methods.contains("POST");
            assert_eq!(changes, row.body.media().is_some(), "{path}");
            assert!(!changes || !matches!(policy.audit, AuditPolicy::No(_)), "{path} leaves no record");
            // Messages are recorded under their method or tool; public resources are not recorded.
            let is_told = !begins("/mcp") && !matches!(policy.caller, Authentication::No(_));
            assert!(!is_told || operation::classify(path) != operation::OTHER, "{path} has no word in the metrics");
        }
    }
}
