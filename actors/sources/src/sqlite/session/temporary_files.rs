//! Limits what statements keep in temporary files. SQLite itself has no limit for sorts, groups and DISTINCT, and
//! does not report their size; on Linux the kernel does (`man 5 proc`). Elsewhere there is no limit.

use std::fs::{metadata, read_dir, read_link, read_to_string};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Bytes that the temporary files of all statements may have together.
const MOST: u64 = if cfg!(test) { 64 << 20 } else { 1 << 30 };
/// Bytes that a statement writes between two looks at the files: one that writes less is never stopped.
const STRIDE: u64 = MOST / 8;
/// The number of engine calls between two checks of what was written, each of which takes some microseconds.
const CALLS: u32 = 32;

/// The temporary files that a statement, on its thread, writes. Nothing is read for a short one.
#[derive(Default)]
pub(super) struct TemporaryFiles {
    /// The thread's count of bytes at which the files are looked at next.
    next: Option<u64>,
    calls: u32,
}

impl TemporaryFiles {
    /// Returns true if the calling thread's statement has to end: it has written much, and all
    /// temporary files together are too large. To be asked on the statement's thread alone.
    pub(super) fn are_too_large(&mut self) -> bool {
        self.calls = (self.calls + 1) % CALLS;
        if self.calls != 0 {
            return false;
        }
        let Some(now) = written() else { return false };
        let is_due = self.next.is_some_and(|next| now >= next);
        if is_due || self.next.is_none() {
            self.next = Some(now + STRIDE);
        }
        is_due && kept().is_some_and(|bytes| bytes > MOST)
    }
}

/// Bytes that the calling thread has written so far.
fn written() -> Option<u64> {
    let counts = read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// Returns the bytes on disk of the process's unlinked files, which SQLite's temporary files are (`unlink` directly
/// after opening, or `O_TMPFILE`, whose link reads `#` and a number).
fn kept() -> Option<u64> {
    let files = read_dir("/proc/self/fd").ok()?.flatten().map(|entry| entry.path());
    let temporary = files.filter(|file| read_link(file).is_ok_and(|target| is_temporary(&target)));
    Some(temporary.filter_map(|file| metadata(file).ok()).map(|file| file.blocks() * 512).sum())
}

fn is_temporary(target: &Path) -> bool {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(" (deleted)") && (name.starts_with('#') || name.starts_with("etilqs_"))
}
