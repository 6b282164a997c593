//! `portico connection add|test|list|remove`.

use std::borrow::Cow;

use clap::{Args, Subcommand};
use portico_actors::error::Error;
use portico_actors::near;
use serde::Serialize;
use serde_json::{Value, json};
use toml_edit::{Table, value};
use uuid::Uuid;

use super::edit::Edit;
use crate::cli::checks::check::{Up, attempt};
use crate::cli::checks::reach;
use crate::cli::common::{Common, Failure, access, error_words, read_config};
use crate::cli::output::{print_json, say};
use crate::config::{self, Config, Database, NamedValues};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConnectionCommand {
    /// Try a database, add it to the configuration, and have the running service take it over.
    Add(Add),
    /// Try a connection, or each of them.
    Test {
        /// The connection's name; all of them if absent.
        name: Option<String>,
    },
    /// List the connections.
    List,
    /// Take a connection out of the configuration, and have the running service take that over.
    Remove {
        /// The connection's name.
        name: String,
    },
}

#[derive(Args, Debug)]
pub(in crate::cli) struct Add {
    /// The database, as postgres://user:password@host/database or sqlite:path. ${NAME} is left for the service, which
    /// takes it from its environment.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Its name in statements; made of its address if absent.
    #[arg(long)]
    name: Option<String>,
    /// Let it be written to, as far as its user and the caller may.
    #[arg(long)]
    read_write: bool,
    /// Add it without trying it.
    #[arg(long)]
    no_test: bool,
}

/// A connection in listings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    id: Uuid,
    source: &'static str,
    access: &'static str,
    mcp_url: String,
}

impl Listed {
    fn new(connection: &config::Connection, config: &Config) -> Self {
        Self {
            name: connection.name.to_string(),
            id: connection.id,
            source: connection.location.driver().product,
            access: connection.access.as_str(),
            mcp_url: format!("{}/mcp/connections/{}", config.server.public_url, connection.name),
        }
    }
}

pub(in crate::cli) fn run(command: ConnectionCommand, common: &Common) -> Result<(), Failure> {
    match command {
        ConnectionCommand::Add(add) => add.run(common),
        ConnectionCommand::Test { name } => test(name.as_deref(), common),
        ConnectionCommand::List => {
            let config = read_config(common)?;
            let listed: Vec<Listed> =
                config.connections.iter().map(|connection| Listed::new(connection, &config)).collect();
            common.list(&listed, ["NAME", "SOURCE", "ACCESS", "ID", "MCP"], |it| {
                [it.name.clone(), it.source.to_owned(), it.access.to_owned(), it.id.to_string(), it.mcp_url.clone()]
            });
            Ok(())
        }
        ConnectionCommand::Remove { name } => Edit::take_out("connection", &name, common),
    }
}

impl Add {
    fn run(self, common: &Common) -> Result<(), Failure> {
        let database = Database { url: &self.url, name: self.name.as_deref(), access: access(self.read_write) };
        let mut edit = Edit::begin(common)?;
        let mut table = Table::new();
        table.insert("id", value(Uuid::new_v4().to_string()));
        table.insert("name", value(database.name()));
        table.insert("url", value(&self.url));
        table.insert("access", value(database.access.as_str()));
        edit.push("connections", table)?;
        let config = edit.judged()?;
        let connection = find(&config, &database.name())?;
        let up = if self.no_test { None } else { Some(tried(connection, &config)?) };
        let is_told_to_all = has_password(&self.url) && edit.is_open();
        let takeover = edit.write(&config)?;
        let listed = Listed::new(connection, &config);
        let mut record = json!(listed);
        takeover.add_to(&mut record);
        describe(up.as_ref(), &mut record);
        let product = up.as_ref().map_or(listed.source, |up| up.profile.product.as_str());
        let words = format!(
            "added {}: {product}, {}\n{}\nnext: portico connect claude-code --connection {}",
            listed.name,
            listed.access,
            takeover.words(),
            listed.name
        );
        common.print(&record, words);
        if !common.json {
            up.iter().flat_map(|up| &up.findings).for_each(reach::print);
        }
        if is_told_to_all {
            let file = common.config.display();
            eprintln!("{file} holds a password now and everybody may read it: chmod o-r {file}");
        }
        Ok(())
    }
}

/// Returns true if an address contains a password, and not only a reference to one.
pub(in crate::cli) fn has_password(url: &str) -> bool {
    let user = url.split_once("://").and_then(|(_, rest)| Some(rest.rsplit_once('@')?.0));
    let password = user.and_then(|user| Some(user.split_once(':')?.1));
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "password");
    password
        .map(Cow::from)
        .into_iter()
        .chain(parameters.map(|(_, value)| value))
        .any(|password| is_written_out(&password))
}

/// Whether a text has more than references to variables.
fn is_written_out(mut text: &str) -> bool {
    while let Some((_, rest)) = text.strip_prefix("${").and_then(|reference| reference.split_once('}')) {
        text = rest;
    }
    !text.is_empty()
}

/// The connection of this name.
pub(in crate::cli) fn find<'c>(config: &'c Config, name: &str) -> Result<&'c config::Connection, Error> {
    config.connection(name).map(AsRef::as_ref).ok_or_else(|| {
        let names: Vec<&str> = config.connections.iter().map(|connection| connection.name.as_ref()).collect();
        let hint = near::suggestion_or_list(name, "connections: ", &names);
        Error::not_found(format!("there is no connection {name:?}")).hint(hint)
    })
}

/// Tries a connection that is to be written down.
pub(in crate::cli) fn tried(connection: &config::Connection, config: &Config) -> Result<Up, Error> {
    actix::System::new().block_on(attempt(connection, Some(config))).map_err(|error| {
        let message = format!("the database cannot be used, and nothing was written: {}", error_words(&error));
        Error::new(error.kind, message)
            .hint("correct --url and try again, or add --no-test to write it down all the same")
    })
}

/// Says in `record` how a connection was found.
fn describe(up: Option<&Up>, record: &mut Value) {
    if let Some(up) = up {
        record["product"] = up.profile.product.as_str().into();
        record["findings"] = up.findings.iter().map(reach::describe).collect();
    }
}

fn test(name: Option<&str>, common: &Common) -> Result<(), Failure> {
    let config = Config::load(&common.config)?;
    let wanted: Vec<&config::Connection> = match name {
        Some(name) => vec![find(&config, name)?],
        None => config.connections.iter().map(AsRef::as_ref).collect(),
    };
    let attempts = actix::System::new().block_on(async {
        let mut attempts = Vec::new();
        for connection in wanted {
            attempts.push((connection, attempt(connection, None).await));
        }
        attempts
    });
    let mut records = Vec::new();
    for (connection, attempted) in &attempts {
        let mut record = json!({"name": connection.name});
        match attempted {
            Ok(up) => {
                record["status"] = "up".into();
                describe(Some(up), &mut record);
                if !common.json {
                    say(format_args!("{}: up, {}", connection.name, up.profile.product));
                    up.findings.iter().for_each(reach::print);
                }
            }
            Err(error) => {
                let words = error_words(error);
                if !common.json {
                    say(format_args!("{}: down, {words}", connection.name));
                }
                record["status"] = "down".into();
                record["error"] = words.into();
            }
        }
        records.push(record);
    }
    if common.json {
        print_json(&Value::from(records));
    }
    if attempts.iter().all(|(_, attempted)| attempted.is_ok()) { Ok(()) } else { Err(Failure::AlreadyReported) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_seen_where_it_stands() {
        for (url, has) in [
            ("postgres://app:secret@h/d", true),
            ("postgres://app:se@cret@h/d", true),
            ("postgres://app:${PW}@h/d", false),
            ("postgres://app:${PW}${MORE}@h/d", false),
            ("postgres://app:${PW}secret@h/d", true),
            ("postgres://h/d?user=app&passwor%64=x", true),
            ("postgres://h/d?user=app&password=${PW}", false),
            ("postgres://app@h/d", false),
            ("postgres://h/d?user=app&password=x", true),
            ("sqlite:shop.db", false),
        ] {
            assert_eq!(has_password(url), has, "{url}");
        }
    }
}
