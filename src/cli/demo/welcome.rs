//! The page that the demo prints: its address, and one line for each way to use it, each of which works as printed.

use std::path::Path;

use super::credentials::Credentials;
use crate::cli::common::command as again;
use crate::client_setup::client::Client;
use crate::client_setup::mcp_server::{McpServer, ServerTarget};
use crate::client_setup::setup::ClientAuth;
use crate::client_setup::setups;

/// Returns the whole page: at most 25 lines. `program` is this program, and `data_dir` its data folder.
pub(super) fn page(credentials: &Credentials, program: &Path, data_dir: &Path) -> String {
    let Credentials { base_url, connection_name, user, pat, .. } = credentials;
    let place = McpServer { server: base_url.clone(), target: ServerTarget::All, lean: false };
    let token = ClientAuth::Token(pat.as_str().into());
    let claude = setups::form(Client::ClaudeCode, &place, &token, program).paste;
    let connect = again("connect CLIENT", &data_dir.join("config.toml"));
    let (program, data_dir) = (program.display(), data_dir.display());
    let launched = place.stdio().join(" ");
    format!(
        r#"
  Portico runs on sample data: a shop (connection "{connection_name}"), its customers' support ("crm"), and the workspace
  "store" over both.

    In a browser    {base_url}
    Sign in as      {user}
    with the token  {pat}

  Claude Code:

{claude}

  Any client that launches programs:

PORTICO_TOKEN={pat} {program} {launched}

  A program, by SQL over HTTP:

curl -s "{base_url}/api/query?workspace=store" -u {user}:{pat} -H "Content-Type: application/json" -d '{{"query":"SELECT c.country, count(*) AS tickets FROM support.tickets t JOIN customers c ON c.id = t.customer_id GROUP BY c.country ORDER BY tickets DESC"}}'

  Other clients: {connect}
  Data and credentials stay in {data_dir}. Ctrl-C stops it."#
    )
}
