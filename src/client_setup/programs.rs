//! Texts to paste into a shell: a call by curl, one by the Inspector, and a program in Python and in TypeScript.

use super::client::Client;
use super::mcp_server::{McpServer, ServerTarget};
use super::setup::ClientSetup;

/// Lists the tools and calls one, with the package mcp (2.3.0).
const PYTHON: &str = r#"import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = "{url}"
TOKEN = os.environ["PORTICO_TOKEN"]


async def main() -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            tools = await client.list_tools()
            print("tools:", ", ".join(tool.name for tool in tools.tools))
            instructions = await client.call_tool("get_instructions", {})
            print(instructions.content[0].text)


asyncio.run(main())
"#;

/// The same with npm's @modelcontextprotocol/client (2.4.0); the TypeScript code is also JavaScript.
const TYPESCRIPT: &str = r"import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'portico-example', version: '1' });
await client.connect(
  new StreamableHTTPClientTransport(new URL('{url}'), {
    requestInit: { headers: { Authorization: `Bearer ${process.env.PORTICO_TOKEN}` } },
  }),
);
const { tools } = await client.listTools();
console.log('tools:', tools.map((tool) => tool.name).join(', '));
const instructions = await client.callTool({ name: 'get_instructions', arguments: {} });
console.log(instructions.content[0].text);
await client.close();
";

/// Returns the set-up of `client`; the token is in the environment.
pub(super) fn form(client: Client, place: &McpServer, token: Option<&str>) -> ClientSetup {
    let url = place.mcp_url();
    let mut lines = Vec::new();
    if let Some(token) = token {
        lines.push(format!("export PORTICO_TOKEN={}", quoted(token)));
    }
    let mut form = ClientSetup { what: "Paste this into a shell".to_owned(), ..ClientSetup::default() };
    match client {
        Client::Python => {
            let program = PYTHON.replace("{url}", &url);
            lines.push("pip install mcp".to_owned());
            lines.push(format!("python3 - <<'EOF'\n{program}EOF"));
            form.program = Some(program);
        }
        Client::Typescript => {
            let program = TYPESCRIPT.replace("{url}", &url);
            lines.push("npm install @modelcontextprotocol/client".to_owned());
            lines.push(format!("node --input-type=module <<'EOF'\n{program}EOF"));
            form.program = Some(program);
        }
        Client::Inspector => {
            let header = token.map(|_| " --header \"Authorization: Bearer $PORTICO_TOKEN\"").unwrap_or_default();
            lines.push(format!(
                "npx -y @modelcontextprotocol/inspector --cli {} --transport http --method tools/list{header}",
                quoted(&url)
            ));
        }
        _ => {
            let header = "-H \"Authorization: Bearer $PORTICO_TOKEN\"";
            let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
            lines.push(format!("curl -s {} {header} -H 'Content-Type: application/json' -d '{list}'", quoted(&url)));
            let filter = match &place.target {
                ServerTarget::All => String::new(),
                ServerTarget::Connection(name) => format!("?catalogName={name}"),
                ServerTarget::Workspace(name) => format!("?workspace={name}"),
            };
            let tables = format!("{}/api/tables{filter}", place.server);
            lines.push(format!("curl -s {} {header}", quoted(&tables)));
        }
    }
    form.paste = lines.join("\n");
    form
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |each: char| each.is_ascii_alphanumeric() || matches!(each, '/' | ':' | '.' | '_' | '-');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
