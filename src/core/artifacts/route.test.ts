import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, IncomingMessage, request, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { ann, hostileNames, stage, strangers } from './artifacts.testing.ts';
import type { NoteRequest } from '../audit/audit.ts';
import { eventually } from '../../platform/eventually.testing.ts';
import type { Caller } from '../identity.ts';
import type { Artifacts } from './artifacts.ts';
import { createArtifactRoutes } from './route.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

interface ServedOptions {
  sizeLimit?: number;
  signedIn?: () => Caller | null;
}

/** Notes nothing: what is noted is in test/behaviour/audit. */
const noted: NoteRequest = (_asked, work) => work(() => {});

async function served({ signedIn = () => null, ...options }: ServedOptions = {}) {
  const set = await stage(options);
  const app = new Hono();
  app.get('/metrics', (context) => context.text('metrics'));
  app.route('/', createArtifactRoutes({ ...set, signedIn, noted }));
  app.notFound((context) => context.text('nothing here', 404));
  const get = async (path: string) => {
    const answer = await app.request(path);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as unknown };
  };
  return { ...set, app, get };
}

test('the list is {artifacts, count}, the same for somebody who has none', async () => {
  await using web = await served();
  web.put('b.txt', 'x');
  web.put('a.txt', 'x');
  const { status, headers, body } = await web.get('/ann/artifacts');
  assert.deepEqual([status, body], [200, { artifacts: ['a.txt', 'b.txt'], count: 2 }]);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.deepEqual((await web.get('/nobody/artifacts')).body, { artifacts: [], count: 0 });
  recordProof('A8:list-shape');
});

test('more artifacts than a page are all in one list, however slowly it is taken', async () => {
  await using web = await served();
  const names = Array.from({ length: 20_001 }, (_, at) => `f${at}`).sort();
  for (const name of names) web.put(name, '');
  const { status, body } = await web.get('/ann/artifacts');
  assert.deepEqual([status, body], [200, { artifacts: names, count: 20_001 }]);
  const answer = await web.app.request('/ann/artifacts');
  const reader = answer.body!.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal(web.logged().length, 4, 'a reader that goes away has no more pages listed');
});

test('the names . and .. are refused as names, also where a client encodes them', async () => {
  await using web = await served();
  await using http = await listening(web.app);
  for (const [name, decoded] of [
    ['%2e%2e', '..'],
    ['%2E.', '..'],
    ['..', '..'],
    ['%2e', '.'],
  ] as const) {
    const { status, body } = await rawGet(http.url, `/ann/artifacts/${name}`);
    const error = `Invalid artifact path '${decoded}': cannot start with '.'`;
    assert.deepEqual([status, JSON.parse(body)], [400, { error }], name);
  }
  for (const path of ['/ann/artifacts/%2e%2e/', '/ann/artifacts/', '/ann/', '/%2e%2e'])
    assert.equal((await rawGet(http.url, path)).body, 'nothing here', path);
});

/** Without a parser of URLs on this side, which takes such names out of a path. */
async function rawGet(url: string, path: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(url);
  const [answer] = (await once(request({ hostname, port, path }).end(), 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, body: await text(answer) };
}

test('an artifact is {artifact_id, data, encoding}, whatever its name', async () => {
  await using web = await served();
  for (const name of hostileNames) {
    web.put(name, `bytes of ${name}`);
    const { status, body, headers } = await web.get(`/ann/artifacts/${encodeURIComponent(name)}`);
    const data = Buffer.from(`bytes of ${name}`).toString('base64');
    assert.deepEqual([status, body], [200, { artifact_id: name, data, encoding: 'base64' }]);
    assert.equal(headers.get('cache-control'), 'no-store');
  }
  recordProof('A8:artifact-shape');
});

test('errors are {error} and nothing else, with the status of their code', async () => {
  await using web = await served({ sizeLimit: 4 });
  await using others = await strangers(web.folder);
  web.put('large', '12345');
  const path = (name: string): string =>
    `Invalid artifact path '${name}': must be a filename, not a path (no '/' or '\\' allowed)`;
  const cases: [string, number, string][] = [
    ['missing', 404, 'Artifact not found: missing'],
    ['a%00b', 404, 'Artifact not found: a\0b'],
    ['large', 400, "Artifact 'large' is 5 bytes, exceeds limit of 4 bytes"],
    ['a%2Fb', 400, path('a/b')],
    ['..%2F..%2Fsecret', 400, path('../../secret')],
    ['a/b', 400, path('a/b')],
    ['a%0A/b', 400, path('a\n/b')],
    ['a%5Cb', 400, path('a\\b')],
    ['.hidden', 400, "Invalid artifact path '.hidden': cannot start with '.'"],
    ['%2ehidden', 400, "Invalid artifact path '.hidden': cannot start with '.'"],
    ['%252e%252e%252fsecret', 404, 'Artifact not found: %2e%2e%2fsecret'],
    ['%zz', 400, "Invalid artifact path '%zz': its percent encoding is broken"],
    ['100%', 400, "Invalid artifact path '100%': its percent encoding is broken"],
    ['%ff', 400, "Invalid artifact path '%ff': its percent encoding is broken"],
    ['%c0%af', 400, "Invalid artifact path '%c0%af': its percent encoding is broken"],
    ...others.names.map((name): [string, number, string] => [name, 404, `Artifact not found: ${name}`]),
  ];
  for (const [name, status, error] of cases) {
    const answer = await web.get(`/ann/artifacts/${name}`);
    assert.deepEqual([answer.status, answer.body], [status, { error }]);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  }
  recordProof('A8:status-by-error-code');
});

test('a failure is a 500 in the words of the specification', async () => {
  const web = await served();
  await web[Symbol.asyncDispose]();
  const reason = 'The database failed. The log of the server says why.';
  const list = await web.get('/ann/artifacts');
  assert.deepEqual([list.status, list.body], [500, { error: `Failed to list artifacts: ${reason}` }]);
  const one = await web.get('/ann/artifacts/x');
  assert.deepEqual([one.status, one.body], [500, { error: `Failed to check artifact size: ${reason}` }]);
  recordProof('A3:status-500');
});

test('an artifact is given in pieces as it is read, and others have their turn in between', async () => {
  await using web = await served();
  const size = 20 * 1024 ** 2;
  web.put('large', '');
  truncateSync(join(web.folder, 'large'), size);
  const answer = await web.app.request('/ann/artifacts/large');
  let turns = 0;
  let isOver = false;
  const turn = (): void => void (turns++, isOver || setImmediate(turn));
  setImmediate(turn);
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body!) pieces.push(piece as Uint8Array);
  isOver = true;
  assert.ok(pieces.length >= 20, `${pieces.length}`);
  assert.ok(pieces.every(({ length }) => length <= 1.5 * 1024 ** 2));
  assert.ok(turns >= 10, `${turns}`);
  const body = Buffer.concat(pieces);
  assert.equal(answer.headers.get('content-length'), String(body.length));
  const { data, ...rest } = JSON.parse(body.toString()) as { data: string };
  assert.deepEqual(rest, { artifact_id: 'large', encoding: 'base64' });
  assert.ok(Buffer.from(data, 'base64').equals(Buffer.alloc(size)));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(web.logged().at(-1)?.['result'], 'ok');
});

test('whoever takes only a part, or HEAD, leaves no file open', async () => {
  await using web = await served();
  web.put('large', Buffer.alloc(5 * 1024 ** 2));
  const before = descriptors();
  const answer = await web.app.request('/ann/artifacts/large');
  const reader = answer.body!.getReader();
  await reader.read();
  assert.equal(descriptors(), before + 1);
  await reader.cancel();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(web.logged().at(-1)?.['result'], 'cancelled');
  const head = await web.app.request('/ann/artifacts/large', { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  assert.ok(Number(head.headers.get('content-length')) > 6 * 1024 ** 2);
  assert.equal((await web.app.request('/ann/artifacts/x', { method: 'HEAD' })).status, 404);
  assert.equal(descriptors(), before);
});

test('a file that changes is a 500 before the first byte, and breaks the connection after it', async () => {
  await using web = await served();
  await using http = await listening(web.app);
  const before = descriptors();
  web.put('large', Buffer.alloc(20 * 1024 ** 2));
  const answer = await fetch(`${http.url}/ann/artifacts/large`);
  assert.equal(answer.status, 200);
  truncateSync(join(web.folder, 'large'), 1);
  await assert.rejects(answer.text());
  assert.match(String(web.logged().at(-1)?.['result']), /artifact_failed/);
  const failing = new Hono();
  failing.route(
    '/',
    createArtifactRoutes({ ...web, signedIn: () => null, noted, artifacts: changing(web, 'small') }),
  );
  web.put('small', 'x');
  const refused = await failing.request('/ann/artifacts/small');
  assert.equal(refused.status, 500);
  assert.match(((await refused.json()) as { error: string }).error, /^Failed to encode artifact: it changed/);
  await closed(before);
});

test('a client that goes away halfway, or before the answer, leaves no file open', async () => {
  await using web = await served();
  await using http = await listening(web.app);
  web.put('large', Buffer.alloc(20 * 1024 ** 2));
  const before = descriptors();
  for (let turn = 0; turn < 20; turn++) {
    const leaving = new AbortController();
    const asking = fetch(`${http.url}/ann/artifacts/large`, { signal: leaving.signal });
    if (turn % 2 === 0) await asking;
    else for (let wait = 0; wait < turn; wait++) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await asking.catch(() => {});
  }
  await closed(before);
});

test('an answer to a connection that is gone already leaves no file open', async () => {
  await using web = await served();
  web.put('large', Buffer.alloc(5 * 1024 ** 2));
  const before = descriptors();
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  outgoing.destroy();
  await once(outgoing, 'close');
  await web.app.request('/ann/artifacts/large', {}, { outgoing });
  await closed(before);
  assert.equal(web.logged().at(-1)?.['result'], 'cancelled');
});

/** How often the artifact is open. */
function descriptors(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).endsWith('/large');
    } catch {
      return false;
    }
  }).length;
}

async function closed(count: number): Promise<void> {
  await eventually(() => descriptors() <= count);
  assert.equal(descriptors(), count);
}

/** The artifacts of a user who writes to one at the moment at which it has been opened. */
function changing({ artifacts, folder }: Awaited<ReturnType<typeof served>>, name: string): Artifacts {
  return {
    ...artifacts,
    use: (caller, wanted, act) =>
      artifacts.use(caller, wanted, (artifact) => {
        appendFileSync(join(folder, name), 'more');
        return act(artifact);
      }),
  };
}

async function listening(app: Hono) {
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false })).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('the user is the one in the path, decoded once, and nobody else', async () => {
  await using web = await served();
  web.put('mine', 'x');
  const { artifacts: folder } = await web.places.of('bob & co/é');
  writeFileSync(join(folder, 'his'), 'x');
  const bob = `/${encodeURIComponent('bob & co/é')}/artifacts`;
  assert.deepEqual((await web.get(bob)).body, { artifacts: ['his'], count: 1 });
  assert.deepEqual((await web.get(`${bob}/mine`)).status, 404);
  for (const user of ['..%2Fann', 'ANN', '%2561nn', '1'])
    assert.deepEqual((await web.get(`/${user}/artifacts`)).body, { artifacts: [], count: 0 }, user);
  for (const user of ['%zz', '%00', 'ann%00', 'x'.repeat(257)]) {
    const { status, body } = await web.get(`/${user}/artifacts`);
    assert.deepEqual([status, body], [400, { error: 'Invalid user id' }], user);
  }
});

test('a request that is refused before its user or name is known is logged too', async () => {
  await using web = await served();
  await web.get(`/${ann.user}/artifacts/%zz`);
  await web.get('/%00/artifacts');
  assert.deepEqual(
    web.logged().map(({ level, event, user }) => [level, event, user]),
    [
      ['error', 'artifact.refused', 'ann'],
      ['error', 'artifact.refused', null],
    ],
  );
});

test('who asks for what is another’s is named in the log, and so is the other', async () => {
  await using web = await served({ signedIn: () => ({ user: 'bob' }) });
  assert.equal((await web.get('/ann/artifacts')).status, 403);
  assert.deepEqual(
    web.logged().map(({ level, event, user, of }) => [level, event, user, of]),
    [['error', 'artifact.refused', 'bob', 'ann']],
  );
  recordProof('A13:errors-at-level-error');
});

test('a key that was pasted in place of a name reaches no log, whole or in part', async () => {
  const key = `wck_${'aB3_-'.repeat(8)}xyz`;
  for (const signedIn of [() => null, () => ann]) {
    await using web = await served({ signedIn });
    for (const pasted of [key, `%77${key.slice(1)}`, `%20${key}`, key.toLowerCase()]) {
      const { status } = await web.get(`/${pasted}/artifacts`);
      assert.ok(status === 400 || status === 403, `${status} for ${pasted}`);
    }
    await web.get(`/${key.toLowerCase().slice(0, 30)}/artifacts/%zz`);
    const logged = web.logged();
    assert.deepEqual(
      logged.map(({ event, user, of }) => [event, user, of]),
      Array.from({ length: 5 }, () => ['artifact.refused', signedIn()?.user ?? null, null]),
    );
    assert.doesNotMatch(JSON.stringify(logged), /ck_ab3/i);
  }
});

test('other routes and other paths are left to others', async () => {
  await using web = await served();
  assert.equal(await (await web.app.request('/metrics')).text(), 'metrics');
  for (const path of ['/ann/artifacts/', '/ann/artifact', '/artifacts', '/a/ann/artifacts'])
    assert.equal(await (await web.app.request(path)).text(), 'nothing here', path);
  assert.equal((await web.app.request('/ann/artifacts', { method: 'POST' })).status, 404);
});
