// One run of npm's @modelcontextprotocol/client: node client_v2.mjs URL TOKEN MODE [PROGRAM]
// With PROGRAM, the client launches `PROGRAM stdio`, which goes to the same address.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { use } from './use.mjs';

const [url, token, mode, program] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
const { origin, pathname } = new URL(url);
const transport = program
  ? new StdioClientTransport({
      command: program,
      args: ['stdio', '--server', origin, '--connection', pathname.split('/').at(-1)],
      env: { PORTICO_TOKEN: token },
    })
  : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
await client.connect(transport);
await use({
  list: () => client.listTools(),
  call: (query, options) => client.callTool({ name: 'execute_select', arguments: { query } }, options),
  mayMiss: Boolean(program),
  version: () => client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
});
await client.close();
