//! Notifies the service manager of the service's state (`sd_notify(3)`): one datagram of `NAME=value` lines for
//! each change. Without a manager nothing is sent.

use std::fmt;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The socket of the service manager, if there is one.
pub(in crate::cli) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants a sign of life, at the least.
    pub(in crate::cli) watchdog: Option<Duration>,
}

impl Notify {
    /// By the environment that the manager made.
    pub(in crate::cli) fn from_environment() -> Self {
        let path = std::env::var_os("NOTIFY_SOCKET");
        let address = path.and_then(|path| match path.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(path).ok(),
        });
        let socket = address.and_then(|address| {
            let socket = UnixDatagram::unbound().ok()?;
            // A manager that does not read must not hold up the service.
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        // The variables may be another process's (`sd_watchdog_enabled(3)`).
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|usec| ours && *usec > 0).map(Duration::from_micros);
        Self { watchdog: watchdog.filter(|_| socket.is_some()), socket }
    }

    fn send(&self, lines: &fmt::Arguments<'_>) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(lines.to_string().as_bytes(), address)
        {
            log::debug!("the service manager was not told: {error}");
        }
    }

    /// The service is up, or done with a reload.
    pub(in crate::cli) fn ready(&self, status: &str) {
        self.send(&format_args!("READY=1\nSTATUS={}", line(status)));
    }

    /// Reports that a reload starts. The time distinguishes it from an earlier one (systemd.service(5),
    /// `notify-reload`).
    pub(in crate::cli) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format_args!("RELOADING=1\nMONOTONIC_USEC={microseconds}\nSTATUS=reloading"));
    }

    /// The service is going down.
    pub(in crate::cli) fn stopping(&self) {
        self.send(&format_args!("STOPPING=1\nSTATUS=stopping: calls that run may end"));
    }

    /// A sign of life.
    pub(in crate::cli) fn alive(&self) {
        self.send(&format_args!("WATCHDOG=1"));
    }

    /// A word for `systemctl status`.
    pub(in crate::cli) fn status(&self, status: &str) {
        self.send(&format_args!("STATUS={}", line(status)));
    }
}

/// A status is one line: names in it come from the configuration.
fn line(status: &str) -> String {
    status.replace(['\n', '\r'], " ")
}
