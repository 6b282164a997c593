// The official TypeScript client's own OAuth flow, from a bare 401 to the list of tools.
//   oauth_typescript.mjs CREDENTIALS.json    as `portico demo` writes it; needs @modelcontextprotocol/client 2.4.0
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const demo = JSON.parse(readFileSync(process.argv[2]));
const approve = fileURLToPath(new URL('approve.py', import.meta.url));
const kept = {};
let answer;
const provider = {
  redirectUrl: 'http://127.0.0.1:33419/callback',
  clientMetadata: {
    client_name: 'TypeScript client',
    redirect_uris: ['http://127.0.0.1:33419/callback'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  redirectToAuthorization: (url) => {
    answer = new URL(execFileSync('python3', [approve, url.href, demo.user, demo.pat], { encoding: 'utf8' }).trim());
  },
};
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(demo.mcpUrl), { authProvider: provider });
  const client = new Client({ name: 'oauth', version: '1' });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!answer || kept.tokens) throw error;
    await transport.finishAuth(answer.searchParams);
    return connect();
  }
  return client;
};
const client = await connect();
const { tools } = await client.listTools();
if (tools.length < 8) throw new Error(`only ${tools.length} tools`);
console.log(`ok: ${tools.length} tools with ${JSON.stringify(kept.tokens.scope)}`);
await client.close();
