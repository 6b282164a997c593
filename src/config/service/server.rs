//! `[server]`: the addresses, the public URL, the limits, and the shutdown of the service.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use portico_actors::budget;
use portico_actors::loopback;
use serde_json::Value;
use url::Url;

use super::tls::{CertificateFiles, Tls};
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Switch, Text, Texts};
use crate::config::declared::setting::{
    SWITCH, TEXT, TEXT_OR_TEXTS, TEXTS, group, number, optional_table, table, word, words,
};
use crate::config::declared::table::{FromJson, Table, settings};

const MIB: u64 = 1024 * 1024;

settings! {
    /// Where the service listens, and how much it serves.
    pub struct Server {
        /// Where to listen: an address, `unix:/run/portico/portico.sock`, or a list of them. Use `[server.tls]`,
        /// or a proxy with TLS in front, for anything but loopback.
        listen: Vec<Listen> = TEXT_OR_TEXTS.or(Text("127.0.0.1:8787")).checked(
            |text| Listen::parse(text).is_some(),
            "{} is not an address",
            "write it as \"127.0.0.1:8787\" or \"unix:/run/portico/portico.sock\"",
        ),
        /// The origin that clients see: the issuer of tokens and the stem of every URL. Left out, it is localhost
        /// with the port of the first address.
        public_url: String = TEXT.shown("\"http://localhost:8787\"").checked(
            |text| origin(text).is_some(),
            "{} is not an origin",
            "write scheme, host and port, as in \"https://data.example.org\"",
        ),
        /// Further origins whose web pages may call, with a token and without cookies (CORS). Loopback ones and
        /// `public_url` always may.
        allowed_origins: Vec<String> = TEXTS.or(Texts(&[])).live().checked(
            |text| origin(text).is_some(),
            "{} is not an origin",
            "write scheme, host and port, as in \"https://app.example.org\"",
        ),
        /// Hosts that requests to a loopback listener may name, besides loopback ones and that of `public_url`: else a
        /// page of any site could have its own name lead here (DNS rebinding). Requests that name another one are
        /// answered with 421.
        allowed_hosts: Vec<String> = TEXTS.or(Texts(&[])).live().checked(
            is_host,
            "{} is not a host",
            "write the name alone, as in \"data.example.org\"",
        ),
        /// Bytes of a request's body at most.
        max_body: usize = number(1024..=1 << 30).or(Number(4 * MIB)).live(),
        /// Streams that one principal may have open at most (MCP), to listen for changes or to read on in an answer.
        /// One more is told to come back.
        max_streams: usize = number(1..=1_000_000).or(Number(1000)).live(),
        /// How much clients may take of the process.
        bounds: Bounds = group::<Bounds>(),
        /// Who may read /metrics: "admin" (callers with the scope admin on every connection), "open" (anybody), or
        /// "off" (nobody).
        metrics: MetricsAccess = word::<MetricsAccess>().or(Text("admin")).live(),
        /// Whether answers tell authenticated callers where their time went (Server-Timing). It shows how busy a
        /// connection is.
        server_timing: bool = SWITCH.or(Switch(false)).live(),
        /// Whether results of the SQL API are compressed for clients that accept gzip or Zstandard. Some clients ask
        /// for gzip through their HTTP library and read the socket raw.
        compression: bool = SWITCH.or(Switch(false)).live(),
        /// Seconds that running calls may go on after the signal to stop; then they are cancelled at the source.
        shutdown_timeout: Duration = number(0..=3600).or(Number(30)).live(),
        /// Proxies that tell where a request comes from: networks, addresses, and "unix" for whoever reaches the Unix
        /// socket. Without this no header is believed.
        trusted_proxies: Proxies = TEXTS.or(Texts(&[])).live().checked(
            |text| text == "unix" || network(text).is_some(),
            "{} is not a network",
            "write a network as \"10.0.0.0/8\", an address, or \"unix\" for whoever reaches the Unix socket",
        ),
        /// The one header by which they tell it: "x-forwarded-for" or "forwarded" (RFC 7239). The other one is ignored:
        /// it is the client's own.
        forwarded_header: ForwardedHeader = word::<ForwardedHeader>().or(Text("x-forwarded-for")).live(),
        /// Tasks: a call of an MCP client that knows them (io.modelcontextprotocol/tasks) and that takes long is
        /// answered with a task, goes on without its client, and has its result fetched later.
        tasks: TaskLimits = table::<TaskLimits>(),
        /// TLS on every TCP listener, with HTTP/2. Renewed files are taken over by a reload; whether there is TLS, or
        /// `client_ca`, takes a restart.
        tls: Option<Tls> = optional_table::<CertificateFiles>(),
    }
}

settings! {
    /// How much is served at once, how large a request may be, and how long a slow client is waited for.
    pub struct Bounds {
        /// Bytes of a request's head at most.
        max_header: usize = number(1024..=128 * 1024).or(Number(32 * 1024)),
        /// Requests that are worked on at once; further ones are told to come back. Streams that listen do not count.
        max_calls: usize = number(1..=1_000_000).or(Number(1000)),
        /// How many of these may be one principal's, over all its tokens and addresses. Left out, it is three quarters.
        max_calls_per_principal: Option<usize> = number(1..=1_000_000).example("750"),
        /// Bytes of the bodies of requests that are received or worked on, all together; one principal may have half
        /// of it.
        max_bodies: usize = number(MIB..=1 << 40).or(Number(256 * MIB)),
        /// Bytes of the answers of tools that are prepared or on their way (MCP), all together; one principal may have
        /// half of it.
        max_answers: usize = number(MIB..=1 << 40).or(Number(512 * MIB)),
        /// Client connections that are open at once on each worker thread; further ones wait to be accepted.
        max_connections: usize = number(1..=1_000_000).or(Number(25_600)),
        /// How many of them may be open from one address (or one IPv6 network of 64 bits), on all threads together;
        /// trusted proxies have no such bound.
        /// Left out, it is a quarter of `max_connections`. A connection beyond it is closed.
        max_connections_per_address: Option<usize> = number(1..=1_000_000).example("6400"),
        /// Seconds that a client may take to send a head (each one of a connection, and its TLS handshake).
        header_timeout: Duration = number(1..=300).or(Number(10)),
        /// Seconds that a client may take to send a body.
        body_timeout: Duration = number(1..=3600).or(Number(30)),
        /// Seconds that an answer waits for a client that reads none of it; then the connection ends, and with it what
        /// runs for it.
        write_timeout: Duration = number(1..=3600).or(Number(30)),
        /// Bytes that the large rows of all connections take of memory at one time, on their way from a source into an
        /// answer: a row of more than 1 MiB waits for room within its statement's timeout, and one that is larger than
        /// all of it is refused.
        max_decoding: usize = number(budget::FREE as u64..=u32::MAX as u64).or(Number(256 * MIB)),
    }
}

settings! {
    /// When a call becomes a task, how many there may be, and what is kept of them.
    #[derive(PartialEq)]
    pub struct TaskLimits {
        /// Seconds after which a call that is not done becomes a task.
        after: Duration = number(0..=3600).or(Number(5)),
        /// Seconds that its result is kept from its end on, in memory.
        keep: Duration = number(1..=86_400).or(Number(300)),
        /// Tasks at once of one principal, with those whose results are kept; a call beyond that is answered when it is
        /// done. 0 switches tasks off.
        per_principal: usize = number(0..=1000).or(Number(32)),
        /// The same on one connection.
        per_connection: usize = number(1..=1000).or(Number(256)),
        /// Bytes of all results that are kept; when one principal's take a quarter, its calls become no tasks for a
        /// while. A result that does not fit is lost, and its task says so: leave room for some times `max_bytes`.
        kept_bytes: usize = number(1024..=1 << 40).or(Number(64 * MIB)),
    }
}

/// One place to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket, always without TLS.
    Unix(PathBuf),
}

impl Listen {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("unix:") {
            Some(path) => (!path.is_empty()).then(|| Self::Unix(path.into())),
            None => text.parse().ok().map(Self::Tcp),
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl FromJson for Vec<Listen> {
    fn from_json(value: Option<Value>) -> Self {
        Vec::<String>::from_json(value).iter().filter_map(|text| Listen::parse(text)).collect()
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Proxies that tell truly where a request comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Networks that they are in.
    pub networks: Vec<IpNet>,
    /// Whether whoever reaches our Unix socket is one.
    pub unix: bool,
    /// The one header that they write. Others are their clients' own.
    pub header: ForwardedHeader,
}

impl FromJson for Proxies {
    fn from_json(value: Option<Value>) -> Self {
        let texts = Vec::<String>::from_json(value);
        let networks = texts.iter().filter_map(|text| network(text)).collect();
        Self { networks, unix: texts.iter().any(|text| text == "unix"), ..Self::default() }
    }
}

/// The header by which a proxy tells where a request comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Anybody who reaches the listener. The names of the connections are among what is told.
    Open,
    /// Callers with the scope `admin`.
    Admin,
    /// Nobody: there is nothing at this path.
    Off,
}

words! {
    ForwardedHeader { "x-forwarded-for" => Self::XForwardedFor, "forwarded" => Self::Forwarded }
    MetricsAccess { "open" => Self::Open, "admin" => Self::Admin, "off" => Self::Off }
}

impl Server {
    /// Whether it listens on loopback addresses alone.
    pub fn is_loopback(&self) -> bool {
        self.listen.iter().all(|listen| listen.address().is_some_and(|address| loopback::is_address(address.ip())))
    }

    /// The first TCP address.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.iter().find_map(Listen::address)
    }
}

impl Bounds {
    /// Requests of one principal that are worked on at once, unless configured three quarters of all.
    pub fn calls_per_principal(&self) -> usize {
        self.max_calls_per_principal.unwrap_or(self.max_calls - self.max_calls / 4)
    }

    /// Returns the maximal number of client connections of one address; by default a quarter of a worker's.
    pub fn connections_per_address(&self) -> usize {
        self.max_connections_per_address.unwrap_or(self.max_connections.div_ceil(4))
    }
}

/// Reads the table. Relative paths of sockets start at `directory`.
pub(in crate::config) fn read(root: &Section<'_>, directory: &Path) -> Server {
    let section = root.table("server");
    let mut server = Server::read(&section);
    if Vec::<String>::from_json(section.json("listen")).is_empty() {
        let remedy = "name an address, or leave this key out for the usual one";
        section.problem("listen", "the service would listen nowhere", remedy);
    }
    for listen in &mut server.listen {
        if let Listen::Unix(path) = listen {
            *path = directory.join(&*path);
        }
    }
    if !section.has("public_url") {
        let scheme = if server.tls.is_some() { "https" } else { "http" };
        let port = server.address().map(|address| format!(":{}", address.port()));
        server.public_url = format!("{scheme}://localhost{}", port.unwrap_or_default());
    }
    for address in server.allowed_origins.iter_mut().chain([&mut server.public_url]) {
        *address = origin(address).unwrap_or_default();
    }
    server.trusted_proxies.header = server.forwarded_header;
    server
}

fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Whether `text` is a host without a port.
fn is_host(text: &str) -> bool {
    let is_address = text.starts_with('[') && text.ends_with(']');
    !text.is_empty()
        && text.is_ascii()
        && !text.contains(['/', '?', '#', '@', ' ', '*'])
        && (is_address || !text.contains(':'))
}

/// Returns `http(s)://host[:port]` as clients write it (WHATWG URL, serialization of an origin); `None` if `text` is
/// anything else, or more.
fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text.trim_end_matches('/')).ok()?;
    let is_alone = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_open = url.username().is_empty() && url.password().is_none();
    (matches!(url.scheme(), "http" | "https") && is_alone && is_open).then(|| url.origin().ascii_serialization())
}
