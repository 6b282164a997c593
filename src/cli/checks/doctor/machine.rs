//! The machine: listeners, the origin that clients see, certificates, the clock and descriptors.

use std::path::Path;
use std::time::{Duration, SystemTime};

use portico_actors::auth::clock::Timestamp;
use rustix::process::{Resource, getrlimit};

use super::finding::CheckResult;
use crate::cli::running::control;
use crate::config::{Config, Listen, Server};
use crate::net::listener::{self, Listener, Made};
use crate::net::validity::{self, REMEDY, Validity};
use portico_actors::loopback;

/// Clients that a service should be able to hold at once, besides its sessions at the sources.
const CLIENTS: usize = 4096;
/// A certificate that ends sooner should have been renewed.
const RENEWAL: Duration = Duration::from_hours(24 * 14);

/// Whether it runs or could, and under which name.
pub(super) fn look(config: &Config, file: &Path) -> Vec<CheckResult> {
    let answer = actix::System::new().block_on(control::ask_health(&config.store.control, file));
    let mut findings = match answer {
        Ok(answer) if answer.ok => vec![CheckResult::ok("service", format!("runs: {}", answer.message))],
        Ok(answer) => {
            let remedy = "its log has the cause; portico health says when it is over";
            vec![CheckResult::problem("service", format!("runs, but is not well: {}", answer.message), remedy)]
        }
        Err(late @ control::Unanswered::Late(_)) => {
            let remedy = "look at its log and at the load of the machine; restart it if it does not recover";
            vec![CheckResult::problem("service", late.to_string(), remedy)]
        }
        Err(control::Unanswered::Nobody(_)) => config.server.listen.iter().map(free).collect(),
        Err(other @ control::Unanswered::Other(_)) => {
            let remedy = "each service has a control socket of its own: set store.control";
            vec![CheckResult::problem("service", other.to_string(), remedy)]
        }
        Err(unanswered) => {
            vec![CheckResult::warning(
                "service",
                unanswered.to_string(),
                "run this as the service's own user or as root",
            )]
        }
    };
    findings.extend(origin(config));
    findings.extend(certificate(&config.server));
    findings
}

/// Checks whether another process listens there.
fn free(place: &Listen) -> CheckResult {
    match Listener::bind(place) {
        Ok(listener) => {
            drop((listener, Made::new(std::slice::from_ref(place))));
            CheckResult::ok("listener", format!("{place} is free; no service runs on this store"))
        }
        Err(error) => CheckResult::problem(
            "listener",
            format!("{place} cannot be listened on: {error}"),
            listener::remedy(&error),
        ),
    }
}

/// Whether credentials cross a network in the clear.
fn origin(config: &Config) -> Option<CheckResult> {
    let server = &config.server;
    let open = server.tls.is_none()
        && server
            .listen
            .iter()
            .any(|place| matches!(place, Listen::Tcp(address) if !loopback::is_address(address.ip())));
    let plain = server.public_url.starts_with("http://") && !loopback::is_origin(&server.public_url);
    (open || plain).then(|| {
        CheckResult::warning(
            "tls",
            format!("{} is served without TLS: credentials cross the network in the clear", server.public_url),
            "configure [server.tls], or listen on loopback behind a proxy with TLS and make public_url https",
        )
    })
}

fn certificate(server: &Server) -> Option<CheckResult> {
    let (now, shown) = (Timestamp::from(SystemTime::now()), validity::shown(server.tls.as_ref()?)?);
    if let Some(complaint) = validity::outside_validity(shown, now) {
        return Some(CheckResult::problem("tls", complaint, REMEDY));
    }
    if let Some(complaint) = validity::not_for_host(shown, &server.public_url) {
        return Some(CheckResult::warning("tls", complaint, REMEDY));
    }
    let ends = Validity::of(shown).map(|validity| validity.end)?;
    let told = format!("the certificate ends at {ends}");
    let is_late = ends <= now.after(RENEWAL);
    Some(if is_late { CheckResult::warning("tls", told, REMEDY) } else { CheckResult::ok("tls", told) })
}

/// Checks whether the clock is behind recorded times.
pub(super) fn clock(config: &Config, file: &Path) -> CheckResult {
    let now = Timestamp::from(SystemTime::now());
    let files = [Some(file), config.store.place.file()].into_iter().flatten();
    let written = files.filter_map(|path| path.metadata().ok()?.modified().ok()).max();
    let behind = written.and_then(|written| clock_behind(now, "files were", written.into()));
    behind.unwrap_or_else(|| CheckResult::ok("clock", now.to_string()))
}

/// Reports a clock that is behind the time at which `what` was written.
pub(super) fn clock_behind(now: Timestamp, what: &str, written: Timestamp) -> Option<CheckResult> {
    (written > now.after(Duration::from_mins(1))).then(|| {
        CheckResult::problem(
            "clock",
            format!("the clock says {now}, and {what} written at {written}"),
            "set the clock, and keep it with chrony or systemd-timesyncd: tokens are checked against it",
        )
    })
}

/// Whether there are descriptors enough for clients and sessions.
pub(super) fn descriptors(config: &Config) -> CheckResult {
    let needed = CLIENTS + sessions(config);
    // The service raises its soft limit to the hard one.
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if limit < needed as u64 => CheckResult::warning(
            "descriptors",
            format!("there are {limit} descriptors, and {CLIENTS} clients and all sessions need {needed}"),
            "set LimitNOFILE=65536 in the unit, or run ulimit -Hn 65536",
        ),
        Some(limit) => {
            CheckResult::ok("descriptors", format!("{limit}, for clients and {} sessions", sessions(config)))
        }
        None => CheckResult::ok("descriptors", "no limit"),
    }
}

/// Sessions that the sources may hold together, and one for housekeeping each.
fn sessions(config: &Config) -> usize {
    config.connections.iter().map(|connection| connection.pool + 1).sum()
}
