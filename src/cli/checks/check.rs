//! `portico check`: every problem of the file at once, and then one attempt at each connection.

use std::sync::Arc;
use std::time::SystemTime;

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::error::Error;
use portico_actors::finding::Finding;
use portico_actors::identity::Identity;
use portico_actors::source::{Access, Plan, Profile, Source, Task};
use serde_json::{Value, json};

use super::assets::{self, Missing};
use super::exposure::{self, Entry};
use super::reach;
use super::{sign_in, writable};
use crate::app::source_settings;
use crate::cli::common::{Common, Failure, error_words};
use crate::cli::output::{print_json, say};
use crate::config::{Config, Connection};
use crate::net::validity::{REMEDY, complaint};

/// Checks the configuration, and tries each of its connections.
pub(in crate::cli) fn run(common: &Common) -> Result<(), Failure> {
    let config = match Config::load(&common.config) {
        Ok(config) => config,
        Err(problems) if common.json => {
            print_json(&json!({"ok": false, "problems": problems.0, "connections": []}));
            return Err(Failure::AlreadyReported);
        }
        Err(problems) => return Err(problems.into()),
    };
    let attempts = actix::System::new().block_on(async {
        let mut attempts: Vec<Attempt<'_>> = Vec::new();
        for connection in &config.connections {
            attempts.push((connection, attempt(connection, Some(&config)).await));
        }
        attempts
    });
    let refused = assets::refused(&config);
    let ok =
        refused.is_empty() && attempts.iter().all(|(_, result)| result.as_ref().is_ok_and(|up| up.missing.is_empty()));
    let (unwritable, certificate) = (writable::look(&config), complaint(&config.server, SystemTime::now().into()));
    if common.json {
        let connections: Vec<Value> = attempts.iter().map(describe).collect();
        let sign_in = sign_in::look(&config);
        let mut told = json!({"ok": ok, "problems": [], "connections": connections, "signIn": sign_in});
        if !refused.is_empty() {
            told["refused"] = json!(refused);
        }
        for (name, found) in [("files", unwritable.first().map(|found| &found.message)), ("tls", certificate.as_ref())]
        {
            if let Some(message) = found {
                told[name] = json!(message);
            }
        }
        print_json(&told);
    } else {
        say(format_args!("{} is valid", common.config.display()));
        for workspace in &refused {
            say(format_args!("workspace {workspace}: {}", assets::REFUSED));
        }
        for found in sign_in::look(&config) {
            print_finding("sign-in", &found.message, found.remedy);
        }
        for found in &unwritable {
            print_finding("files", &found.message, Some(&found.remedy));
        }
        if let Some(complaint) = &certificate {
            print_finding("tls", complaint, Some(REMEDY));
        }
        attempts.iter().for_each(print);
    }
    if ok { Ok(()) } else { Err(Failure::AlreadyReported) }
}

/// Prints a finding about the configuration, with its remedy if there is one.
fn print_finding(subject: &str, message: &str, remedy: Option<&str>) {
    say(format_args!("{subject}: {message}"));
    if let Some(remedy) = remedy {
        say(format_args!("         -> {remedy}"));
    }
}

/// A connection, and the outcome of the attempt.
type Attempt<'c> = (&'c Connection, Result<Up, Error>);

/// Describes an attempt for programs.
fn describe((connection, result): &Attempt<'_>) -> Value {
    let up = match result {
        Ok(up) => up,
        Err(error) => return json!({"name": connection.name, "status": "down", "error": error_words(error)}),
    };
    let findings: Vec<Value> = up.findings.iter().map(reach::describe).collect();
    let product = &up.profile.product;
    let mut told = json!({"name": connection.name, "status": "up", "product": product, "findings": findings});
    if !up.entries.is_empty() {
        told["exposure"] = json!(up.entries);
    }
    if !up.missing.is_empty() {
        told["missing"] = json!(up.missing);
    }
    told
}

/// Prints an attempt for people.
fn print((connection, result): &Attempt<'_>) {
    match result {
        Ok(up) => {
            say(format_args!("connection {}: up, {}", connection.name, up.profile.product));
            up.findings.iter().for_each(reach::print);
            for entry in &up.entries {
                entry.say(&connection.name);
            }
            up.missing.iter().for_each(Missing::say);
        }
        Err(error) => say(format_args!("connection {}: down, {}", connection.name, error_words(error))),
    }
}

/// A connection that answered, and the findings about it.
pub(in crate::cli) struct Up {
    pub(in crate::cli) profile: Profile,
    pub(in crate::cli) findings: Vec<Finding>,
    /// What the entries of its lists match, if requested.
    entries: Vec<Entry>,
    /// The assets of workspaces that are not there, where that was asked for.
    pub(in crate::cli) missing: Vec<Missing>,
}

/// Tries `connection`. If the whole configuration is given, also finds what the entries of the connection's lists
/// match, and missing assets of workspaces.
pub(in crate::cli) async fn attempt(connection: &Connection, config: Option<&Config>) -> Result<Up, Error> {
    let source = connection.location.open(source_settings(connection))?;
    let up = look(connection, source.as_ref(), config).await;
    source.close().await;
    up
}

async fn look(connection: &Connection, source: &dyn Source, config: Option<&Config>) -> Result<Up, Error> {
    let profile = source.ping().await?;
    take_on_roles(connection, source).await?;
    let findings = reach::findings(source).await;
    let (entries, missing) = match config {
        None => Default::default(),
        Some(config) => {
            (exposure::entries(connection, source).await?, assets::missing(config, connection, source).await?)
        }
    };
    Ok(Up { profile, findings, entries, missing })
}

/// Takes on each role that the connection names for its callers, as a call would.
async fn take_on_roles(connection: &Connection, source: &dyn Source) -> Result<(), Error> {
    let Some(mapping) = &connection.identity else { return Ok(()) };
    for role in mapping.named_roles() {
        let narrow = MetadataFilter { schema: Some(String::new()), ..MetadataFilter::default() };
        let plan = Plan {
            identity: Some(Arc::new(Identity::of_role(role))),
            ..Plan::alone(Task::Describe(MetadataKind::Schemas, narrow), Access::ReadOnly)
        };
        source.run(plan).await?;
    }
    Ok(())
}
