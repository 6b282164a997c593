//! What stands between the listeners and the routes: connections are accepted, secured and given to the HTTP library,
//! each as a stream of our own that ends when nothing comes of it. The library's own server has no place for one.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol, Request, Response};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use actix_web::rt::net::{TcpStream, UnixStream};
use actix_web::rt::time::timeout;

use super::connection::{KEEP_ALIVE, Stream};
use super::descriptors;
use crate::app::App;
use crate::edge::listener::{Listener, Listeners};
use crate::edge::transport::{Transport, is_http2, prepare};
use portico_actors::shares::{Most, Share, Shares, Short};

/// How long a client may take to close a connection after us.
const CLOSING: Duration = Duration::from_secs(1);
/// Seconds that bytes may take that are written and not sent when everything has ended.
const LAST_BYTES: u64 = 2;

/// A connection as the library takes it: by which protocol, and from where.
type Accepted = (Stream, Protocol, Option<SocketAddr>);

/// Serves on `listeners` until the handle is told to stop. `routes` are made for each of them on each worker.
///
/// # Errors
/// When a listener cannot be used.
pub(super) fn serve<F, I, S, B>(app: &Arc<App>, listeners: Listeners, routes: F) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig, Error = Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let terms = Terms { app: Arc::clone(app), addresses: Shares::default() };
    let mut server = Server::build()
        .max_concurrent_connections(descriptors::connections(app))
        // Calls have ended by then: this is for what is on its way to slow readers.
        .shutdown_timeout(LAST_BYTES)
        .disable_signals();
    let stopping = server.graceful_shutdown_signal();
    let patience = app.config().server.bounds.header_timeout;
    let http = move || http(routes().into_factory(), patience, &stopping);
    for listener in listeners.0 {
        let (name, terms, http) = (listener.place(), terms.clone(), http.clone());
        server = match listener {
            Listener::Tcp(tcp) => {
                let address = tcp.local_addr()?;
                server.listen(name, tcp, move || {
                    let terms = terms.clone();
                    let accept = move |tcp| {
                        let terms = terms.clone();
                        // In a box of its own: what it takes of memory is not kept as long as the connection.
                        Box::pin(async move { terms.accept(tcp, address).await })
                    };
                    fn_service(accept).and_then(http())
                })?
            }
            Listener::Unix(unix) => server.listen_uds(name, unix, move || {
                let terms = terms.clone();
                let accept = move |unix: UnixStream| {
                    let bounds = &terms.app.config().server.bounds;
                    let stream = Stream::new(Transport::Right(unix.into()), bounds, false, None);
                    async move { Ok((stream, Protocol::Http1, None)) }
                };
                fn_service(accept).and_then(http())
            })?,
        };
    }
    Ok(server.run())
}

/// The library's service of HTTP over our streams.
fn http<S, B>(
    routes: S,
    header_timeout: Duration,
    stopping: &GracefulShutdownSignal,
) -> impl ServiceFactory<Accepted, Config = (), Response = (), Error = DispatchError, InitError = ()> + use<S, B>
where
    S: ServiceFactory<Request, Config = AppConfig, Error = Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Service: 'static,
    <S::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let stopping = stopping.clone();
    HttpService::build()
        .graceful_shutdown_signal(move || {
            let stopping = stopping.clone();
            async move { stopping.notified().await }
        })
        .keep_alive(KEEP_ALIVE)
        // That of a connection's first head, from its begin; those behind it are in `connection`.
        .client_request_timeout(header_timeout)
        .client_disconnect_timeout(CLOSING)
        .on_connect_ext(|stream: &Stream, data| drop(data.insert(stream.connection())))
        // Where it was listened on a connection knows itself.
        .finish(map_config(routes, |()| AppConfig::default()))
}

/// What a new connection has to keep to.
#[derive(Clone)]
struct Terms {
    app: Arc<App>,
    addresses: Shares<IpAddr>,
}

impl Terms {
    /// Takes a connection of TCP in, and has it secured where that is configured. Its place is taken before.
    async fn accept(&self, tcp: TcpStream, listener: SocketAddr) -> Result<Accepted, DispatchError> {
        let peer = tcp.peer_addr().ok();
        let place = self.place(peer.map(|peer| peer.ip())).map_err(|_| {
            self.app.metrics.traffic.refused.inc();
            io::Error::from(io::ErrorKind::ConnectionRefused)
        })?;
        let bounds = self.app.config().server.bounds.clone();
        prepare(&tcp, bounds.write_timeout);
        let transport = match &self.app.certificates {
            None => Transport::Right(tcp.into()),
            Some(tls) => timeout(bounds.header_timeout, tls.accept(tcp))
                .await
                .map_err(|_| DispatchError::SlowRequestTimeout)??,
        };
        let protocol = if is_http2(&transport) { Protocol::Http2 } else { Protocol::Http1 };
        Ok((Stream::new(transport, &bounds, listener.ip().to_canonical().is_loopback(), place), protocol, peer))
    }

    /// A place for a connection from `address`, where they are counted; `Err` where it has too many.
    fn place(&self, address: Option<IpAddr>) -> Result<Option<Share<IpAddr>>, Short> {
        let config = self.app.config();
        let counted = address.filter(|address| !config.server.trusted_proxies.trust(*address));
        let most = Most { each: config.server.bounds.connections_per_address(), all: usize::MAX };
        counted.map(|address| self.addresses.take(address.to_canonical(), 1, most)).transpose()
    }
}
