//! The route table and the order of the middleware; it reads as a table of contents and holds
//! nothing that a handler wants.

mod admission;
mod answer;
mod bodies;
mod body;
mod caller;
mod cors;
mod description;
mod ending;
mod error;
mod framing;
mod gate;
mod health;
mod load;
mod mcp;
mod media;
mod merged;
mod metadata;
mod metrics;
mod oauth;
mod oauth_form;
mod open_streams;
mod origin;
mod peer;
mod people;
mod repeats;
mod routing;
mod socket;
mod span;
mod sql;
mod sse;
mod streaming;
mod timing;
mod trail;
mod visit;
mod well_known;

use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{App as WebApp, HttpServer};

use crate::app::App;
use crate::edge::listener::{Listener, Listeners};
use crate::edge::tls::Certificates;

/// How long a connection without a request is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Seconds that bytes may take that are written and not sent when everything has ended.
const LAST_BYTES: u64 = 2;

fn routes(config: &mut ServiceConfig) {
    config
        .service(
            web::resource("/mcp/connections/{connectionId}")
                .post(mcp::post)
                .get(streaming::get)
                .delete(streaming::delete)
                .default_service(web::to(mcp::other)),
        )
        .service(
            web::scope("/api")
                .wrap(from_fn(repeats::once))
                .wrap(from_fn(body::uncoded))
                .wrap(from_fn(media::compress))
                .service(error::only(web::resource("/query").post(sql::query), "POST"))
                .service(error::only(web::resource("/batch").post(sql::batch), "POST"))
                .service(error::only(web::resource("/exec").post(sql::exec), "POST"))
                .service(error::only(web::resource("/connections").get(metadata::connections), error::READ))
                .configure(metadata::routes)
                .default_service(web::to(error::no_such_path)),
        )
        .service(error::only(web::resource("/oauth/token").post(oauth::token), "POST"))
        .service(error::only(web::resource("/oauth/revoke").post(oauth::revoke), "POST"))
        .service(error::only(web::resource("/oauth/introspect").post(oauth::introspect), "POST"))
        .configure(people::routes)
        .service(error::only(web::resource("/.well-known/jwks.json").get(well_known::jwks), error::READ))
        .service(error::only(
            web::resource("/.well-known/oauth-authorization-server").get(well_known::authorization_server),
            error::READ,
        ))
        .service(error::only(
            web::resource("/.well-known/oauth-protected-resource").get(well_known::protected_service),
            error::READ,
        ))
        .service(error::only(
            web::resource("/.well-known/oauth-protected-resource/mcp/connections/{connectionId}")
                .get(well_known::protected_connection),
            error::READ,
        ))
        .service(error::only(web::resource("/openapi.json").get(description::openapi), error::READ))
        .service(error::only(web::resource("/docs").get(description::docs), error::READ))
        .service(error::only(web::resource("/healthz").get(health::alive), error::READ))
        .service(error::only(web::resource("/metrics").get(metrics::metrics), error::READ))
        .service(error::only(web::resource("/readyz").get(health::ready), error::READ))
        .default_service(web::to(error::no_such_path));
}

/// Serves `app` on `listeners` until its handle is told to stop.
///
/// # Errors
/// When a listener cannot be used.
pub(crate) fn serve(app: Arc<App>, listeners: Listeners) -> std::io::Result<Server> {
    let tls = app.certificates.as_ref().map(Certificates::listener);
    let tls = tls.transpose().map_err(std::io::Error::other)?;
    let bounds = app.config().server.bounds.clone();
    let data = web::Data::from(app);
    let memory = web::Data::new(repeats::Memory::default());
    let streams = web::Data::new(open_streams::OpenStreams::default());
    let mut server = HttpServer::new(move || {
        WebApp::new()
            .app_data(data.clone())
            .app_data(memory.clone())
            .app_data(streams.clone())
            // The last one wrapped sees a request first.
            .wrap(from_fn(origin::check))
            .wrap(from_fn(trail::reserve))
            .wrap(from_fn(load::bound))
            .wrap(from_fn(gate::keep))
            .wrap(from_fn(framing::fit))
            .wrap(from_fn(cors::allow))
            .wrap(from_fn(ending::identify))
            .wrap(from_fn(socket::attend))
            .configure(routes)
    })
    .on_connect(move |stream, data| socket::attach(stream, data, bounds.write_timeout))
    .client_request_timeout(bounds.header_timeout)
    .tls_handshake_timeout(bounds.header_timeout)
    .max_connections(bounds.max_connections)
    .keep_alive(KEEP_ALIVE)
    // Calls have ended by then: this is for what is on its way to slow readers.
    .shutdown_timeout(LAST_BYTES)
    // An answer in several pieces must not wait for the client's delayed acknowledgement.
    .tcp_nodelay(true)
    .disable_signals();
    for listener in listeners.0 {
        server = match (listener, &tls) {
            (Listener::Tcp(listener), None) => server.listen(listener)?,
            (Listener::Tcp(listener), Some(tls)) => server.listen_rustls_0_23(listener, tls.clone())?,
            (Listener::Unix(listener), _) => server.listen_uds(listener)?,
        };
    }
    Ok(server.run())
}
