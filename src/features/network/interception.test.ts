import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import type { EgressOptions } from './egress.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { openWay, readAll, startOutside, type Outside, type Way } from './outside.testing.ts';

const key = 'Bearer sk-0123456789-very-secret';
const secrets: EgressOptions['secrets'] = [
  { name: 'service', host: 'secret.example', header: 'Authorization', value: key },
  {
    name: 'plain-service',
    scheme: 'http',
    host: 'secret.example',
    header: 'X-Key',
    value: key,
    users: ['alice'],
  },
];

async function tunnel(way: Way, host: string, ca: string, options: object = {}): Promise<TLSSocket> {
  const socket = await way.connect();
  socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
  assert.match(String(((await once(socket, 'data')) as [Buffer])[0]), /^HTTP\/1\.1 200 /);
  const secure = connectTls({ socket, servername: host, ca, ...options });
  secure.on('error', () => {});
  return secure;
}

const ask = (secure: TLSSocket, request: string): Promise<string> => {
  secure.write(request);
  return readAll(secure, 5000);
};

function recordHeaders(outside: Outside): IncomingMessage[] {
  const seen: IncomingMessage[] = [];
  outside.answer = (req, res) => {
    seen.push(req);
    void text(req).then((body) => res.end(`hello ${body}`));
  };
  return seen;
}

/** Nothing that anybody but the server outside sees has the key in it. */
function assertNowhere(outside: Outside, way: Way, ...others: unknown[]): void {
  const all = inspect([way.network.usage, way.network.close(), outside.logged, others], { depth: 20 });
  assert.ok(!all.includes('sk-0123456789'), all);
}

it('a secret is added to plain HTTP for its host, in place of what the code sent', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const seen = recordHeaders(outside);
  const send = (host: string) =>
    way.say(
      `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nx-kEy: mine\r\nConnection: close, X-Key\r\n\r\n`,
    );
  const answers = [await send('secret.example'), await send('allowed.example')];
  assert.deepEqual(
    seen.map(({ headers }) => headers['x-key']),
    [key, undefined],
  );
  assert.deepEqual(
    way.network.usage.hosts.map(({ host, secrets }) => [host, secrets]),
    [
      ['secret.example', ['plain-service']],
      ['allowed.example', []],
    ],
  );
  assertNowhere(outside, way, answers);
});

it('a secret is for its users, its scheme and its port alone', async () => {
  await using outside = await startOutside();
  await using way = await openWay(
    outside,
    'secret.example,secret.example:8080',
    { secrets },
    { user: 'bob' },
  );
  const seen = recordHeaders(outside);
  await way.say('GET http://secret.example/ HTTP/1.0\r\n\r\n');
  await using alice = await openWay(outside, 'secret.example:8080', { secrets });
  await alice.say('GET http://secret.example:8080/ HTTP/1.0\r\n\r\n');
  assert.deepEqual(
    seen.map(({ headers }) => [headers['x-key'], headers.authorization]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
});

it('a secret is added inside TLS, on a new connection that is verified', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const seen = recordHeaders(outside);
  const secure = await tunnel(way, 'secret.example', way.egress.certificate!);
  const first =
    'POST /v1?q HTTP/1.1\r\nHost: secret.example\r\nAuthorization: mine\r\nContent-Length: 4\r\n\r\nbody';
  secure.write(first);
  assert.match(String(((await once(secure, 'data')) as [Buffer])[0]), /^HTTP\/1\.1 200 OK/);
  const answer = await ask(secure, 'GET /v2 HTTP/1.1\r\nHost: secret.example\r\nConnection: close\r\n\r\n');
  assert.match(answer, /hello/);
  assert.deepEqual(outside.requests, ['POST secret.example /v1?q', 'GET secret.example /v2']);
  assert.deepEqual(
    seen.map(({ headers }) => headers.authorization),
    [key, key],
  );
  assert.equal(outside.contacts.length, 1, 'on one connection');
  const [host] = way.network.usage.hosts;
  assert.deepEqual(
    [host!.host, host!.port, host!.requests, host!.secrets],
    ['secret.example', 443, 2, ['service']],
  );
  assert.ok(host!.sentBytes > 100 && host!.receivedBytes > 100);
  assertNowhere(outside, way, answer);
  recordProof('D21:secrets-outside');
});

it('a connection that the host has ended is made anew, unless a body would have to be sent twice', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const used = new WeakSet<object>();
  outside.answer = (req, res) => {
    if (used.has(req.socket)) return void req.socket.destroy();
    used.add(req.socket);
    res.end('hello');
  };
  const secure = await tunnel(way, 'secret.example', way.egress.certificate!);
  const statuses: string[] = [];
  for (const request of [
    'GET / HTTP/1.1\r\n',
    'GET / HTTP/1.1\r\n',
    'POST / HTTP/1.1\r\nContent-Length: 1\r\n',
  ]) {
    secure.write(`${request}Host: secret.example\r\n\r\n${request.startsWith('POST') ? 'x' : ''}`);
    let seen = '';
    while (!/\r\n\r\n[^]/.test(seen)) seen += String(((await once(secure, 'data')) as [Buffer])[0]);
    statuses.push(seen.slice(9, 12));
  }
  assert.deepEqual(statuses, ['200', '200', '502']);
  assert.equal(outside.contacts.length, 2);
  secure.destroy();
});

it('hosts without a secret are not looked into, nor are those of users who have none', async () => {
  await using outside = await startOutside();
  const forAlice = secrets.map((secret) => ({ ...secret, users: ['alice'] }));
  await using way = await openWay(outside, undefined, { secrets: forAlice }, { user: 'bob' });
  const { certificate } = outside.authority;
  for (const host of ['allowed.example', 'secret.example']) {
    const secure = await tunnel(way, host, certificate);
    assert.match(
      await ask(secure, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      /hello from outside/,
    );
  }
  const secure = await tunnel(way, 'allowed.example', way.egress.certificate!);
  assert.equal(await ask(secure, 'GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n'), '');
});

it('requests inside are judged: another host, a URL, a tunnel, TRACE and smuggling are refused', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const inside = async (request: string): Promise<string> =>
    ask(await tunnel(way, 'secret.example', way.egress.certificate!), request);
  const refused = [
    'GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: secret.example\r\nHost: allowed.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: secret.example:80\r\n\r\n',
    'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n',
    'GET https://secret.example/ HTTP/1.1\r\nHost: secret.example\r\n\r\n',
    'CONNECT secret.example:443 HTTP/1.1\r\nHost: secret.example:443\r\n\r\n',
    'TRACE / HTTP/1.1\r\nHost: secret.example\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: secret.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: secret.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ];
  const answers: string[] = [];
  for (const request of refused) answers.push(await inside(request));
  for (const [at, answer] of answers.entries())
    assert.match(answer, /^HTTP\/1\.1 (?:4\d\d|501) /, refused[at]!);
  assert.deepEqual(outside.requests, []);
  assert.deepEqual(outside.contacts, []);
  assertNowhere(outside, way, answers);
});

it('a server outside that is not who it says gets nothing', async () => {
  await using outside = await startOutside();
  const { folder } = outside.options.interceptTls!;
  await using way = await openWay(outside, undefined, { secrets, interceptTls: { folder } });
  const seen = recordHeaders(outside);
  const secure = await tunnel(way, 'secret.example', way.egress.certificate!);
  const answer = await ask(secure, 'GET / HTTP/1.1\r\nHost: secret.example\r\nConnection: close\r\n\r\n');
  assert.match(
    answer,
    /^HTTP\/1\.1 502 No connection to secret\.example \((?:SELF_SIGNED_CERT_IN_CHAIN|UNABLE_[A-Z_]+)\)/,
  );
  assert.deepEqual(seen, []);
});

it('a client that speaks HTTP/2 alone is not served, one that can do both is', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const ca = way.egress.certificate!;
  const both = await tunnel(way, 'secret.example', ca, { ALPNProtocols: ['h2', 'http/1.1'] });
  assert.match(
    await ask(both, 'GET / HTTP/1.1\r\nHost: secret.example\r\nConnection: close\r\n\r\n'),
    /hello/,
  );
  assert.equal(both.alpnProtocol, 'http/1.1');
  const one = await tunnel(way, 'secret.example', ca, { ALPNProtocols: ['h2'] });
  assert.equal(await ask(one, 'x'), '');
});

it('curl, Python and Node get through, with nothing but the variables of a proxy and a certificate', async (t) => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { secrets });
  const seen = recordHeaders(outside);
  const bundle = join(outside.folder, 'bundle.pem');
  writeFileSync(bundle, `${outside.authority.certificate}${way.egress.certificate}`);
  const proxy = `http://127.0.0.1:${way.port}`;
  const env = {
    ...process.env,
    ...Object.fromEntries(['http_proxy', 'https_proxy', 'HTTPS_PROXY'].map((name) => [name, proxy])),
    no_proxy: '',
    NO_PROXY: '',
    SSL_CERT_FILE: bundle,
    CURL_CA_BUNDLE: bundle,
    NODE_EXTRA_CA_CERTS: bundle,
    NODE_USE_ENV_PROXY: '1',
  };
  const urls = ['http://allowed.example/', 'https://allowed.example/', 'https://secret.example/'];
  const python = `import sys, ssl, urllib.request
strict = ssl.create_default_context(); strict.verify_flags |= ssl.VERIFY_X509_STRICT
for url in sys.argv[1:]: print(urllib.request.urlopen(urllib.request.Request(url, data=b'x' * 100000), context=strict).read().decode()[:7])`;
  const node = `for (const url of process.argv.slice(1)) console.log(await (await fetch(url, { method: 'POST', body: 'xyz' })).text());`;
  const ways: Record<string, [string, ...string[]]> = {
    curl: ['curl', '-sS', '-d', 'xyz', ...urls],
    python: ['python3', '-c', python, ...urls],
    node: [process.execPath, '--input-type=module', '-e', node, ...urls],
  };
  for (const [name, [program, ...words]] of Object.entries(ways)) {
    const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const missing = await Promise.race([
      once(child, 'spawn').then(() => false),
      once(child, 'error').then(() => true),
    ]);
    if (missing) {
      t.diagnostic(`${name} is not installed`);
      continue;
    }
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.equal(out.match(/hello x/g)?.length, 3, `${name}: ${out} ${err}`);
    assert.equal(seen.at(-1)!.headers.authorization, key);
  }
  assertNowhere(outside, way);
});
