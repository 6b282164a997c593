// One run of npm's @modelcontextprotocol/client: node client_v2.mjs URL TOKEN MODE
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { use } from './use.mjs';

const [url, token, mode] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);
await use({
  list: () => client.listTools(),
  call: (query, options) => client.callTool({ name: 'execute_select', arguments: { query } }, options),
  version: () => client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
});
await client.close();
