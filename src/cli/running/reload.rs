//! `portico reload`: has the running service read its configuration again.

use serde_json::json;

use super::control::{self, ControlResponse};
use crate::cli::common::{Common, Failure};
use crate::cli::output::print_json;
use crate::config::{Config, Problems};
use crate::reload::Report;

pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    // The rest of the file is for the service to judge: it has its own environment.
    let answered = match Config::control_of(&common.config) {
        Ok(control) => actix::System::new().block_on(control::ask_to_reload(&control, &common.config)),
        // Where the service listens stands in the file as well: it cannot even be asked, and nothing changes.
        Err(problems) => Ok(ControlResponse::from(Err::<Report, _>(problems))),
    };
    let (told, words) = match answered {
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
