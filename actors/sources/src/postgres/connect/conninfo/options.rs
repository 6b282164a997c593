//! Interprets the parameters of a connection. Unknown parameters are refused: one that had no effect could have
//! been meant as protection.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslNegotiation};

use super::invalid::refusal;
use super::parameters::Parameters;
use crate::Pooler;
use portico_core::error::Result;
use portico_core::near;

/// Silence on a connection after which the network is asked whether the other end is there.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(15);
/// The interval between two keepalive probes.
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(5);
/// Questions without an answer after which the connection is held to be broken.
const KEEPALIVES_COUNT: u32 = 3;
/// How long sent data may stay unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Everything that an address asks for, but for secrets kept elsewhere.
#[derive(Clone)]
pub(crate) struct Options {
    /// Where to try, in this order.
    pub(crate) hosts: Vec<Host>,
    /// Whether in any order.
    pub(crate) shuffled: bool,
    /// Which sessions will do.
    pub(crate) target: Target,
    pub(crate) password: Option<String>,
    pub(crate) passfile: Option<PathBuf>,
    pub(crate) tls: Arc<Tls>,
    /// Everything else that the wire library needs: the user, the database, and how long each attempt may take.
    pub(crate) template: Config,
}

/// One place to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// A name, an address, or the folder of a socket.
    pub(crate) name: String,
    /// Spares the look-up of the name.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
}

impl Host {
    /// The folder of its socket, where it is one.
    pub(crate) fn socket(&self) -> Option<&Path> {
        self.name.starts_with('/').then(|| Path::new(&self.name))
    }
}

/// `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// How TLS is done.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) mode: Mode,
    pub(crate) roots: Option<Roots>,
    /// Certificate and key of the client.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
    /// Whether TLS 1.2 is refused.
    pub(crate) only_newest: bool,
    /// Whether the TLS handshake comes first, without a request for TLS.
    pub(crate) direct: bool,
}

/// The trusted root certificates.
#[derive(Clone)]
pub(crate) enum Roots {
    System,
    File(PathBuf),
}

const TARGETS: [(&str, Target); 6] = [
    ("any", Target::Any),
    ("read-write", Target::ReadWrite),
    ("read-only", Target::ReadOnly),
    ("primary", Target::Primary),
    ("standby", Target::Standby),
    ("prefer-standby", Target::PreferStandby),
];

impl Options {
    /// Understands `parameters`. Relative paths start at `base`.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming the parameter and the remedy.
    pub(crate) fn new(
        mut parameters: Parameters,
        base: &Path,
        connect_timeout: Duration,
        pooler: Pooler,
    ) -> Result<Self> {
        let all = &mut parameters;
        let tls = tls(all, base)?;
        let hosts = hosts(all)?;
        let user = all.take("user").ok_or_else(|| {
            refusal("user", "this parameter is missing", "write the database user in front of the @ of the URL")
        })?;
        let database = all.take("dbname").unwrap_or_else(|| user.clone());
        let target = one_of(all, "target_session_attrs", &TARGETS)?.unwrap_or(Target::Any);
        let shuffled = one_of(all, "load_balance_hosts", &[("disable", false), ("random", true)])?.unwrap_or(false);
        let connect_timeout = positive(all, "connect_timeout", 300)?.map_or(connect_timeout, Duration::from_secs);
        let mut template = Config::new();
        template.user(&user).dbname(&database).connect_timeout(connect_timeout);
        let fallback = all.take("fallback_application_name").unwrap_or_else(|| "portico".to_owned());
        template.application_name(all.take("application_name").unwrap_or(fallback));
        if let Some(options) = session_options(all, pooler)? {
            template.options(options);
        }
        let words = [
            ("disable", ChannelBinding::Disable),
            ("prefer", ChannelBinding::Prefer),
            ("require", ChannelBinding::Require),
        ];
        template.channel_binding(one_of(all, "channel_binding", &words)?.unwrap_or(ChannelBinding::Prefer));
        if tls.direct {
            template.ssl_negotiation(SslNegotiation::Direct);
        }
        keep_alive(all, &mut template)?;
        one_of(all, "client_encoding", &[("UTF8", ()), ("utf8", ()), ("UTF-8", ()), ("auto", ())])?;
        one_of(all, "gssencmode", &[("disable", ()), ("prefer", ())])?;
        let options = Self {
            hosts,
            shuffled,
            target,
            password: all.take("password"),
            passfile: all.take("passfile").map(|path| base.join(path)),
            tls: Arc::new(tls),
            template,
        };
        not_understood(&parameters)?;
        Ok(options)
    }
}

/// Returns the settings that the server applies to the session.
fn session_options(parameters: &mut Parameters, pooler: Pooler) -> Result<Option<String>> {
    let path = parameters.take("search_path").map(|path| format!("-c search_path={}", escaped(&path)));
    let options: Vec<String> = parameters.take("options").into_iter().chain(path).collect();
    if options.is_empty() {
        return Ok(None);
    }
    if pooler == Pooler::Transaction {
        return Err(refusal(
            "options",
            "nothing can be set for a session behind a pooler in transaction mode",
            "set it at the database: ALTER ROLE … SET …",
        ));
    }
    Ok(Some(options.join(" ")))
}

/// A value within `options`, where white space and backslashes are marked (PostgreSQL, §34.1.2).
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        if letter.is_whitespace() || letter == '\\' {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

fn keep_alive(all: &mut Parameters, template: &mut Config) -> Result<()> {
    let mut seconds =
        |name, default| positive(all, name, 86_400).map(|given| given.map_or(default, Duration::from_secs));
    template.keepalives_idle(seconds("keepalives_idle", KEEPALIVES_IDLE)?);
    template.keepalives_interval(seconds("keepalives_interval", KEEPALIVES_INTERVAL)?);
    template.keepalives(number(all, "keepalives", 1)? != Some(0));
    let count = positive(all, "keepalives_count", 100)?.and_then(|count| u32::try_from(count).ok());
    template.keepalives_retries(count.unwrap_or(KEEPALIVES_COUNT));
    // In milliseconds, as libpq counts it.
    let unacknowledged = positive(all, "tcp_user_timeout", 86_400_000)?;
    template.tcp_user_timeout(unacknowledged.map_or(TCP_USER_TIMEOUT, Duration::from_millis));
    Ok(())
}

fn hosts(all: &mut Parameters) -> Result<Vec<Host>> {
    let list = |text: Option<String>| -> Vec<String> {
        text.map(|text| text.split(',').map(|each| each.trim().to_owned()).collect()).unwrap_or_default()
    };
    let (names, addresses, ports) = (list(all.take("host")), list(all.take("hostaddr")), list(all.take("port")));
    let count = names.len().max(addresses.len());
    if count == 0 || names.iter().any(String::is_empty) {
        return Err(refusal("host", "this parameter is missing", "write the server's name behind the @ of the URL"));
    }
    if !addresses.is_empty() && !names.is_empty() && addresses.len() != names.len() {
        return Err(refusal("hostaddr", "this must have as many entries as host", "write one for each host"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(refusal("port", "this must have as many entries as host", "write one for each host, or one"));
    }
    let mut hosts = Vec::with_capacity(count);
    for number in 0..count {
        let address = match addresses.get(number).filter(|address| !address.is_empty()) {
            Some(address) => Some(address.parse().map_err(|_| {
                refusal("hostaddr", "this is not an IP address", "write one as 10.0.0.5, or use host for a name")
            })?),
            None => None,
        };
        let port = match ports.get(number).or_else(|| ports.first()).map(String::as_str) {
            None | Some("") => 5432,
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                let remedy = "write a number from 1 to 65535; special characters of the password as % and two digits";
                refusal("port", "this is not a port", remedy)
            })?,
        };
        let name = names.get(number).or_else(|| addresses.get(number)).cloned().unwrap_or_default();
        hosts.push(Host { name, address, port });
    }
    Ok(hosts)
}

fn tls(all: &mut Parameters, base: &Path) -> Result<Tls> {
    let modes = [
        ("disable", Mode::Disable),
        ("allow", Mode::Allow),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];
    let given = one_of(all, "sslmode", &modes)?;
    let roots = all.take("sslrootcert");
    let system = roots.as_deref() == Some("system");
    if system && given.is_some_and(|mode| mode != Mode::VerifyFull) {
        return Err(refusal(
            "sslrootcert",
            "anybody can have a certificate that the system trusts, so the host's name must be verified as well",
            "write sslmode=verify-full",
        ));
    }
    let mode = given.unwrap_or(if system { Mode::VerifyFull } else { Mode::Prefer });
    let roots = roots.map(|path| if system { Roots::System } else { Roots::File(base.join(path)) });
    let client = match (all.take("sslcert"), all.take("sslkey")) {
        (Some(certificate), Some(key)) => Some((base.join(certificate), base.join(key))),
        (None, None) => None,
        (Some(_), None) => return Err(refusal("sslkey", "this parameter is missing", "name the key of sslcert")),
        (None, Some(_)) => {
            return Err(refusal("sslcert", "this parameter is missing", "name the certificate of sslkey"));
        }
    };
    let versions = [("TLSv1.2", false), ("TLSv1.3", true)];
    let only_newest = one_of(all, "ssl_min_protocol_version", &versions)?.unwrap_or(false);
    let direct = one_of(all, "sslnegotiation", &[("postgres", false), ("direct", true)])?.unwrap_or(false);
    if direct && mode < Mode::Require {
        return Err(refusal(
            "sslnegotiation",
            "direct begins with TLS, which this sslmode does not insist on",
            "write sslmode=require, verify-ca or verify-full",
        ));
    }
    Ok(Tls { mode, roots, client, only_newest, direct })
}

fn one_of<T: Copy>(all: &mut Parameters, name: &'static str, words: &[(&str, T)]) -> Result<Option<T>> {
    let Some(given) = all.take(name) else { return Ok(None) };
    match words.iter().find(|(word, _)| *word == given) {
        Some((_, meaning)) => Ok(Some(*meaning)),
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Err(refusal(name, "this value is not understood", &format!("write {}", known.join(", "))))
        }
    }
}

fn number(all: &mut Parameters, name: &'static str, most: u64) -> Result<Option<u64>> {
    let Some(given) = all.take(name) else { return Ok(None) };
    given.parse().ok().filter(|number| *number <= most).map(Some).ok_or_else(|| {
        let remedy = format!("write a whole number from 0 to {most}");
        refusal(name, "this value is not allowed", &remedy)
    })
}

/// As the function above, but 0 stands for the default.
fn positive(all: &mut Parameters, name: &'static str, most: u64) -> Result<Option<u64>> {
    Ok(number(all, name, most)?.filter(|number| *number > 0))
}

/// Parameters of libpq that are not supported, each with a remedy.
const REFUSED: [(&str, &str); 12] = [
    ("sslpassword", "give a key that is not encrypted, in a file that only this user may read"),
    ("sslcrl", "give a server whose certificate was revoked another name or root"),
    ("sslcrldir", "give a server whose certificate was revoked another name or root"),
    ("sslcompression", "remove it: TLS compression is insecure"),
    ("sslsni", "remove it: the server's name is always sent"),
    ("ssl_max_protocol_version", "remove it: the newest version that both sides know is used"),
    ("sslcertmode", "remove it: a certificate is sent where the server asks for one and sslcert names it"),
    ("requirepeer", "remove it; protect the socket by its folder's permissions"),
    ("require_auth", "remove it; use channel_binding=require, or sslmode=verify-full"),
    ("krbsrvname", "use a password or a client certificate: GSSAPI is not supported here"),
    ("gsslib", "use a password or a client certificate: GSSAPI is not supported here"),
    ("replication", "remove it: Portico only runs queries"),
];

/// Refuses parameters that were not read, if there are any.
fn not_understood(parameters: &Parameters) -> Result<()> {
    let Some(name) = parameters.left().next() else { return Ok(()) };
    if let Some((_, remedy)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(refusal(name, "this parameter of libpq is not supported", remedy));
    }
    let remedy = near::suggestion(name, parameters.known()).unwrap_or_else(|| "remove it".to_owned());
    Err(refusal("url", &format!("there is no connection parameter {name:?}"), &remedy))
}
