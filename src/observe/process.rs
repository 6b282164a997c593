//! The process itself, as the kernel sees it, under the names that Prometheus gives these numbers
//! everywhere. They are read when they are asked for.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads `/proc/self`, which asks no disk. Where there is none, nothing is told.
#[derive(Debug)]
pub(super) struct Process;

/// What `/proc/self/stat` tells (`proc_pid_stat(5)`).
#[derive(Debug, PartialEq)]
struct Stat {
    /// Seconds of user and system time.
    cpu: f64,
    threads: u64,
    /// Seconds after the machine's start.
    started: f64,
    /// Bytes.
    virtual_memory: u64,
    /// Bytes.
    resident_memory: u64,
}

impl Stat {
    fn read(text: &str, ticks: f64, page: u64) -> Option<Self> {
        // The name in front may hold anything, also spaces and parentheses.
        let (_, rest) = text.rsplit_once(')')?;
        // Field 3 of the manual is the first one here.
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let seconds = |field: usize| fields.get(field - 3)?.parse::<f64>().ok().map(|count| count / ticks);
        Some(Self {
            cpu: seconds(14)? + seconds(15)?,
            threads: number(20)?,
            started: seconds(22)?,
            virtual_memory: number(23)?,
            resident_memory: number(24)? * page,
        })
    }
}

/// The soft limit of open files (`proc_pid_limits(5)`); none when it is unlimited.
fn descriptor_limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// When the machine started, in seconds since 1970.
fn machine_started(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: Option<f64>| -> Result<(), std::fmt::Error> {
            let Some(value) = value else { return Ok(()) };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let ticks = rustix::param::clock_ticks_per_second();
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(0);
        let stat = fs::read_to_string("/proc/self/stat").ok();
        let stat = stat.and_then(|text| Stat::read(&text, real(ticks), page));
        let descriptors = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        // The one that counts them is among them.
        let descriptors = descriptors.and_then(|count| u64::try_from(count.saturating_sub(1)).ok());
        let limit = fs::read_to_string("/proc/self/limits").ok().and_then(|text| descriptor_limit(&text));
        let machine = fs::read_to_string("/proc/stat").ok().and_then(|text| machine_started(&text));
        let of = |pick: fn(&Stat) -> u64| stat.as_ref().map(|stat| real(pick(stat)));
        gauge("process_resident_memory_bytes", "Memory in use", of(|stat| stat.resident_memory))?;
        gauge("process_virtual_memory_bytes", "Memory addressed", of(|stat| stat.virtual_memory))?;
        gauge("process_threads", "Threads", of(|stat| stat.threads))?;
        gauge("process_open_fds", "Open file descriptors", descriptors.map(real))?;
        gauge("process_max_fds", "File descriptors that may be open", limit.map(real))?;
        let started = stat.as_ref().and_then(|stat| Some(machine? + stat.started));
        gauge("process_start_time_seconds", "When the process started, in seconds since 1970", started)?;
        if let Some(stat) = &stat {
            let cpu = ConstCounter::new(stat.cpu);
            cpu.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                "User and system time",
                None,
                cpu.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

/// What is counted here stays far below the numbers that a float cannot tell apart.
#[allow(clippy::cast_precision_loss)]
fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words_are_read() {
        let line = "7 (a ) b) S 1 7 7 0 -1 4194560 5 0 0 0 150 50 0 0 20 0 9 0 1200 4096000 25 18446744073709551615 1";
        let stat = Stat { cpu: 2.0, threads: 9, started: 12.0, virtual_memory: 4_096_000, resident_memory: 102_400 };
        assert_eq!(Stat::read(line, 100.0, 4096), Some(stat));
        assert_eq!(Stat::read("7 (a) S 1", 100.0, 4096), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n";
        assert_eq!(descriptor_limit(limits), Some(1024));
        assert_eq!(machine_started("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
    }
}
