// One run of npm's @modelcontextprotocol/sdk: node client_v1.mjs URL TOKEN
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { use } from './use.mjs';

const [url, token] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);
await use({
  list: () => client.listTools(),
  call: (query, options) => client.callTool({ name: 'execute_select', arguments: { query } }, undefined, options),
  version: () => transport.protocolVersion,
});
await client.close();
