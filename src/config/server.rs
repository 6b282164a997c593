//! `[server]`: where the service listens, as whom, and how it ends.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;

use super::bounds::{self, Bounds};
use super::problem::Problem;
use super::section::Section;
use super::seeing::{self, MetricsAccess};
use super::tasks;
use super::tls::{self, Tls};
use crate::mcp::extensions::tasks::TaskLimits;

/// Where and how the service listens.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where to listen; never empty.
    pub listen: Vec<Listen>,
    /// The origin that clients see: the issuer of tokens and the stem of every URL; no trailing slash.
    pub public_url: String,
    /// Origins, besides `public_url` and loopback ones on our own port, whose pages may call us.
    pub allowed_origins: Vec<String>,
    /// Hosts, besides that of `public_url` and loopback ones, that requests to a loopback listener may name.
    pub allowed_hosts: Vec<String>,
    /// Bytes of a request's body at most.
    pub max_body: usize,
    /// Streams that one principal may have open to listen, at most.
    pub max_streams: usize,
    /// How long running calls may go on after the signal to stop.
    pub shutdown_timeout: Duration,
    /// Whose word on a client's address is taken.
    pub trusted_proxies: Proxies,
    /// TLS on every TCP listener.
    pub tls: Option<Tls>,
    /// How much clients may take of the process.
    pub bounds: Bounds,
    /// Long calls of MCP clients that know tasks.
    pub tasks: TaskLimits,
    /// Who may read `/metrics`.
    pub metrics: MetricsAccess,
    /// Whether answers tell authenticated callers where their time went.
    pub server_timing: bool,
    /// Whether results are compressed for clients that accept it.
    pub compression: bool,
}

/// One place to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket, always without TLS.
    Unix(PathBuf),
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

/// The header by which a proxy tells where a request comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ForwardedHeader {
    const ALL: [Self; 2] = [Self::XForwardedFor, Self::Forwarded];

    /// Its name in requests, and in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
}

impl Server {
    /// The port on which the service listens unless told otherwise.
    pub const DEFAULT_LISTEN: &str = "127.0.0.1:8787";
    /// Bytes of a request's body at most, unless configured.
    pub const DEFAULT_MAX_BODY: usize = 4 * 1024 * 1024;
    /// Streams that one principal may have open to listen, unless configured.
    pub const DEFAULT_MAX_STREAMS: usize = 1_000;
    /// How long running calls may go on after the signal to stop, unless configured.
    pub const DEFAULT_SHUTDOWN: Duration = Duration::from_secs(30);

    /// The usual settings at `listen`.
    pub fn at(listen: SocketAddr, public_url: String) -> Self {
        Self {
            listen: vec![Listen::Tcp(listen)],
            public_url,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            max_body: Self::DEFAULT_MAX_BODY,
            max_streams: Self::DEFAULT_MAX_STREAMS,
            shutdown_timeout: Self::DEFAULT_SHUTDOWN,
            trusted_proxies: Proxies::default(),
            tls: None,
            bounds: Bounds::default(),
            tasks: TaskLimits::default(),
            metrics: MetricsAccess::Admin,
            server_timing: false,
            compression: false,
        }
    }

    /// The first TCP address.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.iter().find_map(|listen| match listen {
            Listen::Tcp(address) => Some(*address),
            Listen::Unix(_) => None,
        })
    }
}

/// Reads the table. Relative paths start at `base`, those of sockets at `directory`.
pub(super) fn read(root: &mut Section<'_>, base: &Path, directory: &Path, problems: &mut Vec<Problem>) -> Server {
    let mut section = root.section("server", problems);
    let listen = section.string_or_strings("listen", problems);
    let listen = listen.unwrap_or_else(|| vec![Server::DEFAULT_LISTEN.to_owned()]);
    if listen.is_empty() {
        let remedy = "name an address, or leave this key out for the usual one";
        section.problem("listen", "the service would listen nowhere".to_owned(), remedy, problems);
    }
    let listen: Vec<Listen> = listen.iter().filter_map(|text| place(&section, text, directory, problems)).collect();
    let tls = tls::read(&mut section, base, problems);
    let first = listen.iter().find_map(|listen| match listen {
        Listen::Tcp(address) => Some(*address),
        Listen::Unix(_) => None,
    });
    let public_url = section.string("public_url", problems).unwrap_or_else(|| {
        let scheme = if tls.is_some() { "https" } else { "http" };
        first.map_or_else(|| format!("{scheme}://localhost"), |first| format!("{scheme}://localhost:{}", first.port()))
    });
    let public_url = public_url.trim_end_matches('/').to_owned();
    if !is_origin(&public_url) {
        section.problem(
            "public_url",
            format!("{public_url:?} is no origin"),
            "write scheme, host and port, as in \"https://data.example.org\"",
            problems,
        );
    }
    let allowed_origins = section.strings("allowed_origins", problems).unwrap_or_default();
    for origin in allowed_origins.iter().filter(|origin| !is_origin(origin)) {
        section.problem(
            "allowed_origins",
            format!("{origin:?} is no origin"),
            "write scheme, host and port, as in \"https://app.example.org\"",
            problems,
        );
    }
    let allowed_hosts = section.strings("allowed_hosts", problems).unwrap_or_default();
    for host in allowed_hosts.iter().filter(|host| !is_host(host)) {
        section.problem(
            "allowed_hosts",
            format!("{host:?} is no host"),
            "write the name alone, as in \"data.example.org\"",
            problems,
        );
    }
    let trusted_proxies = proxies(&mut section, problems);
    let max_body = section.integer("max_body", 1024..=1 << 30, problems);
    let max_streams = section.integer("max_streams", 1..=1_000_000, problems);
    let shutdown = section.integer("shutdown_timeout", 0..=3600, problems);
    let bounds = bounds::read(&mut section, problems);
    let tasks = tasks::read(&mut section, problems);
    let metrics = seeing::metrics(&mut section, problems);
    let server_timing = section.boolean("server_timing", problems).unwrap_or(false);
    let compression = section.boolean("compression", problems).unwrap_or(false);
    section.finish(problems);
    Server {
        listen,
        public_url,
        allowed_origins,
        allowed_hosts,
        max_body: max_body.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(Server::DEFAULT_MAX_BODY),
        max_streams: max_streams.and_then(|count| usize::try_from(count).ok()).unwrap_or(Server::DEFAULT_MAX_STREAMS),
        shutdown_timeout: shutdown.map_or(Server::DEFAULT_SHUTDOWN, Duration::from_secs),
        trusted_proxies,
        tls,
        bounds,
        tasks,
        metrics,
        server_timing,
        compression,
    }
}

fn place(section: &Section<'_>, text: &str, base: &Path, problems: &mut Vec<Problem>) -> Option<Listen> {
    let place = match text.strip_prefix("unix:") {
        Some("") => None,
        Some(path) => Some(Listen::Unix(base.join(path))),
        None => text.parse().ok().map(Listen::Tcp),
    };
    if place.is_none() {
        let remedy = "write it as \"127.0.0.1:8787\" or \"unix:/run/portico/portico.sock\"";
        section.problem("listen", format!("{text:?} is no address"), remedy, problems);
    }
    place
}

fn proxies(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Proxies {
    let headers = ForwardedHeader::ALL.map(|header| (header.name(), header));
    let header = section.word("forwarded_header", &headers, problems).unwrap_or_default();
    let mut proxies = Proxies { header, ..Proxies::default() };
    for text in section.strings("trusted_proxies", problems).unwrap_or_default() {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        match network {
            Ok(network) => proxies.networks.push(network),
            Err(_) if text == "unix" => proxies.unix = true,
            Err(_) => section.problem(
                "trusted_proxies",
                format!("{text:?} is no network"),
                "write a network as \"10.0.0.0/8\", an address, or \"unix\" for whoever reaches the Unix socket",
                problems,
            ),
        }
    }
    proxies
}

/// Whether `text` is a host without a port.
fn is_host(text: &str) -> bool {
    let is_address = text.starts_with('[') && text.ends_with(']');
    !text.is_empty()
        && text.is_ascii()
        && !text.contains(['/', '?', '#', '@', ' ', '*'])
        && (is_address || !text.contains(':'))
}

/// Whether `text` is `http(s)://host[:port]` and nothing more.
fn is_origin(text: &str) -> bool {
    text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).is_some_and(|authority| {
        !authority.is_empty() && !authority.contains(['/', '?', '#', '@', ' ']) && authority.is_ascii()
    })
}
