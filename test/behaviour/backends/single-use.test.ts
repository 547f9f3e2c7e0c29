import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { backends, share, startServer, type TestServer } from '../../server.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const large = randomBytes(24 * 1024 * 1024);

describe(`single use (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer()));
  after(async () => server[Symbol.asyncDispose]());

  it('one complete download uses the link up', async () => {
    const link = await share(server, 'once', { single_use: true });
    assert.equal(await (await fetch(link.downloadUrl)).text(), 'once');
    const again = await fetch(link.downloadUrl);
    assert.equal(again.status, 404);
    assert.equal((await server.call('link_status', { token: link.token })).data.state, 'used');
    recordProof('C6:one-complete-download');
  });

  it('of 40 downloads at once exactly one is complete', async () => {
    const link = await share(server, large, { single_use: true });
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const got = await fetch(link.downloadUrl);
        const body = Buffer.from(await got.arrayBuffer());
        return got.status === 200 && body.equals(large) ? 'complete' : got.status;
      }),
    );
    assert.equal(statuses.filter((status) => status === 'complete').length, 1);
    assert.ok(
      statuses.every((status) => ['complete', 404, 409].includes(status)),
      String(statuses),
    );
    assert.equal((await fetch(link.downloadUrl)).status, 404);
    recordProof('C6:exactly-one-under-concurrency');
  });

  it('HEAD and a 304 do not use it up', async () => {
    const link = await share(server, 'x', { single_use: true });
    assert.equal((await fetch(link.downloadUrl, { method: 'HEAD' })).status, 200);
    assert.equal((await fetch(link.downloadUrl, { headers: { 'If-None-Match': '*' } })).status, 304);
    assert.equal((await fetch(link.downloadUrl)).status, 200);
  });

  it('a transfer that breaks off half-way does not use it up, and is gone on with by Range', async () => {
    const link = await share(server, large, { single_use: true });
    const first = await readSome(link.downloadUrl, 3_000_000);
    const rest = await answered(() =>
      fetch(link.downloadUrl, {
        headers: { Range: `bytes=${first.length}-`, 'If-Range': `"${link.sha256}"` },
      }),
    );
    assert.equal(rest.status, 206);
    const whole = Buffer.concat([first, Buffer.from(await rest.arrayBuffer())]);
    assert.ok(whole.equals(large));
    assert.equal((await fetch(link.downloadUrl)).status, 404);
    recordProof('C6:broken-transfer-is-resumed', 'C6:half-a-transfer-does-not-use-it-up');
  });

  it('a broken transfer may also start afresh', async () => {
    const link = await share(server, large, { single_use: true });
    await readSome(link.downloadUrl, 1_000_000);
    const whole = await answered(() => fetch(link.downloadUrl));
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(large));
    assert.equal((await fetch(link.downloadUrl)).status, 404);
  });

  it('a file cannot be had twice in pieces that skip the start', async () => {
    const link = await share(server, '0123456789', { single_use: true });
    const skipped = await fetch(link.downloadUrl, { headers: { Range: 'bytes=1-' } });
    assert.deepEqual([skipped.status, await skipped.text()], [200, '0123456789']);
    assert.equal((await fetch(link.downloadUrl, { headers: { Range: 'bytes=0-0' } })).status, 404);
  });

  it('it can be fetched piece by piece from the start, and is used up by the last piece', async () => {
    const link = await share(server, '0123456789', { single_use: true });
    const pieces: string[] = [];
    for (const range of ['bytes=0-3', 'bytes=4-6', 'bytes=5-7', 'bytes=8-']) {
      const got = await fetch(link.downloadUrl, { headers: { Range: range } });
      assert.equal(got.status, 206, range);
      pieces.push(await got.text());
    }
    assert.deepEqual(pieces, ['0123', '456', '567', '89']);
    assert.equal((await fetch(link.downloadUrl)).status, 404);
  });

  it('a client that closes with bytes unread has not had a complete download', async () => {
    const link = await share(server, randomBytes(200_000), { single_use: true });
    const { hostname, port, pathname } = new URL(link.downloadUrl);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.pause();
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    await wait(300);
    socket.resetAndDestroy();
    const got = await answered(() => fetch(link.downloadUrl), [404, 409]);
    assert.equal((await got.arrayBuffer()).byteLength, 200_000);
    recordProof('C6:half-a-transfer-does-not-use-it-up');
  });

  it('rubbish sent after the last byte does not open it again, and a reset does so once', async () => {
    for (const [ending, copies] of [
      ['rubbish', 1],
      ['reset', 2],
    ] as const) {
      const link = await share(server, 'a whole file', { single_use: true });
      let complete = 0;
      const take = async (): Promise<void> => {
        if ((await readAndEnd(link.downloadUrl, ending)).includes('a whole file')) complete++;
      };
      await eventually(async () => {
        await take();
        return complete === copies;
      });
      for (let round = 0; round < 3; round++) {
        await wait(100);
        await take();
      }
      assert.equal(complete, copies, ending);
    }
  });

  /** After an answer that was read, each ends the connection by a reset, as a pool of connections or a proxy does. */
  const later: Readonly<Record<string, (path: string) => { first: string; next: string }>> = {
    'the next request on its connection': (path) => ({ first: ask(path), next: ask('/livez') }),
    'the next download on its connection': (path) => ({ first: ask(path), next: ask(largePath) }),
    'a pipelined request': (path) => ({ first: ask(path) + ask(largePath), next: '' }),
    'two pipelined requests': (path) => ({ first: ask(path) + ask('/livez') + ask(largePath), next: '' }),
    'half of a request': (path) => ({ first: ask(path), next: 'GET /li' }),
    'the pieces before it': (path) => ({
      first: ask(path, 'Range: bytes=0-3\r\n') + ask(path, 'Range: bytes=4-\r\n'),
      next: ask('/livez'),
    }),
    'a range of the whole': (path) => ({ first: ask(path, 'Range: bytes=0-\r\n'), next: ask(largePath) }),
  };
  let largePath = '';
  for (const [name, requests] of Object.entries(later))
    it(`a used link stays used when ${name} comes before a reset of the connection`, async () => {
      largePath = new URL((await share(server, large)).downloadUrl).pathname;
      const link = await share(server, 'a whole file', { single_use: true });
      await resetLater(link.downloadUrl, requests(new URL(link.downloadUrl).pathname), 'file');
      await neverAgain(link.downloadUrl);
    });

  it('a used link to several files stays used when another download on its connection is reset', async () => {
    largePath = new URL((await share(server, large)).downloadUrl).pathname;
    const ids = [(await share(server, 'one')).fileId, (await share(server, 'two')).fileId];
    const bundle = await server.call('bundle_files', { file_ids: ids, filename: 'both', single_use: true });
    const url = bundle.data.downloadUrl as string;
    // The last bytes of a ZIP: the length of its comment.
    await resetLater(url, { first: ask(new URL(url).pathname), next: ask(largePath) }, 'PK\x05\x06');
    await neverAgain(url);
  });

  it('a client that has closed its sending side has one copy, or a second one after a reset', async () => {
    const link = await share(server, 'a whole file', { single_use: true });
    let complete = 0;
    for (let round = 0; round < 4; round++) {
      const { hostname, port, pathname } = new URL(link.downloadUrl);
      const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      socket.end(ask(pathname));
      await eventually(() => socket.destroyed || isWhole(text), 5);
      socket.resetAndDestroy();
      if (text.includes('a whole file')) complete++;
      await wait(200);
    }
    assert.ok(complete <= 2, `${complete} copies`);
  });

  it('it stays used up after a restart, and an unused one stays usable', async () => {
    if (server.config.storage === 'memory') return;
    const [used, unused] = [
      await share(server, 'a', { single_use: true }),
      await share(server, 'b', { single_use: true }),
    ];
    await (await fetch(used.downloadUrl)).text();
    await server.restart();
    assert.equal((await fetch(used.downloadUrl)).status, 404);
    assert.equal(await (await fetch(unused.downloadUrl)).text(), 'b');
  });
});

const ask = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;

/** Reads until it has the text, sends what comes later, and resets the connection with bytes unread. */
async function resetLater(
  url: string,
  requests: { first: string; next: string },
  until: string,
): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
  socket.write(requests.first);
  let text = '';
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error(`The connection ended: ${text}`)));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes(until)) resolve();
    });
  });
  socket.pause();
  socket.write(requests.next);
  await wait(300);
  socket.resetAndDestroy();
}

/** The watch for a reset is over as soon as the connection is. */
async function neverAgain(url: string): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await wait(200);
    const got = await fetch(url);
    assert.equal(got.status, 404, await got.text());
  }
}

/** Reads the whole answer, then ends the connection in a way that no honest client does. */
async function readAndEnd(url: string, ending: 'rubbish' | 'reset'): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await eventually(() => socket.destroyed || isWhole(text), 5);
  if (ending === 'reset') socket.resetAndDestroy();
  else socket.write('\0rubbish\r\n\r\n');
  await wait(100);
  socket.destroy();
  return text;
}

function isWhole(answer: string): boolean {
  const [head, body] = answer.split('\r\n\r\n', 2);
  const length = /^content-length: (\d+)$/im.exec(head!)?.[1];
  return length !== undefined && body !== undefined && body.length >= Number(length);
}

/** Reads at least so many bytes, then pulls the cable. */
async function readSome(url: string, bytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = get(url, resolve).on('error', reject);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of (await promise) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= bytes) break;
  }
  request.on('error', () => {}).destroy();
  return Buffer.concat(chunks);
}

/** The server learns of a broken connection a moment later; until then the link is busy. */
async function answered(ask: () => Promise<Response>, notYet: readonly number[] = [409]): Promise<Response> {
  let got: Response;
  await eventually(async () => {
    got = await ask();
    if (!notYet.includes(got.status)) return true;
    await got.arrayBuffer();
    return false;
  });
  return got!;
}
