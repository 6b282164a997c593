//! `portico serve --url`: one database served without a configuration, with its store in the user's data folder.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use portico_actors::auth::clock::Clock;
use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::loopback;
use portico_actors::principal::{Rights, Scope};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::logging::start_log_of_service;
use super::serve;
use crate::cli::common::{Common, Failure, access, program};
use crate::cli::folders;
use crate::cli::manage::recording::recorded;
use crate::client_setup::client::Client;
use crate::client_setup::mcp_server::{McpServer, ServerTarget};
use crate::client_setup::setup::{ClientAuth, ClientSetup};
use crate::client_setup::setups;
use crate::config::{Config, Database, Listen, Log, NamedValues, lookup};

/// The first person of a service, with all rights.
pub(in crate::cli) const ADMINISTRATOR: &str = "admin@localhost";
/// How long the first token is good for.
pub(in crate::cli) const TOKEN_LIFETIME: Duration = Duration::from_secs(90 * 86_400);
/// Client connections on each thread.
const CONNECTIONS: usize = 1_000;
/// The default address.
const USUAL_ADDRESS: &str = "127.0.0.1:8787";

#[derive(Args, Debug)]
pub(in crate::cli) struct Serve {
    /// Serve this database and read no configuration: postgres://user:password@host/database or sqlite:path. ${NAME}
    /// is taken from the environment. Users and tokens are kept in ~/.local/share/portico/NAME.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    url: Option<String>,
    /// The name of that database in statements; made of its address if absent.
    #[arg(long, requires = "url")]
    name: Option<String>,
    /// Let that database be written to, as far as its user and the caller may.
    #[arg(long, requires = "url")]
    read_write: bool,
    /// The address to listen on; 127.0.0.1:8787 if absent.
    #[arg(long, value_name = "ADDRESS", requires = "url")]
    listen: Option<SocketAddr>,
    /// Listen beyond this machine although nothing is encrypted.
    #[arg(long, requires = "url")]
    insecure: bool,
    /// Make another token, where the first one was lost.
    #[arg(long, requires = "url")]
    new_token: bool,
}

pub(in crate::cli) fn run(command: &Serve, common: &Common) -> Result<(), Failure> {
    match &command.url {
        None => serve::run(common),
        Some(url) => command.serve(url, common),
    }
}

impl Serve {
    fn serve(&self, url: &str, common: &Common) -> Result<(), Failure> {
        let database = Database { url, name: self.name.as_deref(), access: access(self.read_write) };
        let address = self.address()?;
        let base = std::env::current_dir().map_err(|error| Failure::io("the working folder cannot be found", error))?;
        let folder = folders::data()?.join(database.name().to_ascii_lowercase());
        let mut config = Config::of_database(&database, &base, &folder, &lookup).map_err(Failure::Options)?;
        if let Some(missing) = config.connections.iter().filter_map(|it| it.location.file()).find(|file| !file.exists())
        {
            let message = format!("--url: the database file {} does not exist", missing.display());
            return Err(Error::not_found(message).hint("a relative path starts at the working folder").into());
        }
        // Port 0 asks the system for a free one: the URLs need its number.
        let listener = TcpListener::bind(address)
            .map_err(|error| Failure::io(format_args!("--listen: {address} cannot be listened on"), error))?;
        let place = listener.local_addr().map_err(|error| Failure::io("the listener failed", error))?;
        config.server.listen = vec![Listen::Tcp(place)];
        config.server.public_url = public_url(place);
        // More than a service without configuration needs, and within every system's limit of descriptors.
        config.server.bounds.max_connections = CONNECTIONS;
        // Clients with a description on the internet can also register themselves here, and then nothing has to be
        // fetched.
        config.oauth.client_documents = false;
        folders::make(&folder)?;
        let token = first_token(&config, ADMINISTRATOR, self.new_token)?;
        start_log_of_service(&Log { level: "warn".to_owned(), ..Log::default() });
        let page = Page { config: &config, token, access: database.access.as_str(), folder: &folder };
        let (record, words) = (page.record()?, page.words()?);
        actix::System::new().block_on(serve::serve(config, listener.into(), None, || common.print(&record, words)))
    }

    /// Returns the address to listen on: without TLS, only loopback unless the user insists.
    fn address(&self) -> Result<SocketAddr, Error> {
        let usual = || USUAL_ADDRESS.parse().map_err(Error::internal);
        let address = self.listen.map_or_else(usual, Ok)?;
        if !loopback::is_address(address.ip()) && !self.insecure {
            let message = format!("--listen: on {address} other machines could call, and nothing would be encrypted");
            return Err(Error::invalid(message).hint(
                "write a configuration with portico init and set [server.tls], put a proxy with TLS in front, or \
                 insist with --insecure",
            ));
        }
        Ok(address)
    }
}

/// The origin that clients see.
pub(in crate::cli) fn public_url(place: SocketAddr) -> String {
    if loopback::is_address(place.ip()) || place.ip().is_unspecified() {
        format!("http://localhost:{}", place.port())
    } else {
        format!("http://{place}")
    }
}

/// Makes a token of the first person, who is added if missing. Returns `None` if there is a token already, unless
/// another one is `wanted`.
pub(in crate::cli) fn first_token(config: &Config, email: &str, wanted: bool) -> Result<Option<SecretString>, Error> {
    let clock = config.tokens.clock();
    let mut store =
        recorded(Store::open_with(&config.store.place, clock)?.sealed_with(config.store.key.clone()), config);
    if !store.users()?.iter().any(|user| user.email.eq_ignore_ascii_case(email)) {
        store.add_user(NewUser { email: email.to_owned(), rights: Rights::all(Scope::Admin) })?;
    }
    let now = Clock::system().now().time();
    let is_good = |expires_at: Option<_>| expires_at.is_none_or(|end| end > now);
    let tokens = store.pats(Some(email))?;
    if !wanted && tokens.iter().any(|token| token.revoked_at.is_none() && is_good(token.expires_at)) {
        return Ok(None);
    }
    let expires_at = Some(now.after(TOKEN_LIFETIME));
    let (_, token) = store.create_pat(email, NewPat { expires_at, ..NewPat::default() })?;
    Ok(Some(token))
}

/// Returns the set-up of `client` for the connection `name` of the service with `config`.
pub(in crate::cli) fn form(
    client: Client,
    config: &Config,
    name: &str,
    token: Option<&SecretString>,
) -> Result<ClientSetup, Failure> {
    let program = program()?;
    let place = place(config, name);
    let Ok(credential) = ClientAuth::best(client, &place, Some(config.oauth), || Ok::<_, Infallible>(token.cloned()));
    Ok(setups::form(client, &place, &credential, &program))
}

fn place(config: &Config, name: &str) -> McpServer {
    McpServer {
        server: config.server.public_url.clone(),
        target: ServerTarget::Connection(name.to_owned()),
        lean: false,
    }
}

/// What is printed at the start.
struct Page<'a> {
    config: &'a Config,
    token: Option<SecretString>,
    access: &'static str,
    folder: &'a Path,
}

impl Page<'_> {
    fn name(&self) -> &str {
        self.config.connections.first().map_or("", |connection| connection.name.as_ref())
    }

    fn forms(&self) -> Result<Vec<(Client, ClientSetup)>, Failure> {
        let form = |client| Ok((client, form(client, self.config, self.name(), self.token.as_ref())?));
        Client::SHOWN.into_iter().map(form).collect()
    }

    fn record(&self) -> Result<serde_json::Value, Failure> {
        let base = &self.config.server.public_url;
        let id = self.config.connections.first().map(|connection| connection.id);
        let clients = self.forms()?.into_iter().map(|(client, form)| (client.as_str().to_owned(), form.paste.into()));
        let mut record = json!({
            "baseUrl": base, "mcpUrl": place(self.config, self.name()).mcp_url(), "apiUrl": format!("{base}/api/query"),
            "connectionId": id, "connectionName": self.name(), "access": self.access, "user": ADMINISTRATOR,
            "clients": clients.collect::<serde_json::Map<_, _>>(),
        });
        if let Some(token) = &self.token {
            record["pat"] = token.expose_secret().into();
        }
        Ok(record)
    }

    fn words(&self) -> Result<String, Failure> {
        let (base, name, access) = (&self.config.server.public_url, self.name(), self.access);
        let mcp = place(self.config, name).mcp_url();
        let token = match &self.token {
            Some(token) => {
                format!("{}\n                 (shown only this once, and good for 90 days)", token.expose_secret())
            }
            None => "was shown at the first start; --new-token makes another one".to_owned(),
        };
        let mut words = format!(
            "\n  Portico serves the database \"{name}\", {access}.\n\n    \
             In a browser   {base}\n    MCP endpoint   {mcp}\n    SQL API        {base}/api/query\n    \
             user           {ADMINISTRATOR}\n    token          {token}\n\n  \
             Choose your client. Where it has you sign in, that is with this user and this token.\n"
        );
        for (client, form) in self.forms()? {
            // Short, so that the token stays in sight.
            let json: Option<serde_json::Value> = serde_json::from_str(&form.paste).ok();
            let paste = json.map_or(form.paste, |json| json.to_string());
            words.push_str(&format!("\n  {}. {}:\n{paste}\n", client.title(), form.what));
            form.notes.iter().for_each(|note| words.push_str(&format!("  {note}\n")));
        }
        words.push_str(&format!("\n  Users and tokens are kept in {}. Ctrl-C stops it.", self.folder.display()));
        Ok(words)
    }
}
