//! `portico check`: every problem of the file at once, and then one attempt at each connection.

use std::sync::Arc;

use portico_actors::call::{Facet, Narrow};
use portico_actors::error::Error;
use portico_actors::finding::Finding;
use portico_actors::identity::Identity;
use portico_actors::source::{Access, Plan, Profile, Source, Task};
use serde_json::{Value, json};

use super::common::{Common, Failure, describe_problem, error_words};
use super::exposure::{self, Entry};
use super::output::{print_json, say};
use super::reach;
use crate::app::source_settings;
use crate::config::{Config, Connection};

pub(super) fn run(common: &Common) -> Result<(), Failure> {
    let config = match Config::load(&common.config) {
        Ok(config) => config,
        Err(problems) if common.json => {
            let problems: Vec<Value> = problems.0.iter().map(describe_problem).collect();
            print_json(&json!({"ok": false, "problems": problems, "connections": []}));
            return Err(Failure::Said);
        }
        Err(problems) => return Err(problems.into()),
    };
    let attempts = actix::System::new().block_on(async {
        let mut attempts = Vec::new();
        for connection in &config.connections {
            let attempt = match attempt(connection).await {
                Ok(profile) => exposure::entries(connection).await.map(|entries| (profile, entries)),
                Err(error) => Err(error),
            };
            attempts.push((connection, attempt));
        }
        attempts
    });
    let ok = attempts.iter().all(|(_, result)| result.is_ok());
    if common.json {
        let connections: Vec<Value> = attempts
            .iter()
            .map(|(connection, result)| match result {
                Ok((looked, entries)) => {
                    let findings: Vec<Value> = looked.findings.iter().map(reach::describe).collect();
                    let product = &looked.profile.product;
                    let mut up =
                        json!({"name": connection.name, "status": "up", "product": product, "findings": findings});
                    if !entries.is_empty() {
                        up["exposure"] = entries.iter().map(Entry::json).collect();
                    }
                    up
                }
                Err(error) => json!({"name": connection.name, "status": "down", "error": error_words(error)}),
            })
            .collect();
        print_json(&json!({"ok": ok, "problems": [], "connections": connections}));
    } else {
        say(format_args!("{} is valid", common.config.display()));
        for (connection, result) in &attempts {
            match result {
                Ok((up, entries)) => {
                    say(format_args!("connection {}: up, {}", connection.name, up.profile.product));
                    up.findings.iter().for_each(reach::tell);
                    for entry in entries {
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
}

pub(super) async fn attempt(connection: &Connection) -> Result<Up, Error> {
    let source = connection.location.open(source_settings(connection))?;
    let up = look(connection, source.as_ref()).await;
    source.close().await;
    up
}

async fn look(connection: &Connection, source: &dyn Source) -> Result<Up, Error> {
    let profile = source.ping().await?;
    take_on_roles(connection, source).await?;
    Ok(Up { findings: reach::findings(source).await, profile })
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
