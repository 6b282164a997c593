//! Connections on which a test says what no client library would: over TCP, TLS and Unix sockets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::app::DEADLINE;

/// Where a service listens.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Tcp(u16),
    /// HTTP/2 over TLS.
    Secured(u16, Arc<ClientConfig>),
    Unix(PathBuf),
}

/// An open connection; nothing on it takes for ever.
pub(crate) trait Socket: Read + Write + Send {}

impl<T: Read + Write + Send> Socket for T {}

impl Place {
    /// Connects. It waits, and is for threads that may.
    pub(crate) fn dial(&self) -> io::Result<Box<dyn Socket>> {
        let tcp = |port: u16| {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_read_timeout(Some(DEADLINE))?;
            stream.set_write_timeout(Some(DEADLINE))?;
            io::Result::Ok(stream)
        };
        Ok(match self {
            Self::Tcp(port) => Box::new(tcp(*port)?),
            Self::Secured(port, settings) => {
                let name = "localhost".try_into().map_err(io::Error::other)?;
                let tls = ClientConnection::new(Arc::clone(settings), name).map_err(io::Error::other)?;
                Box::new(StreamOwned::new(tls, tcp(*port)?))
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(DEADLINE))?;
                stream.set_write_timeout(Some(DEADLINE))?;
                Box::new(stream)
            }
        })
    }

    pub(crate) const fn speaks_http2(&self) -> bool {
        matches!(self, Self::Secured(..))
    }
}

/// What a connection of HTTP/2 begins with (RFC 9113 §3.4), with no settings of its own.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Begins the head of a request of HTTP/2 and does not end it: `HEADERS` without `END_HEADERS` (RFC 9113 §6.2).
pub(crate) fn unfinished_head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        // Literal, without indexing, its name new (RFC 7541 §6.2.2); no text here has more than 126 octets.
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    let length = u32::try_from(block.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend_from_slice(&[1, 0, 0, 0, 0, 1]);
    frame.extend_from_slice(&block);
    frame
}
