//! A stream in gzip (RFC 1952) or Zstandard (RFC 8878) that does not hold back: each chunk that
//! goes in comes out whole.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

/// Zstandard's level: faster than gzip's fastest, and smaller.
const LEVEL: i32 = 1;
/// The binary logarithm of Zstandard's window: memory for each stream, here and at its reader.
const WINDOW: u32 = 19;

/// One body on its way into a compressed form.
pub struct Packing(Encoder);

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

impl Packing {
    /// Begins a body in gzip.
    pub fn gzip() -> Self {
        Self(Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::fast())))
    }

    /// Begins a body in Zstandard.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn zstd() -> io::Result<Self> {
        let mut encoder = ZstdEncoder::new(Vec::new(), LEVEL)?;
        encoder.window_log(WINDOW)?;
        Ok(Self(Encoder::Zstd(encoder)))
    }

    /// Everything that a reader needs to read `chunk` now.
    ///
    /// # Errors
    /// When the encoder fails: what comes out would not be what went in.
    pub fn chunk(&mut self, chunk: &[u8]) -> io::Result<Bytes> {
        let packed = match &mut self.0 {
            Encoder::Gzip(encoder) => {
                encoder.write_all(chunk)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Encoder::Zstd(encoder) => {
                encoder.write_all(chunk)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(Bytes::from(std::mem::take(packed)))
    }

    /// The end of the body.
    ///
    /// # Errors
    /// As [`Packing::chunk`].
    pub fn finish(self) -> io::Result<Bytes> {
        match self.0 {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
        }
        .map(Bytes::from)
    }
}
