//! `portico check`: every problem of the file at once, and then one attempt at each connection.

use std::sync::Arc;

use portico_actors::call::{Facet, Narrow};
use portico_actors::error::Error;
use portico_actors::finding::Finding;
use portico_actors::identity::Identity;
use portico_actors::source::{Access, Plan, Profile, Source, Task};
use serde_json::{Value, json};

use super::common::{Common, Failure, error_words};
use super::exposure::{self, Entry};
use super::output::{print_json, say};
use super::reach;
use crate::app::source_settings;
use crate::config::{Config, Connection};

pub(super) fn run(common: &Common) -> Result<(), Failure> {
    let config = match Config::load(&common.config) {
        Ok(config) => config,
        Err(problems) if common.json => {
            print_json(&json!({"ok": false, "problems": problems.0, "connections": []}));
            return Err(Failure::Said);
        }
        Err(problems) => return Err(problems.into()),
    };
    let attempts = actix::System::new().block_on(async {
        let mut attempts = Vec::new();
        for connection in &config.connections {
            attempts.push((connection, attempt(connection, true).await));
        }
        attempts
    });
    let ok = attempts.iter().all(|(_, result)| result.is_ok());
    if common.json {
        let connections: Vec<Value> = attempts
            .iter()
            .map(|(connection, result)| match result {
                Ok(up) => {
                    let findings: Vec<Value> = up.findings.iter().map(reach::describe).collect();
                    let product = &up.profile.product;
                    let mut told =
                        json!({"name": connection.name, "status": "up", "product": product, "findings": findings});
                    if !up.entries.is_empty() {
                        told["exposure"] = json!(up.entries);
                    }
                    told
                }
                Err(error) => json!({"name": connection.name, "status": "down", "error": error_words(error)}),
            })
            .collect();
        print_json(&json!({"ok": ok, "problems": [], "connections": connections}));
    } else {
        say(format_args!("{} is valid", common.config.display()));
        for (connection, result) in &attempts {
            match result {
                Ok(up) => {
                    say(format_args!("connection {}: up, {}", connection.name, up.profile.product));
                    up.findings.iter().for_each(reach::tell);
                    for entry in &up.entries {
                        entry.say(&connection.name);
                    }
                }
                Err(error) => say(format_args!("connection {}: down, {}", connection.name, error_words(error))),
            }
        }
    }
    if ok { Ok(()) } else { Err(Failure::Said) }
}

/// A connection that answered, and what there is to say about it.
pub(super) struct Up {
    pub(super) profile: Profile,
    pub(super) findings: Vec<Finding>,
    /// What the entries of its lists match, where that was asked for.
    entries: Vec<Entry>,
}

/// Tries `connection`, and looks for what the entries of its lists match if `with_entries`.
pub(super) async fn attempt(connection: &Connection, with_entries: bool) -> Result<Up, Error> {
    let source = connection.location.open(source_settings(connection))?;
    let up = look(connection, source.as_ref(), with_entries).await;
    source.close().await;
    up
}

async fn look(connection: &Connection, source: &dyn Source, with_entries: bool) -> Result<Up, Error> {
    let profile = source.ping().await?;
    take_on_roles(connection, source).await?;
    let findings = reach::findings(source).await;
    let entries = if with_entries { exposure::entries(connection, source).await? } else { Vec::new() };
    Ok(Up { profile, findings, entries })
}

/// Takes on each role that the connection names for its callers, as a call would.
async fn take_on_roles(connection: &Connection, source: &dyn Source) -> Result<(), Error> {
    let Some(mapping) = &connection.identity else { return Ok(()) };
    for role in mapping.named_roles() {
        let narrow = Narrow { schema: Some(String::new()), ..Narrow::default() };
        let plan = Plan {
            identity: Some(Arc::new(Identity::of_role(role))),
            ..Plan::alone(Task::Describe(Facet::Schemas, narrow), Access::ReadOnly)
        };
        source.run(plan).await?;
    }
    Ok(())
}
