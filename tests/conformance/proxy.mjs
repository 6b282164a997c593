// Adds a bearer token to every request: the conformance suite has no option for one. Everything else passes as it is,
// in both directions and as it flows; a client that leaves takes its request with it.
//   node proxy.mjs PORT UPSTREAM TOKEN
import http from 'node:http';

const [port, upstream, token] = process.argv.slice(2);
const { hostname, port: upstreamPort } = new URL(upstream);

http
  .createServer((request, response) => {
    const headers = request.rawHeaders.flatMap((value, at, all) =>
      at % 2 === 0 && value.toLowerCase() !== 'authorization' ? [value, all[at + 1]] : [],
    );
    headers.push('Authorization', `Bearer ${token}`);
    const options = { hostname, port: upstreamPort, method: request.method, path: request.url, headers, setHost: false };
    const forwarded = http.request(options, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
    });
    forwarded.on('error', (error) => (response.headersSent ? response.destroy() : response.writeHead(502).end(String(error))));
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  })
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
