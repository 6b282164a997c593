//! Bounds what statements keep in temporary files. SQLite has no bound for sorts, groups and DISTINCT, and reports no
//! size; on Linux the kernel knows (`man 5 proc`): how much each thread writes, and how large the files are. One thread
//! of the process looks ten times a second while statements run, and stops the one that has written most.

use std::fs::{metadata, read_dir, read_link, read_to_string};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::sqlite::connect::open::SessionKind;
use crate::sqlite::session::cancel_flag::CancelFlag;
use portico_core::error::Kind;
use portico_core::finding::{Finding, FindingSeverity};
use portico_core::mutex::lock;

/// Bytes that the temporary files of all statements may have together.
const MOST: u64 = if cfg!(test) { 64 << 20 } else { 1 << 30 };
/// Bytes that are written between two looks at the files, which take long if many sockets are open. A statement that
/// has written less is not stopped.
const STRIDE: u64 = MOST / 8;
/// The time between two looks at what was written.
const INTERVAL: Duration = Duration::from_millis(100);
/// Looks without a statement before the thread rests.
const IDLE_LOOKS: u32 = 20;

static STATEMENTS: Mutex<Statements> =
    Mutex::new(Statements { running: Vec::new(), next: 0, watching: Watching::Never });
static BEGUN: Condvar = Condvar::new();

struct Statements {
    running: Vec<Statement>,
    next: u64,
    watching: Watching,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Watching {
    /// The thread was not started.
    Never,
    Resting,
    Awake,
}

/// A statement that runs on a thread of its session.
struct Statement {
    number: u64,
    kind: SessionKind,
    cancel: Arc<CancelFlag>,
    /// The file in which the kernel counts the thread's writes.
    counts: Arc<str>,
    /// What the thread had written at the first look, and at the last.
    written: Option<(u64, u64)>,
}

impl Statement {
    fn since_begin(&self) -> u64 {
        self.written.map_or(0, |(first, last)| last - first)
    }
}

/// Ends the watch over a statement when it is dropped.
pub(super) struct Watch(u64);

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&STATEMENTS).running.retain(|statement| statement.number != self.0);
    }
}

thread_local! {
    static COUNTS: Arc<str> = counts();
}

/// The calling thread's file; an empty path where there is none.
fn counts() -> Arc<str> {
    let thread = read_link("/proc/thread-self").unwrap_or_default();
    Path::new("/proc").join(thread).join("io").to_string_lossy().into()
}

/// Watches the statement that the calling thread begins, until the guard is dropped.
pub(super) fn watch(kind: SessionKind, cancel: &Arc<CancelFlag>) -> Watch {
    let mut statements = lock(&STATEMENTS);
    let number = statements.next;
    statements.next += 1;
    let (cancel, counts) = (Arc::clone(cancel), COUNTS.with(Arc::clone));
    statements.running.push(Statement { number, kind, cancel, counts, written: None });
    match statements.watching {
        Watching::Awake => {}
        Watching::Resting => BEGUN.notify_one(),
        Watching::Never => {
            let started = thread::Builder::new().name("temporary-files".to_owned()).spawn(look_again_and_again);
            // Without a thread now, the next statement tries again.
            if started.is_ok() {
                statements.watching = Watching::Awake;
            }
        }
    }
    Watch(number)
}

fn look_again_and_again() {
    let (mut fresh, mut idle) = (0, 0);
    loop {
        thread::park_timeout(INTERVAL);
        let mut statements = lock(&STATEMENTS);
        idle = if statements.running.is_empty() { idle + 1 } else { 0 };
        if idle > IDLE_LOOKS {
            statements.watching = Watching::Resting;
            while statements.running.is_empty() {
                statements = BEGUN.wait(statements).unwrap_or_else(PoisonError::into_inner);
            }
            statements.watching = Watching::Awake;
            idle = 0;
        }
        fresh += look(&mut statements.running);
        drop(statements);
        if fresh >= STRIDE {
            if kept() > MOST {
                stop_largest(&lock(&STATEMENTS).running);
            } else {
                fresh = 0;
            }
        }
    }
}

/// Takes over what each thread has written. Returns how much that is since the last look.
fn look(running: &mut [Statement]) -> u64 {
    let mut fresh = 0;
    for statement in running {
        let Some(now) = written(&statement.counts) else { continue };
        let (first, last) = statement.written.unwrap_or((now, now));
        fresh += now.saturating_sub(last);
        statement.written = Some((first, now.max(last)));
    }
    fresh
}

/// Stops the statement that has written most: one that only reads, if one has written much, for what others write is
/// mostly their tables. While one that was stopped is about to end, no other is.
fn stop_largest(running: &[Statement]) {
    if running.iter().any(|statement| statement.cancel.verdict().is_some()) {
        return;
    }
    let of_kind = |kind: SessionKind| {
        let large = running.iter().filter(move |it| it.kind == kind && it.since_begin() >= STRIDE);
        large.max_by_key(|statement| statement.since_begin())
    };
    if let Some(largest) = of_kind(SessionKind::Reader).or_else(|| of_kind(SessionKind::Writer)) {
        largest.cancel.stop(Kind::TooLarge);
    }
}

/// Returns the bytes that a thread has written so far.
fn written(counts: &str) -> Option<u64> {
    let counts = read_to_string(counts).ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// Returns the bytes on disk of the process's files that have no name, as SQLite's temporary files have none: `unlink`
/// right after the opening, or `O_TMPFILE`, whose link reads `#` and a number.
fn kept() -> u64 {
    let Ok(files) = read_dir("/proc/self/fd") else { return 0 };
    let files = files.flatten().map(|entry| entry.path());
    let temporary = files.filter(|file| read_link(file).is_ok_and(|target| is_temporary(&target)));
    temporary.filter_map(|file| metadata(file).ok()).map(|file| file.blocks() * 512).sum()
}

fn is_temporary(target: &Path) -> bool {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(" (deleted)") && (name.starts_with('#') || name.starts_with("etilqs_"))
}

/// Returns what to know if statements cannot be bounded in this process: of a program with capabilities in its file,
/// only root may read what the kernel knows.
pub(crate) fn unbounded() -> Option<Finding> {
    let read = read_to_string("/proc/thread-self/io").and_then(|_| read_dir("/proc/self/fd"));
    let error = read.err()?;
    let message = format!("what its queries keep in temporary files is not bounded: /proc cannot be read: {error}");
    let remedy = "start the program without capabilities in its file, or give SQLITE_TMPDIR a disk with a quota";
    Some(Finding::new(FindingSeverity::Warning, message, remedy))
}
