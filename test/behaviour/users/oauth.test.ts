import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { run } from '../cli/program.testing.ts';
import { startIssuer, type TestIssuer } from './issuer.testing.ts';
import { authorization, callTool, send, startTeam, type Team } from './team.testing.ts';

const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function hs256(claims: JWTPayload, secret: string): string {
  const parts = `${b64({ alg: 'HS256', typ: 'at+jwt' })}.${b64(claims)}`;
  return `${parts}.${createHmac('sha256', secret).update(parts).digest('base64url')}`;
}

describe('OAuth, with a real issuer', () => {
  let issuer: TestIssuer;
  let team: Team;
  before(async () => {
    issuer = await startIssuer(['ada', 'bob', 'Grace Hopper']);
    team = await startTeam({ auth: ['oauth'], oauthIssuer: `${issuer.url}/` });
  });
  after(async () => {
    await team?.[Symbol.asyncDispose]();
    await issuer?.[Symbol.asyncDispose]();
  });

  const resource = (): string => `${team.url}/mcp`;
  const list = (bearer: string): Promise<Response> =>
    fetch(`${team.url}/executions`, { headers: authorization(bearer) });
  const claims = (more: Record<string, unknown> = {}): JWTPayload => {
    const now = Math.floor(Date.now() / 1000);
    return { iss: issuer.url, aud: resource(), sub: 'ada', scope: 'code', iat: now, exp: now + 600, ...more };
  };

  it('a client that knows nothing finds the issuer, gets a token for this server and calls tools', async () => {
    const authProvider = new ClientCredentialsProvider({
      clientId: 'ada',
      clientSecret: issuer.secret,
      expectedIssuer: issuer.url,
    });
    const client = new Client({ name: 'newcomer', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${resource()}?structured=1`), { authProvider }),
    );
    try {
      const call = (name: string, input: Record<string, unknown> = {}) => callTool(client, name, input);
      const id = await send({ call }, 'a.txt', 'by ada');
      assert.equal((await call('list_files')).data.files[0].file_id, id);
      // The issuer calls this program ada, and so do we.
      assert.ok(
        team.logged.some(
          (line) => line.includes('"event":"upload.complete"') && line.includes('"user":"ada"'),
        ),
      );
    } finally {
      await client.close();
    }
  });

  it('RFC 9728: the metadata names this server, the issuer to the letter, and the scopes', async () => {
    for (const path of ['', '/mcp']) {
      const answer = await fetch(`${team.url}/.well-known/oauth-protected-resource${path}`);
      assert.equal(answer.status, 200);
      assert.deepEqual(await answer.json(), {
        resource: resource(),
        authorization_servers: [issuer.url],
        scopes_supported: [
          'code',
          'artifacts',
          'files',
          'crates',
          'documents',
          'client',
          'skills',
          'discovery',
          'scripts',
          'validation',
          'packages',
          'gateway',
          'metrics',
          'operator',
        ],
        bearer_methods_supported: ['header'],
        resource_name: 'Workcrate',
      });
    }
  });

  it('without a token the challenge tells where to get one, and nothing of an error', async () => {
    const answer = await fetch(`${team.url}/mcp`, { method: 'POST', body: '{}' });
    assert.equal(answer.status, 401);
    assert.equal(
      answer.headers.get('www-authenticate'),
      `Bearer realm="workcrate", scope="code artifacts files crates documents client skills discovery scripts validation packages gateway", resource_metadata="${team.url}/.well-known/oauth-protected-resource/mcp"`,
    );
  });

  it('a token without the scope gets 403 insufficient_scope that names it, from routes and from tools', async () => {
    const token = await issuer.token('ada', resource(), 'files');
    const place = `resource_metadata="${team.url}/.well-known/oauth-protected-resource/mcp"`;
    const refused = await list(token);
    assert.equal(refused.status, 403);
    const challenge = refused.headers.get('www-authenticate')!;
    for (const part of ['error="insufficient_scope"', 'scope="code"', place])
      assert.ok(challenge.includes(part), challenge);
    const member = await team.connect('ada', token);
    assert.equal((await member.call('list_files')).failed, false);
    await assert.rejects(member.call('search_executions'), /required "code"/);
  });

  it('scopes are read from scope and scp, as text and as a list', async () => {
    for (const given of [
      { scope: 'x code' },
      { scope: undefined, scp: 'code y' },
      { scope: undefined, scp: ['code'] },
    ])
      assert.equal((await list(await issuer.sign(claims(given)))).status, 200);
    assert.equal((await list(await issuer.sign(claims({ scope: 'codec' })))).status, 403);
  });

  it('a token with the scope metrics reads /metrics and /status, and nothing else', async () => {
    const token = await issuer.sign(claims({ scope: 'openid metrics' }));
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(team.url + path, { headers: authorization(token) })).status;
    assert.deepEqual(
      await Promise.all(['/metrics', '/status', '/executions', '/operate', '/mcp'].map(statusOf)),
      [200, 200, 403, 403, 403],
    );
  });

  it('a claim that is no name of a user is one of its own, the same each time', async () => {
    const token = await issuer.token('Grace Hopper', resource(), 'files');
    const member = await team.connect('grace', token);
    await member.call('list_files');
    const name = /"user":"(oauth-[0-9a-f]{32})"/.exec(
      team.logged.findLast((line) => line.includes('tool.called'))!,
    )?.[1];
    assert.ok(name);
    const chosen = await issuer.sign(claims({ sub: name, scope: 'artifacts' }));
    const answer = await fetch(`${team.url}/${name}/artifacts`, { headers: authorization(chosen) });
    assert.equal(answer.status, 403, 'nobody can choose the name that another was given');
    const own = await issuer.sign(claims({ sub: 'Grace Hopper', scope: 'artifacts' }));
    assert.equal((await fetch(`${team.url}/${name}/artifacts`, { headers: authorization(own) })).status, 200);
  });

  const past = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;
  const refusedTokens: Record<string, () => Promise<string>> = {
    'that has expired': () => issuer.sign(claims({ exp: past(60) })),
    'that does not expire': () => issuer.sign(claims({ exp: undefined })),
    'that is not good yet': () => issuer.sign(claims({ nbf: past(-60) })),
    'for another audience': () => issuer.token('ada', 'https://elsewhere.example/mcp', 'code'),
    'for no audience': () => issuer.sign(claims({ aud: undefined })),
    'that names another issuer': () => issuer.sign(claims({ iss: 'https://elsewhere.example' })),
    'that names no issuer': () => issuer.sign(claims({ iss: undefined })),
    'without the claim that says who it is': () => issuer.sign(claims({ sub: undefined })),
    'whose claim is no text': () => issuer.sign(claims({ sub: ['ada'] })),
    'with alg none': async () => `${b64({ alg: 'none', typ: 'at+jwt' })}.${b64(claims())}.`,
    'with alg none and a signature': async () =>
      [b64({ alg: 'none' }), b64(claims()), (await issuer.sign(claims())).split('.')[2]].join('.'),
    'signed by HS256 with the public key as the secret': async () =>
      hs256(claims(), (await issuer.publicKey()).pem),
    'signed by HS256 with the JWK of the public key as the secret': async () =>
      hs256(claims(), JSON.stringify((await issuer.publicKey()).jwk)),
    'with other claims than were signed': async () => {
      const [head, , signature] = (await issuer.sign(claims())).split('.');
      return [head, b64(claims({ sub: 'bob' })), signature].join('.');
    },
    'that brings its own key': async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256');
      const header = { alg: 'ES256', jwk: await exportJWK(publicKey) };
      return new SignJWT(claims()).setProtectedHeader(header).sign(privateKey);
    },
    'that is no token': async () => 'not.a.token',
    'that is a key': async () => `wck_${'A'.repeat(43)}`,
  };

  for (const [what, make] of Object.entries(refusedTokens))
    it(`a token ${what} is refused with 401 invalid_token`, async () => {
      assert.equal((await list(await issuer.sign(claims()))).status, 200);
      const token = await make();
      const answer = await list(token);
      assert.equal(answer.status, 401);
      assert.match(answer.headers.get('www-authenticate')!, /error="invalid_token"/);
      assert.ok(!(await answer.text()).includes(token));
      assert.ok(!team.logged.some((line) => line.includes(token)));
    });

  it('a token of another issuer with the same names is refused', async () => {
    await using other = await startIssuer(['ada']);
    assert.equal((await list(await other.token('ada', resource(), 'code'))).status, 401);
  });

  it('clocks may differ a little', async () => {
    assert.equal((await list(await issuer.sign(claims({ exp: past(3), nbf: past(-3) })))).status, 200);
  });

  it('after a rotation of keys new tokens are taken and old ones are not, without a restart', async () => {
    const old = await issuer.sign(claims());
    assert.equal((await list(old)).status, 200);
    await issuer.rotate();
    const renewed = await issuer.sign(claims());
    await eventually(async () => (await list(renewed)).status === 200, 100);
    assert.equal((await list(old)).status, 401);
  });

  it('workcrate user remove ends the links of a user of OAuth, too', async () => {
    const bob = await team.connect('bob', await issuer.token('bob', resource(), 'files'));
    const { downloadUrl } = (await bob.call('share_file', { file_id: await send(bob, 'b.txt', 'x') })).data;
    const { stdout } = await run(['user', 'remove', 'bob', '--data', team.config.data]);
    assert.match(stdout, /0 keys, 1 link, 0 uploads/);
    assert.equal((await fetch(downloadUrl)).status, 404);
  });

  it('tokens with unknown keys do not have the issuer asked each time', async () => {
    const [before, began] = [issuer.keyRequests, performance.now()];
    for (let round = 0; round < 50; round++)
      assert.equal((await list(await issuer.sign(claims(), { kid: `none-${round}` }))).status, 401);
    // It may be asked again every five seconds, which a busy machine may take for so many tokens.
    const most = 2 + Math.floor((performance.now() - began) / 5000);
    assert.ok(issuer.keyRequests - before <= most, `${issuer.keyRequests - before} requests`);
  });
});

it('a server starts while its issuer is down, answers 503 until it is up, and then lets callers in', async () => {
  await using issuer = await startIssuer(['ada']);
  const token = (team: Team) => issuer.token('ada', `${team.url}/mcp`, 'code');
  await using team = await startTeam({ auth: ['keys', 'oauth'], oauthIssuer: issuer.url });
  const given = await token(team);
  await issuer.down();
  const get = (bearer: string): Promise<Response> =>
    fetch(`${team.url}/executions`, { headers: authorization(bearer) });
  const answer = await get(given);
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '5');
  assert.equal(((await answer.json()) as { code: string }).code, 'issuer_unavailable');
  assert.equal((await fetch(`${team.url}/readyz`)).status, 200);
  assert.equal((await get(await team.key('bob'))).status, 200, 'keys need no issuer');
  await issuer.up();
  await eventually(async () => (await get(given)).status === 200, 100);
  await issuer.down();
  assert.equal((await get(given)).status, 200, 'keys that were fetched go on being used');
});

it('an issuer without https is refused unless it is on this machine, and so is none', async () => {
  for (const oauthIssuer of ['http://issuer.example/', null])
    await assert.rejects(startTeam({ auth: ['oauth'], oauthIssuer }), { code: 'config_invalid' });
});

it('scopes of the settings go to every token, and the audience may be set', async () => {
  await using issuer = await startIssuer(['ada']);
  const oauth = {
    oauthIssuer: issuer.url,
    oauthAudience: 'https://crate.example/api',
    oauthScopes: ['code'],
  };
  await using team = await startTeam({ auth: ['oauth'], ...oauth });
  const get = async (resource: string): Promise<number> => {
    const headers = authorization(await issuer.token('ada', resource, 'files'));
    return (await fetch(`${team.url}/executions`, { headers })).status;
  };
  assert.equal(await get('https://crate.example/api'), 200);
  assert.equal(await get(`${team.url}/mcp`), 401);
});
