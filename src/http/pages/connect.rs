//! The connect page: what a person can use, with its state, and what to paste into each client for it.

use std::convert::Infallible;

use actix_web::HttpRequest;
use portico_actors::directory::ConnectionEntry;
use portico_actors::principal::Rights;

use crate::app::App;
use crate::client_setup::client::Client;
use crate::client_setup::mcp_server::{McpServer, ServerTarget};
use crate::client_setup::setup::{ClientAuth, ClientSetup as ClientForm};
use crate::client_setup::setups;
use crate::config::program;
use crate::http::api::metadata::status;
use crate::http::form::Form;

/// The path of this program on another person's machine is unknown.
const PROGRAM: &str = "/path/to/portico";

/// One place that a person may use.
pub(super) struct TargetRow {
    pub(super) name: String,
    /// Its kind.
    pub(super) kind: &'static str,
    pub(super) state: String,
    pub(super) is_up: bool,
    pub(super) url: String,
    /// The query that chooses it on this page.
    pub(super) query: String,
}

/// What to paste into one client.
pub(super) struct Instruction {
    pub(super) title: &'static str,
    pub(super) form: ClientForm,
}

/// The targets, and how to use the chosen one.
pub(super) struct Connecting {
    pub(super) places: Vec<TargetRow>,
    /// The name of the chosen target; `None` for all of them at once.
    pub(super) chosen: Option<String>,
    pub(super) url: String,
    pub(super) clients: Vec<Instruction>,
}

impl Connecting {
    /// Returns the targets that `rights` reach, and how to use what the query of `request` chooses.
    pub(super) fn new(request: &HttpRequest, app: &App, rights: &Rights) -> Self {
        let config = app.config();
        let server = config.server.public_url.clone();
        let at = |target| McpServer { server: server.clone(), target, lean: false };
        let asked = Form::parse(request.query_string());
        let mut target = ServerTarget::All;
        let mut places = Vec::new();
        for entry in app.directory.list_of(|id| rights.covers(id)) {
            let place = at(ServerTarget::Connection(entry.name.to_string()));
            if asked.exact("connection") == Some(entry.name.as_ref()) {
                target = place.target.clone();
            }
            places.push(row(&place, entry.driver.product, status(&entry).to_owned(), is_up(&entry)));
        }
        for reachable in app.workspaces_within(rights) {
            let (entries, all) = (reachable.entries(&app.directory).unwrap_or_default(), reachable.underneath.len());
            let place = at(ServerTarget::Workspace(reachable.workspace.name.to_string()));
            if asked.exact("workspace") == Some(reachable.workspace.name.as_ref()) {
                target = place.target.clone();
            }
            let up = entries.iter().filter(|entry| is_up(entry)).count();
            let state = if up == all { "up".to_owned() } else { format!("{up} of {all} connections up") };
            places.push(row(&place, "workspace", state, up == all));
        }
        let place = at(target);
        let here = program().ok().filter(|_| place.is_loopback());
        let program = here.unwrap_or_else(|| PROGRAM.into());
        let instruct = |client: Client| {
            let Ok(credential) = ClientAuth::best(client, &place, Some(config.oauth), || Ok::<_, Infallible>(None));
            Instruction { title: client.title(), form: setups::form(client, &place, &credential, &program) }
        };
        let chosen = (place.target != ServerTarget::All).then(|| place.name().to_owned());
        Self { places, chosen, url: place.mcp_url(), clients: Client::SHOWN.map(instruct).into() }
    }
}

fn row(place: &McpServer, kind: &'static str, state: String, is_up: bool) -> TargetRow {
    let what = if matches!(place.target, ServerTarget::Workspace(_)) { "workspace" } else { "connection" };
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(what, place.name()).finish();
    TargetRow { name: place.name().to_owned(), kind, state, is_up, url: place.mcp_url(), query }
}

fn is_up(entry: &ConnectionEntry) -> bool {
    matches!(status(entry), "up" | "idle")
}
