//! How routes come into the table: each within the policy of its scope, with its methods and with the
//! bound of its body. A route without a policy cannot be written down.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{Resource, Scope};

use crate::http::api::{idempotency, media};
use crate::http::caller;
use crate::http::error::READ;
use crate::http::middleware::body::{self, Limit};
use crate::http::middleware::{audit_trail, drain, head, limits, origin};
use crate::http::policy::RoutePolicy;
use crate::http::public::fallback;

/// Puts the middleware around a scope, or around a route by itself. The last one sees a request first.
macro_rules! within {
    ($policy:expr, $service:expr) => {
        $service
            .app_data::<&'static RoutePolicy>($policy)
            .wrap(from_fn(caller::require_authentication))
            .wrap(from_fn(origin::check))
            .wrap(from_fn(audit_trail::reserve))
            .wrap(from_fn(limits::admit))
            .wrap(from_fn(body::buffer))
            .wrap(from_fn(drain::refuse_while_stopping))
            .wrap(from_fn(head::head_as_get))
            .wrap(from_fn(origin::cors))
    };
}

/// The route table while it is written.
pub(super) struct Table<'c> {
    config: &'c mut ServiceConfig,
    pub(super) rows: Vec<Row>,
}

/// One route.
#[cfg_attr(not(test), allow(dead_code, reason = "what is served is listed by its test"))]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) methods: &'static str,
    pub(super) body: Limit,
    /// Whether `Idempotency-Key` counts.
    pub(super) keyed: bool,
    pub(super) policy: &'static RoutePolicy,
}

/// The routes of one scope.
pub(super) struct RouteScope {
    policy: &'static RoutePolicy,
    prefix: &'static str,
    scope: Scope,
    rows: Vec<Row>,
}

impl<'c> Table<'c> {
    pub(super) fn new(config: &'c mut ServiceConfig) -> Self {
        Self { config, rows: Vec::new() }
    }

    /// A route by itself.
    pub(super) fn route(
        &mut self,
        policy: &'static RoutePolicy,
        path: &'static str,
        methods: &'static str,
        body: Limit,
        build: impl FnOnce(Resource) -> Resource,
    ) -> &mut Self {
        self.rows.push(Row { path: path.to_owned(), methods, body, keyed: false, policy });
        self.config.service(within!(policy, resource(path, methods, body, build).wrap(from_fn(body::check))));
        self
    }

    /// The routes below `prefix`.
    pub(super) fn scope(
        &mut self,
        policy: &'static RoutePolicy,
        prefix: &'static str,
        build: impl FnOnce(RouteScope) -> RouteScope,
    ) -> &mut Self {
        let scope = self.build(policy, prefix, build);
        self.config.service(within!(policy, scope));
        self
    }

    /// The routes below `prefix`, whose results are sent in several forms.
    pub(super) fn scope_of_results(
        &mut self,
        policy: &'static RoutePolicy,
        prefix: &'static str,
        build: impl FnOnce(RouteScope) -> RouteScope,
    ) -> &mut Self {
        let scope = self.build(policy, prefix, build);
        let scope = scope.wrap(from_fn(body::uncoded)).wrap(from_fn(media::compress));
        self.config.service(within!(policy, scope));
        self
    }

    fn build(
        &mut self,
        policy: &'static RoutePolicy,
        prefix: &'static str,
        build: impl FnOnce(RouteScope) -> RouteScope,
    ) -> Scope {
        let scope = web::scope(prefix).default_service(web::to(fallback::no_such_path));
        let part = build(RouteScope { policy, prefix, scope, rows: Vec::new() });
        self.rows.extend(part.rows);
        part.scope
    }
}

impl RouteScope {
    /// A route at `path` below the scope's own.
    pub(super) fn route(
        mut self,
        path: &'static str,
        methods: &'static str,
        body: Limit,
        build: impl FnOnce(Resource) -> Resource,
    ) -> Self {
        self.list(path, methods, body, false);
        self.scope = self.scope.service(resource(path, methods, body, build).wrap(from_fn(body::check)));
        self
    }

    /// A route that can only be read.
    pub(super) fn read(self, path: &'static str, build: impl FnOnce(Resource) -> Resource) -> Self {
        self.route(path, READ, Limit::None, build)
    }

    /// A route where a request with an `Idempotency-Key` is carried out once.
    pub(super) fn keyed(
        mut self,
        path: &'static str,
        methods: &'static str,
        body: Limit,
        build: impl FnOnce(Resource) -> Resource,
    ) -> Self {
        self.list(path, methods, body, true);
        let resource = resource(path, methods, body, build).wrap(from_fn(idempotency::once)).wrap(from_fn(body::check));
        self.scope = self.scope.service(resource);
        self
    }

    fn list(&mut self, path: &str, methods: &'static str, body: Limit, keyed: bool) {
        self.rows.push(Row { path: format!("{}{path}", self.prefix), methods, body, keyed, policy: self.policy });
    }
}

/// Any other method than `methods` is refused, unless `build` says something else of it.
fn resource(
    path: &'static str,
    methods: &'static str,
    body: Limit,
    build: impl FnOnce(Resource) -> Resource,
) -> Resource {
    build(fallback::only(web::resource(path), methods)).app_data(body)
}
