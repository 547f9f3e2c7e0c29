import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, globalAgent, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { eventually } from '../eventually.testing.ts';
import { FetchError, fetchBounded, type FetchPolicy } from './bounded-fetch.ts';

const policy: FetchPolicy = { timeoutMs: 10_000, maxBytes: 1000, privateAddresses: 'allowed' };

async function startServer(listener: RequestListener) {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const readText = (url: string, limits: Partial<FetchPolicy> = {}) =>
  fetchBounded(url, {}, { ...policy, ...limits }, (answer) => answer.text());

/** What it fails with, after seeing that no secret is anywhere in it. */
async function failureOf(work: Promise<unknown>, ...secrets: string[]): Promise<FetchError> {
  const error: unknown = await work.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  );
  const told = inspect(error, { depth: 20, showHidden: true });
  for (const secret of secrets) assert.ok(!told.includes(secret), told);
  assert.ok(error instanceof FetchError, told);
  return error;
}

test('a request has its method, headers and body, and its answer status, headers and text', async () => {
  await using there = await startServer((request, response) => {
    const { method, headers } = request;
    void text(request).then((body) =>
      response
        .writeHead(503, { 'Retry-After': '7' })
        .end(JSON.stringify({ method, length: headers['content-length'], key: headers['x-key'], body })),
    );
  });
  const request = { method: 'POST', headers: { 'X-Key': 'k' }, body: 'ä' } as const;
  const got = await fetchBounded(there.url, request, policy, async ({ status, headers, text }) => {
    return [status, headers.get('retry-after'), headers.get('X-None'), JSON.parse(await text())];
  });
  assert.deepEqual(got, [503, '7', null, { method: 'POST', length: '2', key: 'k', body: 'ä' }]);
});

test('a redirect is an answer, and is not followed', async () => {
  const asked: string[] = [];
  await using there = await startServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  assert.equal(await fetchBounded(there.url, {}, policy, ({ status }) => status), 302);
  assert.deepEqual(asked, ['/']);
});

test('an answer that arrived and that nobody read gives its connection back', async () => {
  await using there = await startServer((_request, response) => response.end('not read'));
  const { host } = new URL(there.url);
  const isHeld = (): boolean => Object.keys(globalAgent.sockets).some((name) => name.startsWith(host));
  await fetchBounded(there.url, {}, policy, async ({ status }) => {
    // So that all of it is here before it is given up.
    await setTimeout(50);
    return status;
  });
  await eventually(() => !isHeld());
});

test('an answer may be as long as the limit, and is broken off beyond it', async () => {
  await using there = await startServer((request, response) => {
    if (request.url === '/fits') return response.end('x'.repeat(1000));
    const more = setInterval(() => response.write('x'.repeat(600)), 1);
    return response.once('close', () => clearInterval(more));
  });
  assert.equal((await readText(`${there.url}fits`)).length, 1000);
  const { kind, message } = await failureOf(readText(there.url));
  assert.deepEqual([kind, message], ['too_long', 'its answer is longer than 1000 bytes']);
});

test('the deadline is for silence before the answer as for an answer that trickles', async () => {
  await using there = await startServer((request, response) => {
    if (request.url !== '/trickle') return;
    const more = setInterval(() => response.write('.'), 1);
    response.once('close', () => clearInterval(more));
  });
  for (const path of ['', 'trickle']) {
    const late = readText(there.url + path, { timeoutMs: 60, maxBytes: 1e9 });
    const { kind, message } = await failureOf(late);
    assert.deepEqual([kind, message], ['timeout', 'no answer within 60 ms'], path);
  }
});

test('a caller who cancels gets the reason as it is, before and within the answer', async () => {
  await using there = await startServer((_request, response) => void response.write('a'));
  const reason = new Error('enough');
  const gone = fetchBounded(there.url, { signal: AbortSignal.abort(reason) }, policy, ({ text }) => text());
  await assert.rejects(gone, reason);
  const stop = new AbortController();
  const within = fetchBounded(there.url, { signal: stop.signal }, policy, ({ text }) => {
    stop.abort(reason);
    return text();
  });
  await assert.rejects(within, reason);
});

test('what is not read of an answer is not received, and an error of the reader stays what it is', async () => {
  const closed = Promise.withResolvers<void>();
  await using there = await startServer((_request, response) => {
    response.once('close', closed.resolve);
    response.write('a');
  });
  const own = new TypeError('of the reader');
  const failing = fetchBounded(there.url, {}, policy, () => {
    throw own;
  });
  await assert.rejects(failing, own);
  await closed.promise;
});

test('no error tells a key, a password, the address or what was answered', async (t) => {
  const secrets = ['s3cret', 'Bearer'];
  await t.test('a connection that is refused or has no end', async () => {
    await using there = await startServer(({ socket }: IncomingMessage) => void socket.destroy());
    const request = { headers: { Authorization: 'Bearer s3cret' } };
    const ask = (url: string) => fetchBounded(url, request, policy, ({ text }) => text());
    const reset = await failureOf(ask(`${there.url}?key=s3cret`), ...secrets);
    assert.deepEqual([reset.kind, reset.message], ['broken_off', 'no connection (ECONNRESET)']);
    const unknown = await failureOf(ask('http://s3cret.invalid/'), ...secrets);
    assert.match(unknown.message, /^no connection \((?:ENOTFOUND|EAI_AGAIN)\)$/);
  });
  await t.test('a header that cannot be sent', async () => {
    const request = { headers: { Authorization: 'Bearer s3cret\n' } };
    const work = fetchBounded('http://127.0.0.1:9/', request, policy, ({ text }) => text());
    assert.equal((await failureOf(work, ...secrets)).message, 'no connection (ERR_INVALID_CHAR)');
  });
  await t.test('a URL that is none, or holds a password', async () => {
    for (const url of ['s3cret', 'ftp://s3cret/', 'http://ann:s3cret@127.0.0.1:9/'])
      assert.equal((await failureOf(readText(url), ...secrets)).kind, 'network');
  });
  await t.test('an answer that is no HTTP and repeats the key', async () => {
    const server = createSocketServer((socket) => void socket.end('s3cret Bearer\r\n\r\n'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const failure = await failureOf(readText(`http://127.0.0.1:${port}/`), ...secrets);
    assert.match(failure.message, /^no connection \(HPE_/);
    server.close();
  });
});

test('an answer that breaks off is a failure, not a short answer', async () => {
  await using there = await startServer((_request, response) => {
    response.writeHead(200, { 'Content-Length': 10 });
    response.write('abc', () => response.destroy());
  });
  assert.equal((await failureOf(readText(there.url))).kind, 'broken_off');
});

test('private addresses are refused by number and by name, before anything is sent', async () => {
  let asked = 0;
  await using there = await startServer((_request, response) => {
    asked++;
    response.end('inside');
  });
  const { port } = there.server.address() as AddressInfo;
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0'];
  for (const scheme of ['http', 'https'])
    for (const host of hosts) {
      const work = readText(`${scheme}://${host}:${port}/`, { privateAddresses: 'refused' });
      assert.equal((await failureOf(work)).kind, 'private_address', `${scheme} ${host}`);
    }
  assert.equal(asked, 0);
  // A connection that was kept from a request that may go there is no way around.
  assert.equal(await readText(there.url), 'inside');
  const again = readText(there.url, { privateAddresses: 'refused' });
  assert.equal((await failureOf(again)).kind, 'private_address');
});

test('bytes are sent as they come, and an answer is read as they come', async () => {
  await using there = await startServer((request, response) => void request.pipe(response));
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 3; count++) yield Buffer.alloc(100, `${count}`);
  }
  const request = { method: 'PUT', headers: { 'Content-Length': '300' }, body: pieces() } as const;
  const echoed = await fetchBounded(there.url, request, policy, async ({ chunks }) =>
    Buffer.concat(await Array.fromAsync(chunks())).toString(),
  );
  assert.equal(echoed, '0'.repeat(100) + '1'.repeat(100) + '2'.repeat(100));
  const more = { ...request, headers: { 'Content-Length': '300' }, body: pieces() };
  const work = fetchBounded(there.url, more, { ...policy, maxBytes: 250 }, ({ chunks }) =>
    Array.fromAsync(chunks()),
  );
  assert.equal((await failureOf(work)).kind, 'too_long');
});

test('a server that refuses bytes before it has them all is heard, and a source that breaks fails', async () => {
  await using there = await startServer((_, response) => void response.writeHead(413).end('too large'));
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield Buffer.alloc(1000);
      await setTimeout(1);
    }
  }
  const headers = { 'Content-Length': '1000000000' };
  const status = await fetchBounded(
    there.url,
    { method: 'PUT', headers, body: endless() },
    policy,
    (answer) => answer.status,
  );
  assert.equal(status, 413);
  // oxlint-disable-next-line require-yield -- it breaks before the first byte
  async function* broken(): AsyncGenerator<Uint8Array> {
    throw Object.assign(new Error('the disk is gone'), { code: 'EIO' });
  }
  const error = await failureOf(
    fetchBounded(there.url, { method: 'PUT', headers, body: broken() }, policy, ({ text }) => text()),
    'the disk is gone',
  );
  assert.match(error.message, /EIO/);
});
