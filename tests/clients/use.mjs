// What every client of Node does, however it calls tools.
import assert from 'node:assert/strict';

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';

// `call(query, options)` gives the result of execute_select; `list()` the tools. A client that reads progress and answer
// in one piece, as from a pipe, forgets who wants the progress before it is told (`mayMiss`).
export async function use({ list, call, version, mayMiss = false }) {
  const names = (await list()).tools.map((tool) => tool.name);
  assert(names.includes('execute_select'), String(names));

  const told = [];
  const result = await call('SELECT 7 AS n', { onprogress: ({ progress }) => told.push(progress) });
  assert(!result.isError, JSON.stringify(result));
  assert.deepEqual(result.structuredContent.rows, [[7]]);
  assert((mayMiss || told.length > 0) && told.every((each, at) => at === 0 || each > told[at - 1]), String(told));

  const wrong = await call('SELECT * FROM custmers');
  assert(wrong.isError && wrong.content[0].text.includes('customers'), JSON.stringify(wrong));

  const leaving = new AbortController();
  const running = call(ENDLESS, { signal: leaving.signal, onprogress: () => leaving.abort('enough') });
  await assert.rejects(running);

  assert.deepEqual((await call('SELECT 8 AS n')).structuredContent.rows, [[8]]);
  console.log(`${version()}, ${names.length} tools`);
}
