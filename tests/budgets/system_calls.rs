//! What one call asks of the kernel, by kind, as strace counts it for the program.
//!
//! Counted are the threads that turn for each call. The others wake by the clock: how much of that falls on a call depends
//! on how long the call takes. The log has no lines of calls here, for its thread gathers them by the clock as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use procfs::process::Process;

use super::ALONE;
use super::budget::{Report, say};
use super::caller::{self, Client, FIRST, Scenario};
use super::support::postgres::{Said, TestPostgres};
use super::support::process::output;

/// Kinds by what they are for, and how many of them a tool's call and a list may have.
const BUDGETS: [(&str, &[&str], f64, f64); 7] = [
    ("waits for events", &["epoll_wait", "epoll_pwait", "epoll_pwait2"], 3.7, 2.7),
    ("receives", &["recvfrom", "recvmsg", "read"], 2.2, 1.1),
    ("sends", &["sendto", "sendmsg", "writev"], 2.2, 1.1),
    // The audit trail's record; and the worker is woken by the trail, unless it turns already.
    ("writes", &["write"], 2.3, 2.3),
    // The trail's thread waits, and is woken.
    ("waits for threads", &["futex"], 2.3, 2.3),
    // Whether the trail's file is still the one at its path: a record is nowhere if it was moved away and compressed.
    ("looks at files", &["statx", "stat", "newfstatat"], 1.2, 1.2),
    ("others", &[], 0.2, 0.2),
];
/// All of them.
const TOTAL: (f64, f64) = (13.3, 9.9);

#[tokio::test]
async fn a_call_asks_the_kernel_no_more_often_than_its_budget_says() {
    let _alone = ALONE.lock().await;
    let url = TestPostgres::shared().database("kernel").await;
    caller::fill(&url).await;
    let service = caller::configuration(&url).serve_with(&[("RUST_LOG", "info,portico::call=off")]).await;
    let pid = service.id().as_raw_nonzero().get();
    let file = service.folder.path().join("strace");
    let mut report = Report::new(file!());
    for scenario in Scenario::ALL {
        let mut client = Client::dial(service.port(), &service.reader);
        let before = turns(pid);
        let attach = || {
            let turned = |(thread, turns): (i32, u64)| turns - before.get(&thread).unwrap_or(&0) >= FIRST as u64 / 2;
            Strace::attach(turns(pid).into_iter().filter(|turns| turned(*turns)).map(|(thread, _)| thread), &file)
        };
        let counted = match client.call(scenario, attach, |strace| strace.map(Strace::end)) {
            Ok(counted) => counted,
            Err(why) => return say(&format!("passed over: system calls are not counted: {why}")),
        };
        let is_list = matches!(scenario, Scenario::ToolsList);
        let kinds = |kinds: &[&str]| {
            let of = |name: &str| match kinds {
                [] => BUDGETS.iter().all(|(_, known, ..)| !known.contains(&name)),
                kinds => kinds.contains(&name),
            };
            caller::mean(counted.iter().filter(|(name, _)| of(name)).map(|(_, count)| count).sum())
        };
        for (what, names, of_call, of_list) in BUDGETS {
            report.bound(scenario, what, kinds(names), if is_list { of_list } else { of_call });
        }
        let total = caller::mean(counted.values().sum());
        report.bound(scenario, "system calls", total, if is_list { TOTAL.1 } else { TOTAL.0 });
    }
    report.close();
}

/// How often each thread of a process has waited for something.
fn turns(pid: i32) -> BTreeMap<i32, u64> {
    let threads = Process::new(pid).unwrap().tasks().unwrap().flatten();
    threads.filter_map(|thread| Some((thread.tid, thread.status().ok()?.voluntary_ctxt_switches?))).collect()
}

/// `strace` on some threads.
struct Strace<'f> {
    child: Child,
    file: &'f Path,
}

impl<'f> Strace<'f> {
    /// Begins to count. Where there is no strace, or it may not look, says why.
    fn attach(threads: impl Iterator<Item = i32>, file: &'f Path) -> Result<Self, String> {
        let mut command = Command::new("strace");
        command.args(["-c", "-U", "calls,name", "-o"]).arg(file);
        let mut count = 0;
        for thread in threads {
            command.args(["-p", &thread.to_string()]);
            count += 1;
        }
        assert_ne!(count, 0, "no thread turns for each call");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("strace cannot be started: {error}"))?;
        let said = Said::by(child.stderr.take().unwrap());
        for _ in 0..count {
            match said.next("strace to attach") {
                Some(line) if line.contains(" attached") => {}
                line => {
                    let _ = child.kill();
                    output(child);
                    return Err(line.unwrap_or_else(|| "strace ended without a word".to_owned()));
                }
            }
        }
        Ok(Self { child, file })
    }

    /// Lets go of the process; how often each kind was asked for.
    fn end(self) -> BTreeMap<String, usize> {
        let status = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        output(self.child);
        let table = std::fs::read_to_string(self.file).unwrap();
        let line = |line: &str| {
            let (count, name) = line.trim().split_once(' ')?;
            Some((name.trim().to_owned(), count.parse().ok()?))
        };
        let counted: BTreeMap<String, usize> =
            table.lines().filter_map(line).filter(|(name, _)| name != "total").collect();
        assert!(!counted.is_empty(), "{table}");
        counted
    }
}
