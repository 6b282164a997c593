//! `portico reload`: has the running service read its configuration again.

use serde_json::json;

use super::control;
use crate::cli::common::{Common, Failure};
use crate::cli::output::print_json;
use crate::config::{Config, Problems};

pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    // The rest of the file is for the service to judge: it has its own environment.
    let control = Config::control_of(&common.config)?;
    let (told, words) = match actix::System::new().block_on(control::ask_to_reload(&control, &common.config)) {
        Ok(answer) if answer.ok => {
            common.print(&answer, format_args!("reloaded; {}", answer.message));
            // A service manager must not take it for a success.
            let is_lost = answer.report.changed.iter().any(|name| answer.report.down.contains(name));
            return if is_lost { Err(Failure::AlreadyReported) } else { Ok(()) };
        }
        Ok(answer) => (json!(answer), format!("{}:\n{}", answer.message, Problems(answer.problems))),
        Err(unanswered) => {
            let message = unanswered.to_string();
            (json!({"ok": false, "message": message, "problems": []}), format!("portico: {message}\n"))
        }
    };
    if common.json {
        print_json(&told);
    } else {
        eprint!("{words}");
    }
    Err(Failure::AlreadyReported)
}
