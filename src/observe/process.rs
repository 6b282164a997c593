//! Metrics of the process from the kernel, under the names that Prometheus uses everywhere. They are read on
//! request.

use std::fs;

use procfs::WithCurrentSystemInfo;
use procfs::process::{Process as This, Stat};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::process::{Resource, getrlimit};

/// Reads `/proc/self`, which needs no disk. Without it there are no such metrics.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: Option<f64>| -> Result<(), std::fmt::Error> {
            let Some(value) = value else { return Ok(()) };
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let descriptors = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        // The descriptor used for counting is one of them.
        let descriptors = descriptors.and_then(|count| u64::try_from(count.saturating_sub(1)).ok());
        let Ok(this) = This::myself() else { return Ok(()) };
        let stat = this.stat().ok();
        let ticks = real(procfs::ticks_per_second());
        let of = |pick: fn(&Stat) -> u64| stat.as_ref().map(|stat| real(pick(stat)));
        let limit = getrlimit(Resource::Nofile).current;
        let machine = procfs::boot_time_secs().ok().map(real);
        gauge("process_resident_memory_bytes", "Memory in use", of(|stat| stat.rss_bytes().get()))?;
        gauge("process_virtual_memory_bytes", "Memory addressed", of(|stat| stat.vsize))?;
        gauge("process_threads", "Threads", of(|stat| u64::try_from(stat.num_threads).unwrap_or(0)))?;
        gauge("process_open_fds", "Open file descriptors", descriptors.map(real))?;
        gauge("process_max_fds", "File descriptors that may be open", limit.map(real))?;
        let started = of(|stat| stat.starttime).and_then(|started| Some(machine? + started / ticks));
        gauge("process_start_time_seconds", "When the process started, in seconds since 1970", started)?;
        if let Some(cpu) = of(|stat| stat.utime + stat.stime) {
            let cpu = ConstCounter::new(cpu / ticks);
            let help = "User and system time";
            cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)?;
        }
        Ok(())
    }
}

/// The counts here stay far below the limit of exact floats.
#[allow(clippy::cast_precision_loss)]
fn real(count: u64) -> f64 {
    count as f64
}
