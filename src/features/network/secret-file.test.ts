import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { inspect } from 'node:util';
import { isWorkcrateError } from '../../platform/errors.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createEgress, loadSecrets } from './egress.ts';
import { checkSecrets, chooseSecrets } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'workcrate-secrets-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const key = 'sk-very-secret-0123456789';
const noVariable = (): undefined => undefined;

it('reads values from the file itself, from files and from variables', () => {
  write('token', `${key}\n`);
  const path = write(
    'secrets.yaml',
    `secrets:
  - { name: a, host: API.example.org, header: Authorization, prefix: "Bearer ", value: one }
  - { name: b, scheme: http, host: b.example, port: 8080, header: X-Key, value_file: token, users: [alice] }
  - { name: c, host: b.example, header: X-Key, value_env: TOKEN_C }
`,
  );
  const secrets = checkSecrets(loadSecrets(path, (name) => (name === 'TOKEN_C' ? 'three' : undefined)));
  assert.deepEqual(secrets, [
    {
      name: 'a',
      origin: { scheme: 'https', host: 'api.example.org', port: 443 },
      header: 'Authorization',
      value: 'Bearer one',
      users: null,
    },
    {
      name: 'b',
      origin: { scheme: 'http', host: 'b.example', port: 8080 },
      header: 'X-Key',
      value: key,
      users: new Set(['alice']),
    },
    {
      name: 'c',
      origin: { scheme: 'https', host: 'b.example', port: 443 },
      header: 'X-Key',
      value: 'three',
      users: null,
    },
  ]);
  const chosen = (user: string, scheme: 'http' | 'https', port: number) =>
    chooseSecrets(secrets, { scheme, host: 'b.example', port }, user).map(({ name }) => name);
  assert.deepEqual(chosen('alice', 'http', 8080), ['b']);
  assert.deepEqual(chosen('bob', 'http', 8080), []);
  assert.deepEqual(chosen('alice', 'http', 443), []);
  assert.deepEqual(chosen('bob', 'https', 443), ['c']);
});

it('JSON is YAML', () => {
  const path = write(
    'secrets.json',
    JSON.stringify({ secrets: [{ name: 'a', host: 'a.example', header: 'X', value: 'v' }] }),
  );
  assert.equal(loadSecrets(path, noVariable).length, 1);
});

it('what is wrong is told with the entry or line, and never with a value', () => {
  const entry = (rest: string): string =>
    `secrets:\n  - { name: a, host: a.example, header: X-Key, ${rest} }\n`;
  const cases: [text: string, message: RegExp][] = [
    ['', /it: /],
    ['[]', /it: /],
    ['other: 1', /./],
    [`secrets:\n  - ${key}`, /secrets\.0/],
    [`secrets:\n  - name: a\n    value: *${key}`, /alias|line 3/],
    [`secrets:\n  - value: "${key}\n`, /line \d/],
    [`secrets:\n - a: [${key}}`, /line \d/],
    [entry(`value: ${key}, value_env: B`), /a needs one of/],
    [entry('users: [b]'), /a needs one of/],
    [entry('value_env: NOT_SET'), /NOT_SET is not set/],
    [entry('value_file: nowhere'), /there is no such file/],
    [entry('value_file: .'), /is not a file|EISDIR/],
    [entry(`valeu: ${key}`), /./],
    [entry(`value: ${key}, port: http`), /secrets\.0\.port/],
    [entry(`value: ${key}, port: 70000`), /port/],
    [entry(`value: "${key}\\r\\nX: y"`), /value is empty, too long, or/],
    [entry(`value: " ${key}"`), /value is empty, too long, or/],
    [entry('value: ""'), /value is empty/],
    [`secrets:\n  - { name: a, host: a.example, header: Host, value: ${key} }`, /header/],
    [`secrets:\n  - { name: a, host: a.example, header: "X: y", value: ${key} }`, /header/],
    [`secrets:\n  - { name: a, host: 10.0.0.1, header: X, value: ${key} }`, /host name/],
    [`secrets:\n  - { name: "a b", host: a.example, header: X, value: ${key} }`, /name of a network secret/],
    [entry(`value: ${key}`) + `  - { name: a, host: b.example, header: X, value: v }`, /two with this name/],
    [
      entry(`value: ${key}`) + `  - { name: b, host: a.example, header: x-key, value: v, users: [c] }`,
      /same host, header and users as a/,
    ],
  ];
  for (const [text, message] of cases) {
    const path = write('bad.yaml', text);
    assert.throws(
      () => checkSecrets(loadSecrets(path, noVariable)),
      (error) => {
        assert.ok(isWorkcrateError(error, 'config_invalid'), `${text}: ${inspect(error)}`);
        assert.match(error.message, message, text);
        assert.ok(!inspect(error, { depth: 9 }).includes(key), text);
        return true;
      },
      text,
    );
  }
});

it('a file that others can read is refused, and so is one with a value', () => {
  const text = 'secrets:\n  - { name: a, host: a.example, header: X, value: v }\n';
  for (const mode of [0o604, 0o644, 0o620, 0o606])
    assert.throws(() => loadSecrets(write('open.yaml', text, mode), noVariable), /chmod 600/);
  for (const mode of [0o600, 0o400, 0o640]) assert.ok(loadSecrets(write('own.yaml', text, mode), noVariable));
  write('open-token', key, 0o644);
  const path = write(
    'by-file.yaml',
    'secrets:\n  - { name: a, host: a.example, header: X, value_file: open-token }\n',
  );
  assert.throws(() => loadSecrets(path, noVariable), /open-token.*chmod 600/);
});

it('a secret for https is refused where TLS is passed through', () => {
  const secrets = [{ name: 'a', host: 'a.example', header: 'X', value: key }];
  assert.throws(() => createEgress({ log: createLog('off'), secrets }), /--network-tls/);
});
