//! A stream in gzip (RFC 1952) that does not hold back: each chunk that goes in comes out whole.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// One body on its way into gzip.
#[derive(Debug)]
pub struct Gzip(GzEncoder<Vec<u8>>);

impl Gzip {
    /// Begins a body.
    pub fn new() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// Everything that a reader needs to read `chunk` now.
    pub fn chunk(&mut self, chunk: &[u8]) -> Bytes {
        // Writing to memory cannot fail.
        let _ = self.0.write_all(chunk);
        let _ = self.0.flush();
        Bytes::from(std::mem::take(self.0.get_mut()))
    }

    /// The end of the body.
    pub fn finish(self) -> Bytes {
        Bytes::from(self.0.finish().unwrap_or_default())
    }
}

impl Default for Gzip {
    fn default() -> Self {
        Self::new()
    }
}
