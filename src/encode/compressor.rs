//! A stream in gzip (RFC 1952) or Zstandard (RFC 8878) without buffering: each chunk is written out completely.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

/// Zstandard's level: faster than gzip's fastest, and smaller.
const LEVEL: i32 = 1;
/// The binary logarithm of Zstandard's window: memory for each stream, here and at its reader.
const WINDOW: u32 = 19;

/// A body that is being compressed.
pub enum Compressor {
    /// As gzip.
    Gzip(GzEncoder<Vec<u8>>),
    /// As Zstandard.
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

/// Returns the complete output of `encoder` for `chunk`.
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

    /// Starts a body in Zstandard.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn zstd() -> io::Result<Self> {
        let mut encoder = ZstdEncoder::new(Vec::new(), LEVEL)?;
        encoder.window_log(WINDOW)?;
        Ok(Self::Zstd(encoder))
    }

    /// Returns everything that a reader needs to decompress `chunk` now.
    ///
    /// # Errors
    /// If the encoder fails: its output would not match its input.
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
