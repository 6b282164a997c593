//! `portico init`: writes a configuration that serves one database, and makes the first administrator.

use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use portico_actors::error::{Error, Kind};
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use crate::cli::common::{Common, Failure, access, command as again};
use crate::cli::manage::connection::{find, has_password, tried};
use crate::cli::running::serve_database::{ADMINISTRATOR, first_token, form};
use crate::client_setup::client::Client;
use crate::config::{Config, Database, NamedValues, Problems, lookup};

#[derive(Args, Debug)]
pub(super) struct Init {
    /// The database to serve, as postgres://user:password@host/database or sqlite:path (a relative path starts at the
    /// folder of the configuration). ${NAME} is left for the service, which takes it from its environment.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Its name in statements; made of its address if absent.
    #[arg(long)]
    name: Option<String>,
    /// Let it be written to, as far as its user and the caller may.
    #[arg(long)]
    read_write: bool,
    /// The e-mail address of the first person, who may do everything.
    #[arg(long, value_name = "EMAIL", default_value = ADMINISTRATOR)]
    admin: String,
    /// Write the file without trying the database.
    #[arg(long)]
    no_test: bool,
}

pub(super) fn run(command: Init, common: &Common) -> Result<(), Failure> {
    let path = &common.config;
    if path.symlink_metadata().is_ok() {
        return Err(exists(path).into());
    }
    let url = match command.url {
        Some(url) => url,
        None => ask("The database, as postgres://user:password@host/database or sqlite:path: ")?
            .ok_or_else(|| Error::invalid("--url is missing").hint("say which database is to be served"))?,
    };
    let database = Database { url: &url, name: command.name.as_deref(), access: access(command.read_write) };
    let text = text(&database);
    let base = path.parent().map(PathBuf::from).unwrap_or_default();
    // Problems of the text are problems of the options that it was made from.
    let config = Config::parse(&text, &base, &lookup).map_err(|Problems(problems)| {
        Failure::Options(Problems(problems.into_iter().map(Database::option).collect()))
    })?;
    let connection = find(&config, &database.name())?;
    let up = if command.no_test { None } else { Some(tried(connection, &config)?) };
    write(path, &text, has_password(&url))?;
    let token = first_token(&config, &command.admin, false).map_err(|error| {
        let undone = std::fs::remove_file(path);
        let left = if undone.is_ok() { "nothing is left behind" } else { "the file is there all the same" };
        Error::new(error.kind, format!("--admin: {}; {left}", error.message))
    })?;
    let mut record = json!({
        "config": path, "connectionId": connection.id, "connectionName": connection.name, "user": command.admin,
        "baseUrl": config.server.public_url,
        "mcpUrl": format!("{}/mcp/connections/{}", config.server.public_url, connection.name),
    });
    let claude = form(Client::ClaudeCode, &config, &connection.name, token.as_ref())?;
    if let Some(up) = &up {
        record["product"] = up.profile.product.as_str().into();
    }
    if let Some(token) = &token {
        record["pat"] = token.expose_secret().into();
    }
    let product = up.as_ref().map_or("not tried", |up| up.profile.product.as_str());
    let shown = token.as_ref().map_or_else(
        || {
            format!(
                "(there is one already; {} makes another one)",
                again(&format!("pat create {}", command.admin), path)
            )
        },
        |token| format!("{}\n               (shown only this once, and good for 90 days)", token.expose_secret()),
    );
    let (name, email, word) = (&connection.name, &command.admin, database.access.as_str());
    let (file, url) = (path.display(), &config.server.public_url);
    let (serve, connect) = (again("serve", path), again(&format!("connect CLIENT --connection {name}"), path));
    let words = format!(
        "{file} is written.\n\n  connection   {name}: {product}, {word}\n  user         {email}, who may do everything\n  \
         token        {shown}\n\nNext, serve it:\n\n\
         {serve}\n\nThen look at {url} in a browser, or have Claude Code use it:\n\n{claude}\n\n\
         Other clients: {connect}",
        claude = claude.paste,
    );
    common.print(&record, words);
    Ok(())
}

/// Asks the user at the terminal; returns `None` if standard input is not a terminal.
fn ask(question: &str) -> Result<Option<String>, Failure> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(None);
    }
    let failed = |error: io::Error| Failure::io("the terminal cannot be used", error);
    let mut terminal = io::stderr();
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(failed)?;
    let mut line = String::new();
    input.lock().read_line(&mut line).map_err(failed)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn exists(path: &Path) -> Error {
    let there = Error::new(Kind::Conflict, format!("{} is there already, and stays as it is", path.display()));
    there.hint("portico connection add puts a database into it; --config FILE writes another file")
}

/// Writes a new file, for this user alone where it holds a secret.
fn write(path: &Path, text: &str, has_secret: bool) -> Result<(), Failure> {
    let mode = if has_secret { 0o600 } else { 0o644 };
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return exists(path).into();
        }
        Failure::io(format_args!("{} cannot be written", path.display()), error)
    })
}

/// The file.
fn text(database: &Database<'_>) -> String {
    let quoted = |text: &str| toml_edit::Value::from(text).to_string();
    format!(
        r#"# Portico's configuration.
#
#   portico check     validates this file and tries each connection
#   portico serve     serves it
#   portico reload    has the running service take it over
#
# ${{NAME}} in a text is taken from the environment. What is left out has its default; the configuration page of the
# documentation has every key.

[server]
# Where to listen. Use [server.tls], or a proxy with TLS in front, for anything but this machine.
listen = "127.0.0.1:8787"
# The origin that clients see: the stem of every address.
public_url = "http://localhost:8787"

[store]
# Users, tokens, service accounts and signing keys; the file is made beside this one.
url = "sqlite:portico.db"

# One table for each database; portico connection add writes another one.
[[connections]]
# Stands in addresses: never change it.
id = "{id}"
# The first part of connection.schema.table.
name = {name}
# Where the database is. A password can stay in the environment: postgres://app:${{SALES_PASSWORD}}@host/sales
url = {url}
# "read-only" (the database itself refuses every write), or "read-write".
access = "{access}"
"#,
        id = Uuid::new_v4(),
        name = quoted(&database.name()),
        url = quoted(database.url),
        access = database.access.as_str(),
    )
}
