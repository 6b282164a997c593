//! The books of the soak test: what came of the calls, and what the process holds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

/// How a call did not end as it should.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error was answered: its code, and all of it. A fault of the database may be the cause.
    Error(i64, String),
    /// An answer that nothing excuses.
    Wrong(String),
}

/// What came of a call.
pub(crate) type Outcome<T = ()> = Result<T, Fault>;

/// Of an answer that broke off: how the forms without room for an error tell one.
pub(crate) const CUT: i64 = -1;
/// Of a tool's result that is an error.
pub(crate) const TOOL: i64 = -2;
/// What a source that is away, falls silent or is slow may bring about: timed out, too many calls
/// waiting, unavailable.
const EXCUSED: [i64; 4] = [1500, 1600, 1700, CUT];
/// The same in a tool's words, which have no codes.
const EXCUSED_WORDS: [&str; 6] = [
    "is not available",
    "is unavailable",
    "took longer than",
    "is busy",
    "every session of this connection",
    NO_PROCEDURES,
];
/// A source that is away may show no procedures of its own.
pub(crate) const NO_PROCEDURES: &str = "no tool soak_range";
/// Wrong answers that are printed whole; the others are only counted.
const PRINTED: u64 = 20;

impl Fault {
    /// Nothing excuses this.
    pub(crate) fn wrong(what: impl fmt::Display, answer: impl fmt::Display) -> Self {
        let answer: String = answer.to_string().chars().take(600).collect();
        Self::Wrong(format!("{what}: {answer}"))
    }
}

/// Whether a fault of the database may have brought this error about.
fn excused(code: i64, text: &str) -> bool {
    EXCUSED.contains(&code) || (code == TOOL && EXCUSED_WORDS.iter().any(|words| text.contains(words)))
}

/// Durations in buckets that are 5 % wide, so that days of them take no more room.
struct Durations {
    buckets: Vec<u64>,
    count: u64,
}

/// Buckets of a doubling.
const PER_DOUBLING: u32 = 16;

impl Default for Durations {
    fn default() -> Self {
        Self { buckets: vec![0; 32 * PER_DOUBLING as usize], count: 0 }
    }
}

impl Durations {
    fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(16);
        // The place of the highest bit, and the four bits behind it.
        let power = micros.ilog2();
        let rest = (micros >> (power - 4)) & 15;
        let bucket = (power * PER_DOUBLING) as usize + usize::try_from(rest).unwrap_or(0);
        let last = self.buckets.len() - 1;
        self.buckets[bucket.min(last)] += 1;
        self.count += 1;
    }

    /// Milliseconds within which `percent` of the calls were over.
    fn percentile(&self, percent: u64) -> f64 {
        let mut left = (self.count * percent).div_ceil(100);
        for (bucket, count) in self.buckets.iter().enumerate() {
            if left <= *count {
                let bucket = u32::try_from(bucket).unwrap_or(u32::MAX);
                let (power, rest) = (bucket / PER_DOUBLING, bucket % PER_DOUBLING);
                return f64::from(17 + rest) * f64::from(power).exp2() / 16.0 / 1e3;
            }
            left -= count;
        }
        0.0
    }
}

/// The calls of a span.
#[derive(Default)]
struct Span {
    calls: BTreeMap<(&'static str, &'static str), Durations>,
    errors: BTreeMap<(&'static str, i64), u64>,
}

/// What came of all calls.
#[derive(Default)]
pub(crate) struct Ledger {
    minute: RefCell<Span>,
    all: RefCell<Span>,
    wrong: RefCell<u64>,
    hung: RefCell<u64>,
    /// The first error of each code, of each connection.
    firsts: RefCell<BTreeMap<(&'static str, i64), String>>,
    began: RefCell<Option<Instant>>,
    minutes: RefCell<u64>,
}

impl Ledger {
    /// From here on calls are counted by the minute.
    pub(crate) fn start(&self) {
        *self.minute.borrow_mut() = Span::default();
        *self.began.borrow_mut() = Some(Instant::now());
    }

    /// A call of `kind` on the connection `target` that is over, or hangs where there is no
    /// `ended`. Only one that `may_fail` may end with an error.
    pub(crate) fn add(
        &self,
        kind: &'static str,
        target: &'static str,
        took: Duration,
        ended: Option<Outcome>,
        may_fail: bool,
    ) {
        if let Some(Err(Fault::Error(code, text))) = &ended {
            self.firsts.borrow_mut().entry((target, *code)).or_insert_with(|| text.chars().take(300).collect());
        }
        for span in [&self.minute, &self.all] {
            let mut span = span.borrow_mut();
            span.calls.entry((target, kind)).or_default().add(took);
            if let Some(Err(Fault::Error(code, _))) = &ended {
                *span.errors.entry((target, *code)).or_default() += 1;
            }
        }
        let what = match ended {
            Some(Ok(())) => return,
            Some(Err(Fault::Error(code, ref text))) if may_fail && excused(code, text) => return,
            Some(Err(Fault::Error(code, text))) => format!("error {code} without a cause: {text}"),
            Some(Err(Fault::Wrong(text))) => text,
            None => {
                *self.hung.borrow_mut() += 1;
                println!("HANGS: {kind} on {target}");
                return;
            }
        };
        let mut wrong = self.wrong.borrow_mut();
        *wrong += 1;
        if *wrong <= PRINTED {
            let what: String = what.chars().take(1000).collect();
            println!("WRONG after {:.1} s: {kind} on {target}: {what}", took.as_secs_f64());
        }
    }

    /// Tells the minute that is over, and begins the next.
    pub(crate) fn tell_minute(&self, process: &Process) {
        let span = self.minute.take();
        *self.minutes.borrow_mut() += 1;
        println!("minute {}: {}", self.minutes.borrow(), Short(&span));
        println!("  {process}; wrong {}, hanging {}", self.wrong.borrow(), self.hung.borrow());
    }

    /// Tells everything, and whether something was wrong.
    pub(crate) fn tell_all(&self, weather: &super::Weather) -> bool {
        let all = self.all.borrow();
        println!("all: {:28}{:>9} {:>9} {:>9}", "kind", "calls", "p50 ms", "p99 ms");
        for ((target, kind), durations) in &all.calls {
            let (half, most) = (durations.percentile(50), durations.percentile(99));
            println!("     {:28}{:>9} {half:>9.1} {most:>9.1}", format!("{target} {kind}"), durations.count);
        }
        for ((target, code), text) in self.firsts.borrow().iter() {
            println!("the first {code} of {target}: {text}");
        }
        println!("faults: {}", weather.faults());
        let took = self.began.borrow().map_or(0.0, |began| began.elapsed().as_secs_f64());
        let (wrong, hung) = (*self.wrong.borrow(), *self.hung.borrow());
        println!("{} over {took:.0} s; wrong {wrong}, hanging {hung}", Short(&all));
        wrong + hung > 0
    }
}

/// A span in one or two lines.
struct Short<'a>(&'a Span);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = &self.0.calls;
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        let mut together = Durations::default();
        for ((_, kind), durations) in calls {
            *kinds.entry(kind).or_default() += durations.count;
            together.count += durations.count;
            for (sum, count) in together.buckets.iter_mut().zip(&durations.buckets) {
                *sum += count;
            }
        }
        write!(
            f,
            "{} calls, p50 {:.1} ms, p99 {:.1} ms",
            together.count,
            together.percentile(50),
            together.percentile(99)
        )?;
        write!(f, " (")?;
        for (place, (kind, count)) in kinds.iter().enumerate() {
            write!(f, "{}{kind} {count}", if place == 0 { "" } else { ", " })?;
        }
        write!(f, "); errors:")?;
        if self.0.errors.is_empty() {
            write!(f, " none")?;
        }
        for ((target, code), count) in &self.0.errors {
            match *code {
                CUT => write!(f, " {target} broken off {count}")?,
                TOOL => write!(f, " {target} tool {count}")?,
                code => write!(f, " {target} {code} {count}")?,
            }
        }
        Ok(())
    }
}

/// What this process holds, as the kernel tells it.
pub(crate) struct Process {
    /// Resident memory, in MiB.
    memory: u64,
    pub(crate) descriptors: usize,
    threads: u64,
}

impl Process {
    /// As it is now.
    pub(crate) fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        // The one that counts them is among them.
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().count() - 1;
        Self { memory: line("VmRSS:") / 1024, descriptors, threads: line("Threads:") }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB, {} descriptors, {} threads", self.memory, self.descriptors, self.threads)
    }
}
