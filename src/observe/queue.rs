//! The output of the log: a bounded queue, and a thread of its own that writes it. Logging never waits for the
//! reader of the log: lines without room are dropped, counted, and reported when the log continues.

use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use env_logger::Target;
use portico_actors::mutex::lock;
use prometheus_client::metrics::counter::Counter;

/// Octets that wait to be written, at most.
const CAPACITY: usize = 1024 * 1024;
/// The pause before another attempt if the reader takes nothing.
const PAUSE: Duration = Duration::from_millis(20);
/// How long lines are gathered before they are written: waking a thread for each costs a call more than its line.
const GATHER: Duration = Duration::from_millis(10);
/// How long the end of the process waits for lines that are not read.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The queue to standard error, once it was begun.
static STANDARD_ERROR: OnceLock<Queue> = OnceLock::new();
/// Lines that were dropped since the process began.
pub(super) static DROPPED: LazyLock<Counter> = LazyLock::new(Counter::default);

/// Has `builder` hand its lines to the queue to standard error.
///
/// # Errors
/// When there can be no thread.
pub fn attach(builder: &mut env_logger::Builder) -> io::Result<()> {
    let queue = Queue::start(io::stderr(), CAPACITY, |dropped| {
        log::error!("{dropped} lines of the log were dropped: they were not read in time");
    })?;
    let queue = STANDARD_ERROR.get_or_init(|| queue);
    builder.target(Target::Pipe(Box::new(queue.clone())));
    Ok(())
}

/// Says `text` on standard error: behind the lines of the log, where there is a queue, else at once.
pub fn say(text: &str) {
    match STANDARD_ERROR.get() {
        Some(queue) => queue.push(text.as_bytes()),
        // Standard error may be closed.
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}

/// Waits, for a limited time, until the queue is written: the process ends.
pub fn finish() {
    if let Some(queue) = STANDARD_ERROR.get() {
        queue.finish(LAST_LINES);
    }
}

/// A queue of lines.
#[derive(Clone)]
struct Queue(Arc<Shared>);

struct Shared {
    lines: Mutex<Lines>,
    /// There is something to write.
    filled: Condvar,
    /// Notified when there is nothing left to write.
    emptied: Condvar,
}

struct Lines {
    waiting: Vec<u8>,
    capacity: usize,
    /// Some were taken out and are being written.
    writing: bool,
    /// The process ends and waits for them: lines are not batched any more.
    ending: bool,
    /// Dropped and not reported yet.
    dropped: u64,
    /// The writing thread: its own lines always have room.
    writer: Option<ThreadId>,
}

impl Queue {
    /// Starts to write to `out`; `tell` logs how many lines were dropped.
    fn start(out: impl Write + Send + 'static, capacity: usize, tell: fn(u64)) -> io::Result<Self> {
        let lines = Lines { waiting: Vec::new(), capacity, writing: false, ending: false, dropped: 0, writer: None };
        let queue =
            Self(Arc::new(Shared { lines: Mutex::new(lines), filled: Condvar::new(), emptied: Condvar::new() }));
        let own = queue.clone();
        let run = move || own.run(out, tell);
        thread::Builder::new().name("log".to_owned()).spawn(run)?;
        Ok(queue)
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        lock(&self.0.lines)
    }

    fn push(&self, line: &[u8]) {
        let mut lines = self.lines();
        let fits = lines.waiting.len() + line.len() <= lines.capacity;
        if fits || lines.writer == Some(thread::current().id()) {
            let is_first = lines.waiting.is_empty();
            lines.waiting.extend_from_slice(line);
            drop(lines);
            if is_first {
                self.0.filled.notify_one();
            }
        } else {
            lines.drop_some(1);
        }
    }

    fn run(&self, mut out: impl Write, tell: fn(u64)) {
        self.lines().writer = Some(thread::current().id());
        let mut taken = Vec::new();
        loop {
            let mut lines = self.lines();
            lines.writing = false;
            while lines.waiting.is_empty() {
                self.0.emptied.notify_all();
                lines = self.0.filled.wait(lines).unwrap_or_else(PoisonError::into_inner);
            }
            let gathers = |lines: &mut Lines| !lines.ending && lines.waiting.len() < lines.capacity / 2;
            let gathered = self.0.filled.wait_timeout_while(lines, GATHER, gathers);
            (lines, _) = gathered.unwrap_or_else(PoisonError::into_inner);
            lines.writing = true;
            std::mem::swap(&mut lines.waiting, &mut taken);
            drop(lines);
            let left = write(&mut out, &taken);
            let mut lines = self.lines();
            if left > 0 {
                // Reported once the reader takes lines again.
                lines.drop_some(left);
            } else {
                let dropped = std::mem::take(&mut lines.dropped);
                drop(lines);
                if dropped > 0 {
                    tell(dropped);
                }
            }
            taken.clear();
        }
    }

    fn finish(&self, limit: Duration) {
        let unwritten = |lines: &mut Lines| lines.writing || !lines.waiting.is_empty();
        let mut lines = self.lines();
        lines.ending = true;
        self.0.filled.notify_one();
        drop(self.0.emptied.wait_timeout_while(lines, limit, unwritten));
    }
}

impl Lines {
    fn drop_some(&mut self, count: u64) {
        self.dropped += count;
        DROPPED.inc_by(count);
    }
}

/// Writes all lines, however long that takes. Returns how many could not be written.
fn write(out: &mut impl Write, mut lines: &[u8]) -> u64 {
    while !lines.is_empty() {
        match out.write(lines) {
            Ok(written @ 1..) => lines = lines.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Standard error is shared with the parent process, and may be set to non-blocking by it.
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::park_timeout(PAUSE),
            Ok(0) | Err(_) => break,
        }
    }
    lines.iter().filter(|octet| **octet == b'\n').count() as u64
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    // Threads, and no async worker.
    #![allow(clippy::disallowed_types)]

    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::time::Instant;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    /// Hands each piece over, and waits until it is taken.
    struct Reader(SyncSender<Vec<u8>>);

    impl Write for Reader {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0.send(piece.to_owned()).map_err(io::Error::other)?;
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start(capacity: usize, tell: fn(u64)) -> (Queue, Receiver<Vec<u8>>) {
        let (sender, receiver) = sync_channel(0);
        (Queue::start(Reader(sender), capacity, tell).unwrap(), receiver)
    }

    /// Waits until the thread is writing, and its queue is empty.
    fn until_stuck(queue: &Queue) {
        let until = Instant::now() + DEADLINE;
        while !(queue.lines().writing && queue.lines().waiting.is_empty()) {
            assert!(Instant::now() < until, "the lines were not taken");
            thread::yield_now();
        }
    }

    #[test]
    fn lines_that_find_no_room_are_counted_and_told_of() {
        static QUEUE: OnceLock<Queue> = OnceLock::new();
        let (queue, reader) = start(8, |dropped| QUEUE.get().unwrap().push(format!("{dropped} dropped\n").as_bytes()));
        let queue = QUEUE.get_or_init(|| queue);
        queue.push(b"one\n");
        until_stuck(queue);
        for line in ["two\n", "six\n", "ten\n", "three\n"] {
            queue.push(line.as_bytes());
        }
        let mut read = Vec::new();
        while !read.ends_with(b"dropped\n") {
            read.extend(reader.recv_timeout(DEADLINE).unwrap());
        }
        assert_eq!(String::from_utf8(read).unwrap(), "one\ntwo\nsix\n2 dropped\n");
    }

    #[test]
    fn the_end_waits_for_lines_and_not_for_ever() {
        let (queue, reader) = start(1024, |_| ());
        queue.push(b"one\n");
        until_stuck(&queue);
        queue.finish(Duration::from_millis(1));
        let read = thread::spawn(move || reader.recv_timeout(DEADLINE).unwrap());
        queue.finish(DEADLINE);
        assert!(!queue.lines().writing, "it is written by then");
        assert_eq!(read.join().unwrap(), b"one\n");
    }

    #[test]
    fn a_reader_that_is_gone_stops_nobody() {
        let (queue, reader) = start(1024, |_| ());
        drop(reader);
        for _ in 0..3 {
            queue.push(b"one\n");
            queue.finish(DEADLINE);
        }
        assert_eq!(queue.lines().dropped, 3);
    }
}
