//! `portico connect CLIENT`: prints what to paste so that a client uses this service, or merges it into the
//! client's own file.

mod files;
mod merge;
mod target;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::NewPat;
use portico_actors::error::Error;
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use self::merge::Merged;
use self::target::Named;
use crate::cli::common::{Common, Failure, StoreUse, connections, existing_store, open_store, program, read_config};
use crate::cli::output::{print_json, say};
use crate::client_setup::client::Client;
use crate::client_setup::mcp_server::{McpServer, ServerTarget};
use crate::client_setup::setup::{ClientAuth, ClientSetup};
use crate::client_setup::setups;
use crate::config::Config;

/// How long a token is valid that is made for a client.
const LIFETIME: Duration = Duration::from_hours(24 * 90);

#[derive(Args, Debug)]
pub(super) struct Connect {
    /// The client.
    #[arg(value_parser = PossibleValuesParser::new(Client::ALL.map(Client::as_str)).try_map(known))]
    client: Client,
    /// The connection that the client is to use. Without this and --workspace it uses all that its credential opens.
    #[arg(long, value_name = "NAME", conflicts_with = "workspace")]
    connection: Option<String>,
    /// The workspace that the client is to use.
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Make a token for this person, and put it in: on the server's machine. Where there is one person alone, it is for
    /// them; else the client has whoever uses it sign in.
    #[arg(long, value_name = "EMAIL")]
    user: Option<String>,
    /// The server's address, where it is another machine: without --user no configuration is read here.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Give the address with the few tools that suffice for reading: a model reads less before it begins.
    #[arg(long)]
    lean: bool,
    /// Merge it into the client's own file. A copy of the file is kept, and nothing else in it is touched.
    #[arg(long)]
    write: bool,
}

fn known(word: String) -> Result<Client, &'static str> {
    Client::parse(&word).ok_or("there is no such client")
}

/// What is printed for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConnectOutput<'a> {
    client: &'static str,
    name: &'a str,
    url: String,
    /// `token`, `oauth` or `placeholder`.
    auth: &'static str,
    #[serde(flatten)]
    form: &'a ClientSetup,
    /// The client's own file: where it is, in which format, and the whole of it where it holds nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Value>,
    /// The file that it was merged into, and its copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<Value>,
}

pub(super) fn run(connect: &Connect, common: &Common) -> Result<(), Failure> {
    let client = connect.client;
    let on_server = connect.server.is_none() || connect.user.is_some();
    let config = if on_server { Some(read(connect, common)?) } else { None };
    let named = Named {
        server: connect.server.as_deref(),
        connection: connect.connection.as_deref(),
        workspace: connect.workspace.as_deref(),
        lean: connect.lean,
    };
    let place = target::place(&named, config.as_ref())?;
    let program = program()?;
    if connect.write {
        // No token is made if the file cannot be written.
        merged(client, &place, &setups::form(client, &place, &ClientAuth::SignIn, &program))?;
    }
    let (credential, mut notes) = credential(connect, common, config.as_ref(), &place)?;
    let mut form = setups::form(client, &place, &credential, &program);
    form.notes.append(&mut notes);
    let written = match (connect.write, &credential) {
        (false, _) => None,
        (true, ClientAuth::Placeholder) => {
            return Err(Error::invalid("--write: there is no token to write")
                .hint("--user EMAIL makes one on the server's machine")
                .into());
        }
        (true, _) => {
            let (path, merged) = merged(client, &place, &form)?;
            Some((path, merged.write()?))
        }
    };
    if common.json {
        let written = written.as_ref().map(|(file, copy)| json!({"file": file, "copy": copy}));
        let (name, url, auth) = (place.name(), place.mcp_url(), credential.as_str());
        let file = form.file.as_ref();
        let file = file.map(|it| json!({"path": files::own_file(client), "format": it.format, "text": it.text}));
        print_json(&json!(ConnectOutput { client: client.as_str(), name, url, auth, form: &form, file, written }));
        return Ok(());
    }
    if let Some((file, copy)) = written {
        say(format_args!("{} uses {} as {:?} now: {}", client.title(), place.mcp_url(), place.name(), file.display()));
        if let Some(copy) = copy {
            say(format_args!("The file as it was: {}", copy.display()));
        }
        form.commands.iter().for_each(say);
    } else {
        let written = if form.file.is_some() { "; --write does it for you" } else { "" };
        eprintln!("{}{written}:", form.what);
        say(&form.paste);
    }
    for note in &form.notes {
        eprintln!("{note}");
    }
    Ok(())
}

/// The configuration of the server that runs here.
fn read(connect: &Connect, common: &Common) -> Result<Config, Failure> {
    if !common.config.exists() {
        let missing = Error::not_found(format!("{} is not there, so no server is known", common.config.display()));
        let remedy = if connect.user.is_some() {
            "tokens are made on the server's machine: give its configuration with --config"
        } else {
            "give the server's configuration with --config, or its address with --server https://…"
        };
        return Err(missing.hint(remedy).into());
    }
    read_config(common)
}

/// Returns the credential for the client, and a note about it.
fn credential(
    connect: &Connect,
    common: &Common,
    config: Option<&Config>,
    place: &McpServer,
) -> Result<(ClientAuth, Vec<String>), Failure> {
    let client = connect.client;
    let mut notes = Vec::new();
    let mut made = |email: &str| {
        let (token, note) = token(common, email, client, place)?;
        notes.push(note);
        Ok::<_, Failure>(Some(token))
    };
    let credential = match (&connect.user, config) {
        (Some(email), _) => made(email)?.map_or(ClientAuth::Placeholder, ClientAuth::Token),
        (None, Some(config)) => ClientAuth::best(client, place, Some(config.oauth), || {
            the_only_person(config)?.map_or(Ok(None), |email| made(&email))
        })?,
        (None, None) => ClientAuth::best(client, place, None, || Ok::<_, Failure>(None))?,
    };
    if matches!(credential, ClientAuth::Placeholder) {
        let how = "portico pat create EMAIL, on the server's machine, or the page /account of the service";
        notes.push(format!("It needs a personal access token: {how}."));
    }
    Ok((credential, notes))
}

/// Returns the only person in the store who may call, if there is exactly one.
fn the_only_person(config: &Config) -> Result<Option<String>, Failure> {
    let Ok(store) = existing_store(config) else { return Ok(None) };
    let mut people = store.users()?.into_iter().filter(|user| user.disabled_at.is_none());
    Ok(people.next().filter(|_| people.next().is_none()).map(|user| user.email))
}

/// Makes a token of that person for `place` alone, and a note about it.
fn token(common: &Common, email: &str, client: Client, place: &McpServer) -> Result<(SecretString, String), Failure> {
    let (config, mut store) = open_store(common, StoreUse::Begins)?;
    let rights = match &place.target {
        ServerTarget::All => Rights::ALL,
        ServerTarget::Connection(name) => {
            let found = connections(&config, std::slice::from_ref(name))?;
            Rights::each(found.into_iter().map(|(id, _)| (id, Scope::Admin)))
        }
        ServerTarget::Workspace(name) => {
            Rights::each([]).with_workspaces([(name.as_str().into(), WorkspaceGrant::Given(Scope::Admin))])
        }
    };
    // Each has a unique name, by which it can be revoked.
    let number = Uuid::new_v4().simple().to_string();
    let name = format!("{} {}", client.as_str(), &number[..8]);
    let expires_at = Some(Clock::system().now().time().after(LIFETIME));
    let (token, secret) = store.create_pat(email, NewPat { name: Some(name), expires_at, rights })?;
    let days = LIFETIME.as_secs() / 86_400;
    let note = format!(
        "The token is {}'s and is not shown again. It is valid for {days} days; `portico pat revoke {}` ends it.",
        token.email, token.id
    );
    Ok((secret, note))
}

/// Merges the form into the client's file. Returns the path too.
///
/// # Errors
/// The client has no file, or it contains something else there.
fn merged(client: Client, place: &McpServer, form: &ClientSetup) -> Result<(PathBuf, Merged), Failure> {
    let Some(file) = &form.file else {
        return Err(Error::invalid(format!("--write: {} has no file of its own", client.title()))
            .hint("leave it out, and paste what is printed")
            .into());
    };
    let Some(path) = files::own_file(client) else {
        let unknown = Error::invalid(format!("--write: it is not known where {} has its file", client.title()));
        return Err(unknown.hint("set HOME").into());
    };
    let merged = Merged::new(&path, file, place)?;
    Ok((path, merged))
}
