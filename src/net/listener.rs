//! Sockets that the service listens on, however they came to be open.

use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::config::Listen;

/// One open socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP, with TLS where that is configured.
    Tcp(TcpListener),
    /// A Unix socket, without TLS.
    Unix(UnixListener),
}

/// Returns the remedy if an address cannot be listened on.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "end the process that listens there (ss -ltnp names it), or choose another address",
        io::ErrorKind::AddrNotAvailable => "choose an address of this machine, or 0.0.0.0 for all of them",
        io::ErrorKind::PermissionDenied => {
            "choose a port from 1024 on, or a folder that this user may write to, or let systemd listen: portico.socket"
        }
        io::ErrorKind::NotFound => "make the folder of the socket first",
        io::ErrorKind::AlreadyExists => "move that file away, or choose another path",
        _ => "choose another address",
    }
}

/// The open sockets of a service.
#[derive(Debug, Default)]
pub struct Listeners(pub Vec<Listener>);

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Self {
        Self(vec![Listener::Tcp(listener)])
    }
}

impl Listener {
    /// Opens one.
    ///
    /// # Errors
    /// When the address is not ours, is in use, or needs a right that we do not have.
    pub fn bind(place: &Listen) -> io::Result<Self> {
        match place {
            Listen::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
            Listen::Unix(path) => {
                let listener = bind_unix(path)?;
                // As open as a port: callers need a credential. The folder can be more restrictive.
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
                Ok(Self::Unix(listener))
            }
        }
    }

    /// Where it listens, for people.
    pub fn place(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| "an unknown address".to_owned(), |address| address.to_string())
            }
            Self::Unix(listener) => {
                let path = listener.local_addr().ok();
                let path = path.as_ref().and_then(|address| address.as_pathname());
                path.map_or_else(|| "a socket without a name".to_owned(), |path| format!("unix:{}", path.display()))
            }
        }
    }
}

/// Unix sockets that we have made: taken away when this is dropped.
#[derive(Debug, Default)]
pub struct Made(pub Vec<PathBuf>);

impl Made {
    /// Returns the Unix sockets among `places`.
    pub fn new(places: &[Listen]) -> Self {
        let path = |place: &Listen| match place {
            Listen::Unix(path) => Some(path.clone()),
            Listen::Tcp(_) => None,
        };
        Self(places.iter().filter_map(path).collect())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens a Unix socket at `path`. Replaces a socket that a process left behind, but not one with a listener, nor
/// another kind of file.
///
/// # Errors
/// The socket cannot be opened.
pub fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let left_behind = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket())
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if left_behind {
        std::fs::remove_file(path)?;
    }
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.file_type().is_socket()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket is there"));
    }
    UnixListener::bind(path)
}
