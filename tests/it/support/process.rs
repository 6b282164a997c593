//! Processes that a test starts: none is waited for without a deadline, and none outlives its test.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::app::{DEADLINE, awaited, within};

/// The program of this build, which has still to be told what to do.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_portico"))
}

/// One command of the program in `folder`, to its end.
#[track_caller]
pub(crate) fn portico(folder: &Path, arguments: &[&str]) -> Output {
    finished(program().args(arguments).current_dir(folder))
}

/// The JSON that a command prints, which succeeds.
#[track_caller]
pub(crate) fn run(arguments: &[&str], folder: &Path) -> Value {
    let output = portico(folder, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    json_of(&output)
}

/// What a command printed, which is JSON.
pub(crate) fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs a command to its end. One that does not end in time is ended, and the test with it.
#[track_caller]
pub(crate) fn finished(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    output(child)
}

/// What a child prints until its end, which has to come in time.
#[track_caller]
pub(crate) fn output(child: Child) -> Output {
    let (id, (tell, told)) = (child.id().to_string(), std::sync::mpsc::channel());
    // Nobody hears it any more only where the test has failed already.
    std::thread::spawn(move || drop(tell.send(child.wait_with_output())));
    let Ok(output) = told.recv_timeout(DEADLINE) else {
        let _ = Command::new("kill").args(["-KILL", &id]).status();
        panic!("{}: waited {} s for the end of a process", std::panic::Location::caller(), DEADLINE.as_secs());
    };
    output.unwrap()
}

/// A process that runs, and the lines that it writes where its command has a pipe. Dropping it ends it.
pub(crate) struct Running {
    child: Child,
    lines: UnboundedReceiver<String>,
    /// Held while nobody reads the lines.
    unread: Arc<Mutex<()>>,
    /// The lines that were read, for the words of a test that fails.
    seen: Vec<String>,
}

/// A demo on a free port with its data in a folder of `folder`, and its page as JSON.
pub(crate) async fn demo(folder: &Path) -> (Running, Value) {
    let mut command = program();
    command.args(["demo", "--listen", "127.0.0.1:0", "--data-dir", "data", "--json"]).current_dir(folder);
    let mut demo = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let line = demo.line("{").await;
    (demo, serde_json::from_str(&line).unwrap())
}

impl Running {
    pub(crate) fn begin(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let pipe: Box<dyn Read + Send> = match (child.stdout.take(), child.stderr.take()) {
            (Some(output), None) => Box::new(output),
            (None, Some(errors)) => Box::new(errors),
            _ => panic!("one of the two is read"),
        };
        let (tell, lines) = unbounded_channel();
        let unread = Arc::new(Mutex::new(()));
        let held = Arc::clone(&unread);
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                drop(held.blocking_lock());
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines, unread, seen: Vec::new() }
    }

    /// Waits for a line that has `part` in it.
    pub(crate) async fn line(&mut self, part: &str) -> String {
        loop {
            let line = within(&format!("{part:?} behind {:#?}", self.seen), self.lines.recv()).await;
            let line = line.unwrap_or_else(|| panic!("the process ended before {part:?}: {:#?}", self.seen));
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The lines that are there by now and were not read yet.
    pub(crate) fn logged(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.lines.try_recv().ok()).collect()
    }

    /// The lines that were read so far.
    pub(crate) fn seen(&self) -> &[String] {
        &self.seen
    }

    /// The rest of the lines, to the end of the process.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = within("the end of the process", self.lines.recv()).await {
            lines.push(line);
        }
        lines
    }

    /// Has nobody read the lines, until what is given back is dropped.
    pub(crate) async fn leave_unread(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.unread).lock_owned().await
    }

    /// Waits for the end of the process.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        self.rest().await;
        self.over().await
    }

    /// The same without reading its lines.
    pub(crate) async fn over(&mut self) -> ExitStatus {
        awaited("the end of the process", async || self.child.try_wait().unwrap()).await
    }

    /// Writes to the process where its command has a pipe for it.
    pub(crate) fn input(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// The process, for those who look at it from outside.
    pub(crate) fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only our own child; one that has ended already is none any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
