//! `portico check`: every problem of the file at once, and then one attempt at each connection.

use portico_actors::error::Error;
use portico_actors::source::{self, Profile};
use serde_json::{Value, json};

use super::{Common, Failure, print_json};
use crate::app::source_settings;
use crate::config::{Config, Connection, Problem};

pub(super) fn run(common: &Common) -> Result<(), Failure> {
    let config = match Config::load(&common.config) {
        Ok(config) => config,
        Err(problems) if common.json => {
            let problems: Vec<Value> = problems.0.iter().map(describe).collect();
            print_json(&json!({"ok": false, "problems": problems, "connections": []}));
            return Err(Failure::Said);
        }
        Err(problems) => return Err(problems.into()),
    };
    let attempts = actix::System::new().block_on(async {
        let mut attempts = Vec::new();
        for connection in &config.connections {
            attempts.push((connection, attempt(connection).await));
        }
        attempts
    });
    let ok = attempts.iter().all(|(_, result)| result.is_ok());
    if common.json {
        let connections: Vec<Value> = attempts
            .iter()
            .map(|(connection, result)| match result {
                Ok(profile) => json!({"name": connection.name, "status": "up", "product": profile.product}),
                Err(error) => json!({"name": connection.name, "status": "down", "error": words(error)}),
            })
            .collect();
        print_json(&json!({"ok": ok, "problems": [], "connections": connections}));
    } else {
        println!("{} is valid", common.config.display());
        for (connection, result) in &attempts {
            match result {
                Ok(profile) => println!("connection {}: up, {}", connection.name, profile.product),
                Err(error) => println!("connection {}: down, {}", connection.name, words(error)),
            }
        }
    }
    if ok { Ok(()) } else { Err(Failure::Said) }
}

pub(super) async fn attempt(connection: &Connection) -> Result<Profile, Error> {
    let source = source::open(source_settings(connection))?;
    let profile = source.ping().await;
    source.close().await;
    profile
}

/// Whoever runs the check may see the cause.
pub(super) fn words(error: &Error) -> String {
    match error.cause() {
        Some(cause) => format!("{}: {cause}", error.message),
        None => error.message.clone(),
    }
}

fn describe(problem: &Problem) -> Value {
    json!({"line": problem.line, "key": problem.key, "message": problem.message, "remedy": problem.remedy})
}
