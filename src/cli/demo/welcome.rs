//! The page that the demo prints: where it is, who may call, and three commands that work as
//! they stand.

use super::credentials::Credentials;

/// The whole page.
pub(super) fn page(credentials: &Credentials) -> String {
    let Credentials { base_url, mcp_url, auth_url, connection_name, user, pat, client_id, client_secret, .. } =
        credentials;
    format!(
        r#"
  Portico is running on sample data: a small shop (connection "{connection_name}"), its customers' support (connection
  "crm"), and the workspace "store" over both.

    MCP endpoint     {mcp_url}
    SQL API          {base_url}/api/query
    Tokens           {auth_url}
    In a browser     {base_url}/account

    user             {user}
    access token     {pat}
    client id        {client_id}
    client secret    {client_secret}

  Try it. A token for an agent:

TOKEN=$(curl -s {auth_url} -d grant_type=client_credentials -d client_id={client_id} -d client_secret={client_secret} | sed 's/.*"access_token":"\([^"]*\)".*/\1/')

  The tools that the agent gets:

curl -s {mcp_url} -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{{"jsonrpc":"2.0","id":1,"method":"tools/list"}}'

  A query by a program, over both:

curl -s "{base_url}/api/query?workspace=store" -u {user}:{pat} -H "Content-Type: application/json" -d '{{"query":"SELECT c.country, count(*) AS tickets FROM support.tickets t JOIN customers c ON c.id = t.customer_id GROUP BY c.country ORDER BY tickets DESC"}}'

  Ctrl-C stops it. Data and credentials stay in the data directory."#
    )
}
