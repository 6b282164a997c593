//! `portico reload`: has the running service read its configuration again.

use serde_json::json;

use super::common::{Common, Failure};
use super::control::{self, Question};
use super::output::{print_json, say};
use crate::config::{Config, Problems};

pub(super) fn run(common: &Common) -> Result<(), Failure> {
    // The rest of the file is for the service to judge: it has its own environment.
    let control = Config::control_of(&common.config)?;
    let answer = actix::System::new().block_on(control::ask(&control, Question::Reload));
    let answer = match answer {
        Ok(answer) => answer,
        Err(unanswered) => {
            if common.json {
                print_json(&json!({"ok": false, "message": unanswered.to_string(), "problems": []}));
            } else {
                eprintln!("portico: {unanswered}");
            }
            return Err(Failure::Said);
        }
    };
    if common.json {
        print_json(&json!(answer));
    } else if answer.ok {
        say(format_args!("reloaded; {}", answer.message));
    } else {
        eprint!("{}:\n{}", answer.message, Problems(answer.problems));
    }
    if answer.ok { Ok(()) } else { Err(Failure::Said) }
}
