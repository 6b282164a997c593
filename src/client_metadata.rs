//! Clients that describe themselves: the id is the https address of a JSON document (OAuth Client ID Metadata
//! Document). Anyone can make this service fetch an address here, so the address is checked, its host's network
//! addresses are checked and then pinned, and everything is bounded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lru::LruCache;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::oauth::client::{Client, ClientKind, check_redirects};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::mutex::lock;
use portico_actors::name;
use serde::Deserialize;
use tokio::sync::Semaphore;
use url::{Host, Url};

/// How long all of a fetch may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Octets of a document at most.
const LARGEST: usize = 64 * 1024;
/// Characters of an address at most.
const LONGEST: usize = 1_024;
/// Characters of a client's name at most; more of it is not shown.
const LONGEST_NAME: usize = 100;
/// Documents in memory at most.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// How long a document is believed, and how long a failure is.
const FRESH: Duration = Duration::from_mins(10);
const FAILED: Duration = Duration::from_secs(30);
/// Fetches at once.
const AT_ONCE: usize = 8;

/// The documents that were fetched not long ago.
#[derive(Debug)]
pub struct Documents {
    /// Also private addresses, and http: for development alone.
    private: bool,
    kept: Mutex<LruCache<String, CachedDocument>>,
    turns: Semaphore,
}

#[derive(Clone, Debug)]
struct CachedDocument {
    until: Instant,
    /// The client, or what is wrong.
    found: std::result::Result<Client, String>,
}

impl Documents {
    /// With `private`, also addresses of this machine and of private networks, and without TLS.
    pub fn new(private: bool) -> Self {
        Self { private, kept: Mutex::new(LruCache::new(REMEMBERED)), turns: Semaphore::new(AT_ONCE) }
    }

    /// Whether `client_id` is meant as an address.
    pub fn is_address(client_id: &str) -> bool {
        client_id.contains("://")
    }

    /// Returns the client described at `client_id`.
    ///
    /// # Errors
    /// [`Kind::Invalid`] with what is wrong with the address or its document.
    pub async fn client(&self, client_id: &str) -> Result<Client> {
        let url = self.judge(client_id)?;
        if let Some(kept) = self.remembered(client_id) {
            return kept.map_err(unread);
        }
        let _turn = self
            .turns
            .try_acquire()
            .map_err(|_| Error::new(Kind::Busy, "too many clients are being looked up").retry_after(TIMEOUT))?;
        let fetched = tokio::time::timeout(TIMEOUT, self.fetch(client_id, &url)).await;
        let found = fetched.unwrap_or_else(|_| Err(format!("did not answer within {} seconds", TIMEOUT.as_secs())));
        let found = found.map_err(|why| format!("client_id: the client's description {why}"));
        self.remember(client_id, found.clone());
        found.map_err(unread)
    }

    /// The rules for an address, before anything is fetched.
    fn judge(&self, client_id: &str) -> Result<Url> {
        let wrong = |why: &str| Error::invalid(format!("client_id: the address of a client {why}"));
        let url = Url::parse(client_id).map_err(|_| wrong("must be a URL"))?;
        let scheme_fits = url.scheme() == "https" || (self.private && url.scheme() == "http");
        if !scheme_fits || client_id.len() > LONGEST {
            return Err(wrong("must begin with https:// and must not be long"));
        }
        if url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must have neither a fragment nor a user"));
        }
        if url.path() == "/" || url.path().is_empty() {
            return Err(wrong("must have a path"));
        }
        // An address that is not in its normal form could be read in two ways: dots, case, ports.
        if url.as_str() != client_id {
            return Err(wrong("must be written in its normal form").hint(format!("write it as {url}")));
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.judge_ip(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => self.judge_ip(IpAddr::V6(address)),
            Some(Host::Domain(_)) => Ok(()),
            None => Err("must have a host".to_owned()),
        }
        .map_err(|why| wrong(&why))?;
        Ok(url)
    }

    fn judge_ip(&self, address: IpAddr) -> std::result::Result<(), String> {
        if self.private || is_public(address) { Ok(()) } else { Err("must not be on a private network".to_owned()) }
    }

    async fn fetch(&self, client_id: &str, url: &Url) -> std::result::Result<Client, String> {
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(443);
        let found =
            tokio::net::lookup_host((host, port)).await.map_err(|_| "is at a host that cannot be found".to_owned())?;
        let addresses: Vec<SocketAddr> = found.collect();
        // One private address among them is enough to refuse: which one is used is not left to chance.
        if addresses.is_empty() || addresses.iter().any(|address| self.judge_ip(address.ip()).is_err()) {
            return Err("is at a host of a private network".to_owned());
        }
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .pool_max_idle_per_host(0)
            .https_only(!self.private)
            // Pinned: the name is not looked up a second time, when it could lead elsewhere.
            .resolve_to_addrs(host, &addresses)
            .build()
            .map_err(|_| "cannot be fetched from here".to_owned())?;
        let request = http.get(url.clone()).header("accept", "application/json");
        let mut response = request.send().await.map_err(|_| "cannot be fetched".to_owned())?;
        if response.status().as_u16() != 200 {
            return Err(format!("was answered with the status {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| "broke off".to_owned())? {
            if body.len() + chunk.len() > LARGEST {
                return Err(format!("is larger than {LARGEST} octets"));
            }
            body.extend_from_slice(&chunk);
        }
        read(client_id, &body)
    }

    fn remembered(&self, client_id: &str) -> Option<std::result::Result<Client, String>> {
        let mut kept = lock(&self.kept);
        kept.get(client_id).filter(|kept| Instant::now() < kept.until).map(|kept| kept.found.clone())
    }

    fn remember(&self, client_id: &str, found: std::result::Result<Client, String>) {
        let until = Instant::now() + if found.is_ok() { FRESH } else { FAILED };
        let mut kept = lock(&self.kept);
        kept.put(client_id.to_owned(), CachedDocument { until, found });
    }
}

/// A document that cannot be had, as is usual where the service cannot reach the internet.
fn unread(why: String) -> Error {
    Error::invalid(why).hint(
        "where this service cannot reach that host, oauth.client_documents = false has applications register themselves \
         instead (oauth.dynamic_registration)",
    )
}

/// The members of a document that are used here.
#[derive(Deserialize)]
struct Document {
    client_id: String,
    #[serde(default)]
    client_name: Option<String>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret: Option<serde_json::Value>,
}

fn read(client_id: &str, body: &[u8]) -> std::result::Result<Client, String> {
    let document: Document =
        serde_json::from_slice(body).map_err(|_| "is not a JSON document of a client".to_owned())?;
    if document.client_id != client_id {
        return Err("says that it is another client's".to_owned());
    }
    if document.token_endpoint_auth_method.is_some_and(|method| method != "none") || document.client_secret.is_some() {
        return Err("asks for a way to authenticate that is not served here; only \"none\" is".to_owned());
    }
    check_redirects(&document.redirect_uris, ClientKind::Document)
        .map_err(|error| format!("is wrong: {}", error.message))?;
    let name = document.client_name.as_deref().map(plain_name).filter(|name| !name.is_empty());
    Ok(Client {
        client_id: client_id.to_owned(),
        kind: ClientKind::Document,
        name: name.unwrap_or_else(|| "An application without a name".to_owned()),
        confidential: false,
        redirect_uris: document.redirect_uris,
        created_at: Clock::system().now().time(),
        used_at: None,
    })
}

/// Returns a name for display: one line, short, and without characters that change the direction of writing.
pub fn plain_name(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_control() { ' ' } else { c });
    let plain: String = plain.filter(|c| c.is_whitespace() || !name::is_invisible(*c)).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_NAME).collect()
}

/// Returns true for an address that the whole internet can reach: not of this machine, of a private network, of a
/// link, of a provider's own network, and without another address inside.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// The special ranges of RFC 6890 and its registry.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

/// Only `2000::/3` is allocated; within it, tunnels to IPv4 addresses and documentation prefixes are refused.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    (0x2000..0x4000).contains(&first)
        && !(first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        && first != 0x2002
        && !(first == 0x3fff && second < 0x1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_dress() {
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[tokio::test]
    async fn addresses_are_judged_before_anything_is_fetched() {
        let documents = Documents::new(false);
        for wrong in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a#b",
            "https://user@app.example/a",
            "https://app.example/a/../b",
            "https://APP.example/a",
            "https://app.example:443/a",
            "https://127.0.0.1/a",
            "https://2130706433/a",
            "https://0x7f.1/a",
            "https://[::1]/a",
            "https://[::ffff:169.254.169.254]/a",
            "ftp://app.example/a",
            "https:///a",
        ] {
            let error = documents.client(wrong).await.unwrap_err();
            assert!(error.message.starts_with("client_id: the address of a client must"), "{wrong}: {error}");
        }
        let error = documents.client("https://localhost/client.json").await.unwrap_err();
        assert!(error.message.contains("private network"), "{error}");
    }

    #[test]
    fn a_document_is_believed_about_itself_alone() {
        let id = "https://app.example/client.json";
        let body = |more: &str| {
            format!(
                r#"{{"client_id": "{id}", "client_name": "App", "redirect_uris": ["https://app.example/cb"]{more}}}"#
            )
        };
        let client = read(id, body("").as_bytes()).unwrap();
        assert_eq!((client.name.as_str(), client.confidential), ("App", false));
        assert!(read("https://app.example/other.json", body("").as_bytes()).unwrap_err().contains("another"));
        assert!(read(id, body(r#", "token_endpoint_auth_method": "private_key_jwt""#).as_bytes()).is_err());
        assert!(read(id, body(r#", "client_secret": "x""#).as_bytes()).is_err());
        assert!(read(id, format!(r#"{{"client_id": "{id}"}}"#).as_bytes()).is_err());
        assert!(read(id, b"[]").is_err() && read(id, b"<html>").is_err());
    }

    #[test]
    fn memory_is_bounded() {
        let documents = Documents::new(false);
        for number in 0..REMEMBERED.get() * 2 {
            documents.remember(&number.to_string(), Err("no".to_owned()));
        }
        assert_eq!(documents.kept.lock().unwrap().len(), REMEMBERED.get());
        let last = (REMEMBERED.get() * 2 - 1).to_string();
        assert_eq!(documents.remembered(&last), Some(Err("no".to_owned())));
    }

    #[test]
    fn names_are_one_short_line() {
        assert_eq!(plain_name("  A\n\tb \u{202e}c "), "A b c");
        assert_eq!(plain_name(&"x".repeat(500)).len(), LONGEST_NAME);
    }
}
