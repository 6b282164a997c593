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
pub enum Compressor {
    /// As gzip.
    Gzip(GzEncoder<Vec<u8>>),
    /// As Zstandard.
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

/// What comes out of `encoder` when `chunk` goes in, all of it.
fn packed<W: Write>(encoder: &mut W, chunk: &[u8], out: impl Fn(&mut W) -> &mut Vec<u8>) -> io::Result<Vec<u8>> {
    encoder.write_all(chunk)?;
    encoder.flush()?;
    Ok(std::mem::take(out(encoder)))
}

impl Compressor {
    /// Begins a body in gzip.
    pub fn gzip() -> Self {
        Self::Gzip(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// Begins a body in Zstandard.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn zstd() -> io::Result<Self> {
        let mut encoder = ZstdEncoder::new(Vec::new(), LEVEL)?;
        encoder.window_log(WINDOW)?;
        Ok(Self::Zstd(encoder))
    }

    /// Everything that a reader needs to read `chunk` now.
    ///
    /// # Errors
    /// When the encoder fails: what comes out would not be what went in.
    pub fn chunk(&mut self, chunk: &[u8]) -> io::Result<Bytes> {
        match self {
            Self::Gzip(encoder) => packed(encoder, chunk, GzEncoder::get_mut),
            Self::Zstd(encoder) => packed(encoder, chunk, ZstdEncoder::get_mut),
        }
        .map(Bytes::from)
    }

    /// The end of the body.
    ///
    /// # Errors
    /// As [`Compressor::chunk`].
    pub fn finish(self) -> io::Result<Bytes> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
        .map(Bytes::from)
    }
}
