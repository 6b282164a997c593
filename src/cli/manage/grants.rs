//! `portico grants`: the SQL for a database role that may do exactly what a connection exposes, and its reverse.

use clap::Args;
use portico_actors::auth::store::Change;
use portico_actors::error::Error;
use portico_actors::finding::Finding;
use portico_actors::source::{GrantRequest, GrantScript};
use serde_json::{Value, json};

use super::recording::{CliRecorder, ensure};
use crate::app::source_settings;
use crate::cli::checks::reach;
use crate::cli::common::{Common, Failure, connections};
use crate::cli::output::say;
use crate::config::{self, Config};

#[derive(Args, Debug)]
pub(in crate::cli) struct Grants {
    /// The connection's name.
    connection: String,
    /// The role that is to have the rights, made where there is none; portico_ and the connection's name if absent.
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Run the statements too, in one transaction, as the user of this URL. Its password is better left to
    /// PGPASSWORD or a password file.
    #[arg(long, value_name = "ADMIN_URL")]
    apply: Option<String>,
    /// The reverse: what the role has is taken away, and the role with it if it was made here.
    #[arg(long, conflicts_with = "revoke_public")]
    revoke: bool,
    /// Also take from everybody (PUBLIC) what the connection does not expose. Other roles may rest on it.
    #[arg(long)]
    revoke_public: bool,
}

pub(in crate::cli) fn run(command: Grants, common: &Common) -> Result<(), Failure> {
    let config = Config::load(&common.config)?;
    let Some(connection) = config.connection(&command.connection) else {
        // A scope after the name causes the same error.
        connections(&config, std::slice::from_ref(&command.connection))?;
        return Err(Error::invalid("CONNECTION: this is not the name of a connection")
            .hint("leave out the scope")
            .into());
    };
    let settings = source_settings(connection);
    let role = command.role.unwrap_or_else(|| role_of(&connection.name));
    let wanted = GrantRequest { role, revoke: command.revoke, revoke_public: command.revoke_public };
    let system = actix::System::new();
    let Some(url) = command.apply else {
        let script = system.block_on(connection.location.grants(&settings, &wanted))?;
        common.print(&describe(&wanted, &script, None), script.text.trim_end());
        return Ok(());
    };
    ensure(&config)?;
    let mut show = |script: &GrantScript| {
        if !common.json {
            say(script.text.trim_end());
        }
    };
    let recorder = CliRecorder::new(&config);
    let (mut shown, mut recorded) = (GrantScript::default(), None);
    let mut record = |script: &GrantScript| {
        let object = json!({"connection": connection.name, "role": wanted.role, "statements": script.statements});
        let action = if wanted.revoke { "grants revoke" } else { "grants apply" };
        let change = Change { action, object, before: None, after: None };
        recorder.announce(&change)?;
        (shown, recorded) = (script.clone(), Some(change));
        Ok(())
    };
    let location = &connection.location;
    let administrator = config::administrator(location.driver(), url);
    let applied = location.apply_grants(&settings, administrator.as_ref(), &wanted, &mut show, &mut record);
    let left =
        system.block_on(applied).inspect_err(|_| recorded.iter().for_each(|change| recorder.take_back(change)))?;
    let applied = format_args!("-- applied: {} statements", shown.statements.len());
    common.print(&describe(&wanted, &shown, Some(&left)), applied);
    if !common.json {
        left.iter().for_each(reach::print);
    }
    Ok(())
}

/// Returns the default role of a connection.
fn role_of(connection: &str) -> String {
    format!("portico_{}", connection.to_lowercase().replace('-', "_"))
}

/// `left` is what the role can do beyond what is exposed; absent if nothing was run.
fn describe(wanted: &GrantRequest, script: &GrantScript, left: Option<&Vec<Finding>>) -> Value {
    let findings: Vec<Value> = left.into_iter().flatten().map(reach::describe).collect();
    json!({
        "role": wanted.role,
        "applied": left.is_some(),
        "statements": script.statements,
        "public": script.public,
        "notes": script.notes,
        "next": script.next,
        "findings": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::role_of;

    #[test]
    fn a_role_is_called_after_its_connection() {
        assert_eq!((role_of("sales").as_str(), role_of("Sales-EU").as_str()), ("portico_sales", "portico_sales_eu"));
    }
}
