//! `portico health`: asks the running service whether it would take a call, for container runtimes.

use serde_json::json;

use crate::cli::common::{Common, Failure};
use crate::cli::output::{print_json, say};
use crate::cli::running::control;
use crate::config::Config;

pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    let control = Config::control_of(&common.config)?;
    let answer = actix::System::new().block_on(control::ask_health(&control, &common.config));
    let (ok, message) = match answer {
        Ok(answer) => (answer.ok, answer.message),
        Err(unanswered) => (false, unanswered.to_string()),
    };
    if common.json {
        print_json(&json!({"ok": ok, "message": message}));
    } else if ok {
        say(message);
    } else {
        eprintln!("portico: {message}");
    }
    if ok { Ok(()) } else { Err(Failure::AlreadyReported) }
}
