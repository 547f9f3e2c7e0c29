import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { IssuerDown } from './issuer-url.ts';
import { createTokenCheck } from './oauth.ts';

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

const { privateKey, publicKey } = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
const json =
  (value: unknown): Answer =>
  (_req, res) =>
    void res.end(JSON.stringify(value));

/** An issuer that answers as a test wants it to: what is not named is not there. */
async function issuerOf(path: string, routes: (url: string) => Record<string, Answer>) {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url!);
    const answer = routes(url)[req.url!];
    if (answer) answer(req, res);
    else res.writeHead(404).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${base}${path}`;
  let now = Date.now();
  const check = createTokenCheck({
    issuer: url.endsWith('/') ? url : `${url}/`,
    audience: () => 'us',
    userClaim: 'sub',
    scopes: [],
    clock: () => now,
  });
  const token = (claims: object = {}, header: { typ?: string } = {}): Promise<string> =>
    new SignJWT({ sub: 'ada', scope: 'files', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
      .setIssuer(url)
      .setAudience('us')
      .setExpirationTime('10m')
      .sign(privateKey);
  return {
    asked,
    check,
    token,
    later: (ms: number) => void (now += ms),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const metadata = (issuer: string, base: string) => ({ issuer, jwks_uri: `${new URL(base).origin}/keys` });

for (const [where, path, document] of [
  ['RFC 8414', '', '/.well-known/oauth-authorization-server'],
  ['RFC 8414, with a path', '/realms/one', '/.well-known/oauth-authorization-server/realms/one'],
  ['OpenID discovery', '', '/.well-known/openid-configuration'],
  ['OpenID discovery, with a path', '/realms/one', '/realms/one/.well-known/openid-configuration'],
  ['OpenID discovery, as RFC 8414 has it', '/realms/one', '/.well-known/openid-configuration/realms/one'],
] as const)
  test(`an issuer is found by ${where}`, async () => {
    await using issuer = await issuerOf(path, (url) => ({
      [document]: json(metadata(url, url)),
      '/keys': json({ keys: [jwk] }),
    }));
    assert.equal((await issuer.check.signIn(await issuer.token())).user, 'ada');
  });

const wellKnown = (url: string) => ({
  '/.well-known/oauth-authorization-server': json(metadata(url, url)),
  '/keys': json({ keys: [jwk] }),
});

test('a token that is bound to a key is not taken as a plain one', async () => {
  await using issuer = await issuerOf('', wellKnown);
  for (const cnf of [{ jkt: 'x' }, { 'x5t#S256': 'x' }, {}, null, 'x']) {
    const bound = await issuer.token({ cnf });
    await assert.rejects(issuer.check.signIn(bound), { code: 'unauthorized' }, JSON.stringify(cnf));
  }
});

test('a token of another type than JWT and at+jwt is not taken', async () => {
  await using issuer = await issuerOf('', wellKnown);
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt'])
    assert.equal((await issuer.check.signIn(await issuer.token({}, { typ }))).user, 'ada', typ);
  for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'id+jwt', ''])
    await assert.rejects(issuer.check.signIn(await issuer.token({}, { typ })), { code: 'unauthorized' }, typ);
});

test('a good token is taken without asking again, until it expires', async () => {
  await using issuer = await issuerOf('', (url) => ({
    '/.well-known/oauth-authorization-server': json(metadata(url, url)),
    '/keys': json({ keys: [jwk] }),
  }));
  const token = await issuer.token();
  for (let round = 0; round < 5; round++) await issuer.check.signIn(token);
  assert.deepEqual(issuer.asked, ['/.well-known/oauth-authorization-server', '/keys']);
  issuer.later(11 * 60_000);
  await assert.rejects(issuer.check.signIn(token), { code: 'unauthorized' });
});

const bad: Record<string, (url: string) => Record<string, Answer>> = {
  'is not there': () => ({}),
  'tells of another issuer': (url) => ({
    '/.well-known/oauth-authorization-server': json(metadata('https://other.example', url)),
  }),
  'answers 500': () => ({
    '/.well-known/oauth-authorization-server': (_req, res) => void res.writeHead(500).end('{}'),
  }),
  'answers with something else than JSON': () => ({
    '/.well-known/oauth-authorization-server': (_req, res) => void res.end('<html>'),
  }),
  'answers without end': () => ({
    '/.well-known/oauth-authorization-server': (_req, res) => void res.end(Buffer.alloc(2 * 1024 ** 2, ' ')),
  }),
  'breaks off': () => ({
    '/.well-known/oauth-authorization-server': (_req, res) => {
      res.writeHead(200, { 'Content-Length': 100 }).write('{');
      setImmediate(() => res.destroy());
    },
  }),
  'sends callers elsewhere': () => ({
    '/.well-known/oauth-authorization-server': (_req, res) =>
      void res.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end(),
  }),
  'has its keys where others could change them': (url) => ({
    '/.well-known/oauth-authorization-server': json({ issuer: url, jwks_uri: 'http://keys.example/' }),
  }),
  'has no keys': (url) => ({ '/.well-known/oauth-authorization-server': json(metadata(url, url)) }),
  'has keys that are none': (url) => ({
    '/.well-known/oauth-authorization-server': json(metadata(url, url)),
    '/keys': json({ keys: 'none' }),
  }),
};

for (const [what, routes] of Object.entries(bad))
  test(`nobody is let in or blamed while the issuer ${what}, and it is not asked at every call`, async () => {
    await using issuer = await issuerOf('', routes);
    const token = await issuer.token();
    await assert.rejects(issuer.check.signIn(token), IssuerDown);
    const first = issuer.asked.length;
    for (let round = 0; round < 5; round++) await assert.rejects(issuer.check.signIn(token), IssuerDown);
    assert.equal(issuer.asked.length, first);
  });

test('what is no token is refused without asking anybody', async () => {
  await using issuer = await issuerOf('', () => ({}));
  for (const text of ['', 'x', 'a.b.c', 'e30.e30.', `${'a'.repeat(5000)}.b.c`])
    await assert.rejects(issuer.check.signIn(text), { code: 'unauthorized' });
  assert.deepEqual(issuer.asked, []);
});
