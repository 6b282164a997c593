//! Between the listeners and the routes: accepts and secures connections and gives them to the HTTP library, each
//! as a stream of our own that ends when it stalls. The library's own server does not support that.

use std::fmt::Debug;
use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol, Request, Response};
use actix_server::Server;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use actix_web::rt::net::{TcpStream, UnixStream};
use actix_web::rt::time::timeout;
use rustix::process::{Resource, getrlimit};

use super::connection::{KEEP_ALIVE, Stream};
use crate::app::App;
use crate::net::listener::{Listener, Listeners};
use crate::net::transport::{Transport, is_http2, prepare};
use portico_actors::auth::network;
use portico_actors::loopback;
use portico_actors::shares::{Share, ShareExceeded, ShareLimits, Shares};

/// How long a client may take to close a connection after us.
const CLOSING: Duration = Duration::from_secs(1);
/// Seconds that bytes may take that are written and not sent when everything has ended.
const LAST_BYTES: u64 = 2;

/// Descriptors of listeners, threads, the store, log and trail.
const OWN: usize = 128;

/// A connection as the library takes it: its stream, protocol and address.
type Accepted = (Stream, Protocol, Option<SocketAddr>);

/// Serves on `listeners` until the handle is told to stop. `routes` are made for each of them on each worker.
///
/// # Errors
/// If a listener cannot be used.
pub(in crate::http) fn serve<F, I, S, B>(app: &Arc<App>, listeners: Listeners, routes: F) -> io::Result<Server>
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
    let terms = Acceptor { app: Arc::clone(app), addresses: Shares::default() };
    let mut server = Server::build()
        .max_concurrent_connections(connections(app))
        // Calls have ended by then: this is for output to slow readers.
        .shutdown_timeout(LAST_BYTES)
        .disable_signals();
    let stopping = server.graceful_shutdown_signal();
    let patience = app.config().server.bounds.header_timeout;
    // The library's service of HTTP over our streams.
    let http = move || {
        let stopping = stopping.clone();
        HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(KEEP_ALIVE)
            // The deadline of a connection's first head, from its start; later ones are in `connection`.
            .client_request_timeout(patience)
            .client_disconnect_timeout(CLOSING)
            .on_connect_ext(|stream: &Stream, data| drop(data.insert(stream.connection())))
            // Where it was listened on a connection knows itself.
            .finish(map_config(routes().into_factory(), |()| AppConfig::default()))
    };
    for listener in listeners.0 {
        let (name, terms, http) = (listener.place(), terms.clone(), http.clone());
        server = match listener {
            Listener::Tcp(tcp) => {
                let address = tcp.local_addr()?;
                server.listen(name, tcp, move || {
                    let terms = terms.clone();
                    let accept = move |tcp| {
                        let terms = terms.clone();
                        // Boxed, so that its memory is not kept as long as the connection.
                        Box::pin(async move { terms.accept(tcp, address).await })
                    };
                    fn_service(accept).and_then(http())
                })?
            }
            Listener::Unix(unix) => server.listen_uds(name, unix, move || {
                let terms = terms.clone();
                let accept = move |unix: UnixStream| ready(Ok(terms.accept_local(unix)));
                fn_service(accept).and_then(http())
            })?,
        };
    }
    Ok(server.run())
}

/// The limits of new connections.
#[derive(Clone)]
struct Acceptor {
    app: Arc<App>,
    addresses: Shares<IpAddr>,
}

impl Acceptor {
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
        Ok((Stream::new(transport, &bounds, loopback::is_address(listener.ip()), place), protocol, peer))
    }

    /// Takes a connection of a Unix socket in.
    fn accept_local(&self, unix: UnixStream) -> Accepted {
        let bounds = &self.app.config().server.bounds;
        (Stream::new(Transport::Right(unix.into()), bounds, false, None), Protocol::Http1, None)
    }

    /// A place for a connection from `address`, where they are counted; `Err` where it has too many.
    fn place(&self, address: Option<IpAddr>) -> Result<Option<Share<IpAddr>>, ShareExceeded> {
        let config = self.app.config();
        let counted = address.filter(|address| !config.server.trusted_proxies.trust(*address));
        let most = ShareLimits { each: config.server.bounds.connections_per_address(), all: usize::MAX };
        counted.map(|address| self.addresses.take(network(address), 1, most)).transpose()
    }
}

/// Client connections that each worker may have: as many as `server.max_connections`, and no more than there are
/// descriptors for. Sources, the store and files have theirs in reserve, so that they come back also where clients have
/// taken the rest.
fn connections(app: &App) -> usize {
    let config = app.config();
    let wanted = config.server.bounds.max_connections;
    let Some(limit) = getrlimit(Resource::Nofile).current else { return wanted };
    let sources: usize = config.connections.iter().map(|connection| connection.pool).sum();
    let workers = available_parallelism().map_or(1, usize::from);
    let most = most(usize::try_from(limit).unwrap_or(usize::MAX), sources, workers);
    if most < wanted {
        // If the limit is more than a service ever needs, a warning would worry without reason.
        let level = if most * workers < FEW { log::Level::Warn } else { log::Level::Info };
        log::log!(
            level,
            "{most} client connections are taken on each of {workers} threads, not {wanted} (server.max_connections): \
             {limit} files may be open; raise LimitNOFILE= for more"
        );
    }
    most.min(wanted)
}

/// Client connections of the whole service that are fewer than one should hold.
const FEW: usize = 4096;

fn most(limit: usize, sources: usize, workers: usize) -> usize {
    (limit.saturating_sub(OWN + 2 * sources) / workers).max(1)
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn what_sources_need_is_left_to_them() {
        assert_eq!(most(1_024, 20, 2), 428);
        assert_eq!(most(100, 20, 2), 1, "it serves all the same");
    }
}
