import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { it } from 'node:test';
import { connect } from 'node:tls';
import { freePort } from '../../src/platform/free-port.testing.ts';
import { tokenRooms } from '../../src/surfaces/http/requests.ts';
import { recordProof } from '../requirements/requirements.testing.ts';
import { filesHolding } from '../secrets.testing.ts';
import { share, startServer, type TestServer } from '../server.testing.ts';
import { startTeam } from '../behaviour/users/team.testing.ts';
import { noNginx, startNginx } from './nginx.testing.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string): Promise<string> => readFile(join(root, name), 'utf8');

it('nginx and the pages about proxies know every route whose URL holds a token', async () => {
  const site = await read('packaging/nginx/workcrate.conf');
  const [, rooms] = /location ~ \^\/\(\?:([\w|]+)\)\/ \{/.exec(site)!;
  assert.deepEqual(rooms!.split('|').toSorted(), tokenRooms.toSorted());
  for (const page of [
    'SECURITY.md',
    'docs/guide/deploy.md',
    'docs/guide/users.md',
    'docs/guide/connect.md',
  ]) {
    const text = await read(page);
    for (const room of tokenRooms) assert.ok(text.includes(`\`/${room}`), `${page}: /${room}`);
  }
});

/** The tokens of all kinds of links that there are, by room. */
async function tokensOf(server: TestServer) {
  const { token, downloadUrl } = await share(server, randomBytes(2_000_000));
  const single = await share(server, 'once', { single_use: true });
  const { data } = await server.call('request_upload', { filename: 'a.bin' });
  const ask = await server.call('read_client_file', { path: 'docs/plan.md', via: 'upload' });
  const asked = /\/(?:uploads|ask)\/([\w-]{43})/.exec(ask.text)![1]!;
  assert.ok(downloadUrl.endsWith(token));
  const strangers = Array.from({ length: 3 }, () => randomBytes(32).toString('base64url'));
  return [
    ...[token, single.token, strangers[0]!].map((one) => ['files', one] as const),
    ...[data.uploadUrl.slice(-43) as string, asked, strangers[1]!].map((one) => ['uploads', one] as const),
    ...[asked, strangers[2]!].map((one) => ['ask', one] as const),
  ];
}

/** In every way in which somebody may use a link, rightly or not. */
async function useEverywhere(proxy: string, room: string, token: string): Promise<number[]> {
  const url = `${proxy}/${room}/${token}`;
  const statuses = [];
  for (const [path, init] of [
    [url, { method: 'HEAD' }],
    [url, { headers: { Range: 'bytes=0-5', Referer: url } }],
    [`${url}?token=${token}`, { headers: { Referer: url } }],
    [`${proxy}//${room}//${token}`, {}],
    [`${proxy}/${room}%2F${token}`, {}],
    [`${proxy}/${room}/${token.slice(0, 20)}%${token.charCodeAt(20).toString(16)}${token.slice(21)}`, {}],
    [url, { method: 'PATCH', body: 'x', headers: { 'Upload-Offset': 'x' } }],
    [url, { method: 'POST', body: 'x' }],
  ] as const) {
    const answer = await fetch(path, init);
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  return statuses;
}

/** In URLs in which it has no business. */
async function useElsewhere(proxy: string, room: string, token: string): Promise<void> {
  await fetch(`${proxy}/${token}`);
  await fetch(`${proxy}/livez?${token}`, { headers: { Referer: `${proxy}/${room}/${token}` } });
}

/** Requests that nginx itself refuses, or that end in the middle. */
async function breakOff(port: number, room: string, token: string): Promise<void> {
  for (const rest of [
    'bad header line\r\n\r\n',
    `Host: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
    'Host: 127.0.0.1\r\nContent-Length: 99\r\n\r\nhalf',
    'Host: 127.0.0.1\r\n',
  ]) {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.write(`PUT /${room}/${token} HTTP/1.1\r\n${rest}`);
    setTimeout(() => socket.destroy(), 200);
    await new Promise((resolve) => void socket.once('close', resolve));
  }
}

it('no token of any route is in a log of nginx or of the server', { skip: noNginx }, async () => {
  const port = await freePort();
  const proxy = `https://127.0.0.1:${port}`;
  await using nginxStarted = new AsyncDisposableStack();
  const server = await startServer({ publicUrl: proxy, storage: 'disk', downloads: 'accel' });
  nginxStarted.defer(() => server[Symbol.asyncDispose]());
  const objects = join(server.data, 'files/objects');
  const nginx = nginxStarted.use(await startNginx({ port, servers: [server.url], objects }));
  const tokens = await tokensOf(server);
  const known = new Map<string, number[]>();
  for (const [room, token] of tokens) known.set(`${room} ${token}`, await useEverywhere(proxy, room, token));
  for (const [room, token] of tokens) await useElsewhere(proxy, room, token);
  for (const [room, token] of tokens) await breakOff(port, room, token);
  assert.equal(known.get(`ask ${tokens[6]![1]}`)![0], 200, 'the page of a question was served');
  const audited = await Promise.all(
    tokens.map(([, token]) => filesHolding(join(server.data, 'audit'), token)),
  );
  const logged = server.logged.join('');
  // The proxy is also asked while nothing answers behind it, which it complains of.
  await server[Symbol.asyncDispose]();
  for (const [room, token] of tokens)
    assert.ok((await useEverywhere(proxy, room, token)).every((status) => status >= 400));
  assert.equal((await fetch(`${proxy}/livez`)).status, 502);
  const written = (await nginx.errors()) + (await nginx.requests());
  assert.match(await nginx.errors(), /GET \/livez/, 'other errors are logged');
  assert.match(await nginx.requests(), /"GET \/ask HTTP/, 'and so are requests, without what is secret');
  for (const [room, token] of tokens) {
    for (const part of [token, token.slice(0, 20), token.slice(-20)]) {
      assert.ok(!written.includes(part), `${room}: in a log of nginx`);
      assert.ok(!logged.includes(part), `${room}: in the log of the server`);
    }
    assert.deepEqual(await filesHolding(nginx.folder, token), [], room);
  }
  assert.deepEqual(audited.flat(), []);
  recordProof('C2:in-no-log');
});

/** The status of a request with a wrong key, made from that address of this machine. */
function knock(url: string, localAddress: string, forged: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { Authorization: 'Bearer wrong', ...forged };
  const sent = request(`${url}/mcp`, { method: 'POST', localAddress, headers, agent: false }, (answer) => {
    answer.resume();
    resolve(answer.statusCode!);
  });
  sent.on('error', reject).end();
  return promise;
}

it(
  'with --trusted-proxy, the log and the limit on guesses go by who is behind nginx',
  { skip: noNginx },
  async () => {
    const port = await freePort();
    const proxy = `https://127.0.0.1:${port}`;
    await using team = await startTeam({ publicUrl: proxy, guessLimit: 2, trustedProxy: ['127.0.0.1'] });
    await using _nginx = await startNginx({ port, servers: [team.url] });
    const forged = { 'X-Forwarded-For': '203.0.113.9, 127.0.0.1', Forwarded: 'for=203.0.113.9' };
    const one = [];
    for (let count = 0; count < 3; count++) one.push(await knock(proxy, '127.0.0.2', forged));
    assert.deepEqual(one, [401, 401, 429]);
    assert.equal(await knock(proxy, '127.0.0.3'), 401, 'another address has its own limit');
    const addresses = team.logged
      .map((line) => JSON.parse(line) as { event: string; address?: string })
      .filter(({ event }) => event === 'auth.refused')
      .map(({ address }) => address);
    assert.deepEqual(addresses, ['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.3']);
  },
);
