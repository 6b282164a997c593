//! `portico stdio`: MCP on standard input and output, for clients that launch programs.

mod callback;
mod embedded;
mod sign_in;

use std::fmt::Display;
use std::path::PathBuf;
use std::rc::Rc;

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use portico_actors::error::Error;
use secrecy::SecretString;

use self::sign_in::SignIn;
use crate::cli::common::{Failure, access};
use crate::cli::folders;
use crate::cli::running::serve::stop_signal;
use crate::config::Database;
use crate::stdio::{self, Bearer, Server, TokenProvider};

/// The variable of the environment with the token.
const TOKEN: &str = "PORTICO_TOKEN";
/// The default address of a service.
const USUAL_SERVER: &str = "http://localhost:8787";
/// The tools that suffice for reading.
const LEAN: &str = "?ops=get_instructions,get_columns,execute_select";

#[derive(Args, Debug)]
#[command(
    after_help = "Without --connection and --workspace, all that the token opens is served. With --url, no server \
and no configuration is needed: a service for this one database runs as long as the client does.

The token is that of --token-file or of PORTICO_TOKEN; without either, you sign in with your browser, once for each
address, and what you allow is kept in ~/.config/portico/sign-ins for you alone.

Standard output has the protocol alone, standard error the reasons for what went wrong (RUST_LOG=info for more).
It ends with the status 0 when the input ends or it is told to stop (SIGTERM), with 1 when it cannot begin, and with 2
when its command line is wrong."
)]
pub(super) struct Stdio {
    /// The connection that is served, by its name or id.
    #[arg(long, value_name = "NAME", conflicts_with = "workspace")]
    connection: Option<String>,
    /// The workspace that is served.
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// The Portico server that is asked; http://localhost:8787 if absent.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with the token to show to the server.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Who this program is where it may not register itself: the id that portico client add gave it.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Offer the few tools that suffice for reading.
    #[arg(long)]
    lean: bool,
    /// Instead of a server: the database to serve, as postgres://user:password@host/database or sqlite:path.
    /// ${NAME} is taken from the environment.
    #[arg(long, value_name = "URL", conflicts_with_all = ["connection", "workspace", "server", "token_file", "client_id"])]
    url: Option<String>,
    /// The name of that database in statements; made of its address if absent.
    #[arg(long, requires = "url")]
    name: Option<String>,
    /// Let that database be written to, as far as its user may.
    #[arg(long, requires = "url")]
    read_write: bool,
}

pub(super) fn run(command: &Stdio) -> Result<(), Failure> {
    let ended = actix::System::new().block_on(async {
        let Some(url) = &command.url else {
            carry(command.elsewhere()?).await;
            return Ok(None);
        };
        let database = Database { url, name: command.name.as_deref(), access: access(command.read_write) };
        embedded::serve(&database, command.query()).await.map(Some)
    });
    // With the system everything has ended that could still look into the folder.
    ended.map(drop)
}

/// Carries messages until the client or a signal ends it.
async fn carry(server: Server) {
    stdio::run(server, std::io::stdin(), std::io::stdout(), stop_signal(true)).await;
}

impl Stdio {
    /// Returns the query of the endpoint's address.
    fn query(&self) -> &'static str {
        if self.lean { LEAN } else { "" }
    }

    /// The endpoint of a service that runs elsewhere.
    fn elsewhere(&self) -> Result<Server, Failure> {
        let server = self.server.as_deref().unwrap_or(USUAL_SERVER).trim_end_matches('/');
        if !["http://", "https://"].iter().any(|scheme| server.starts_with(scheme)) {
            return Err(Error::invalid(format!("--server: {server:?} is not the address of a server"))
                .hint("write scheme, host and port, as in https://data.example.org")
                .into());
        }
        let authority = server.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        if authority.is_some_and(|authority| authority.contains('@')) {
            return Err(Error::invalid("--server: the address has a user in it")
                .hint("leave out what stands in front of @; the credential comes from --token-file or from signing in")
                .into());
        }
        let named = |kind: &str, name: &str| format!("/mcp/{kind}/{}", utf8_percent_encode(name, PLAIN));
        let path = match (&self.connection, &self.workspace) {
            (Some(name), _) => named("connections", name),
            (None, Some(name)) => named("workspaces", name),
            (None, None) => "/mcp".to_owned(),
        };
        let url = format!("{server}{path}{}", self.query());
        let credential = self.credential(&url)?;
        Ok(Server::new(url, credential)?)
    }

    /// Returns the given token, or one obtained by signing in.
    fn credential(&self, url: &str) -> Result<Rc<dyn TokenProvider>, Failure> {
        let token = match &self.token_file {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(Failure::unreadable(path))?;
                Some(read_token(&text, format_args!("--token-file: {}", path.display()))?)
            }
            None => {
                let given = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
                given.map(|text| read_token(&text, TOKEN)).transpose()?
            }
        };
        if let Some(token) = token {
            return Ok(Rc::new(Bearer(SecretString::from(token))));
        }
        let folder = folders::config()?.join("sign-ins");
        folders::make(&folder)?;
        Ok(Rc::new(SignIn::new(url, self.client_id.clone(), &folder)))
    }
}

/// The characters that need no escape in a path.
const PLAIN: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Reads the token that `place` holds.
fn read_token(text: &str, place: impl Display) -> Result<String, Error> {
    let token = text.trim();
    if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(token.to_owned());
    }
    Err(Error::invalid(format!("{place} holds no token")).hint("it has to hold the token alone, on one line"))
}
