import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { isWorkcrateError } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { placeForUser } from './entry.ts';
import { readServerFile } from './server-file.ts';

const variables: Record<string, string> = { API_KEY: 'abcdefgh123', FOLDER: '/srv/data' };

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-file-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function read(t: TestContext, file: unknown, folder = makeFolder(t)) {
  const path = join(folder, 'servers.json');
  writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file));
  return readServerFile(path, { readVariable: (name) => variables[name] });
}

it('reads servers as other programs write them, with variables, and packages by their manifest', (t) => {
  const folder = makeFolder(t);
  mkdirSync(join(folder, 'tool'));
  const manifest = { mcpName: 'tool', transport: 'stdio', sensitive: true, timeout: 330_000 };
  writeFileSync(join(folder, 'tool/package.json'), JSON.stringify({ main: 'run.js', workcrate: manifest }));
  const { servers, ignored } = read(
    t,
    {
      mcpServers: {
        files: {
          command: 'node',
          args: ['x.js', '${FOLDER}', '${NONE:-else}'],
          env: { A: '1' },
          alwaysAllow: [],
        },
        web: {
          type: 'http',
          url: 'https://example.org/mcp',
          headers: { Authorization: 'Bearer ${API_KEY}' },
        },
        off: { command: 'x', disabled: true },
      },
      packages: ['./tool'],
    },
    folder,
  );
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['files', 'web', 'tool'],
  );
  const [files, web, tool] = servers;
  assert.deepEqual(files!.place, {
    kind: 'stdio',
    command: 'node',
    args: ['x.js', '/srv/data', 'else'],
    env: { A: '1' },
    cwd: folder,
  });
  assert.deepEqual(files!.secrets, []);
  assert.deepEqual(web!.secrets, ['Bearer abcdefgh123', 'abcdefgh123']);
  assert.deepEqual(tool!.place, {
    kind: 'stdio',
    command: 'node',
    args: [join(folder, 'tool/run.js')],
    env: {},
    cwd: join(folder, 'tool'),
  });
  assert.deepEqual([tool!.sensitive, tool!.timeoutMs], [true, 330_000]);
  assert.deepEqual(ignored, ['mcpServers.files: alwaysAllow']);
  recordProof('F3:by-configuration-and-manifest');
});

it('each user gets what names them, and no user is a path', (t) => {
  const { servers } = read(t, { mcpServers: { a: { command: 'x', args: ['/home/${WORKCRATE_USER}'] } } });
  const argsOf = (user: string): unknown => (placeForUser(servers[0]!.place, user) as { args: unknown }).args;
  assert.deepEqual(argsOf('ann'), ['/home/ann']);
  assert.match(String(argsOf('../../etc')), /^\/home\/[0-9a-f]{32}$/);
});

const command = 'x';
const refused: Readonly<Record<string, [unknown, RegExp]>> = {
  'no JSON': ['{"mcpServers": {"a": {"env": {"KEY": "s3cret', /it is not JSON\.$/],
  'a list': [[], /expected object/],
  'neither command nor url': [{ mcpServers: { a: {} } }, /either a "command" to start it or the "url"/],
  'both of them': [{ mcpServers: { a: { command, url: 'http://x' } } }, /either a "command"/],
  'an old transport': [{ mcpServers: { a: { type: 'sse', url: 'http://x' } } }, /its "type" can be http or/],
  'a URL that is none': [{ mcpServers: { a: { url: 'file:///etc/passwd' } } }, /not an HTTP URL/],
  'a name that cannot be a prefix': [
    { mcpServers: { 'a b': { command } } },
    /Give the server a "prefix" that can/,
  ],
  'a name that is too long': [{ mcpServers: { ['a'.repeat(41)]: { command } } }, /at most 40/],
  'two with one prefix': [
    { mcpServers: { a: { command }, b: { command, prefix: 'a' } } },
    /Give one of them another "prefix"/,
  ],
  'a misspelt rule': [
    { mcpServers: { a: { command, alow: ['x'] } } },
    /there is no "alow"\. Did you mean allow\?$/,
  ],
  'a misspelt rule of a user': [
    { mcpServers: { a: { command, users: { b: { denny: [] } } } } },
    /mcpServers\.a/,
  ],
  'a variable that is not set': [
    { mcpServers: { a: { command: '${NOPE}' } } },
    /environment variable NOPE is not set/,
  ],
  'a package without a manifest': [
    { packages: ['./nowhere'] },
    /package\.json: it cannot be read \(ENOENT\)/,
  ],
};

for (const [what, [file, told]] of Object.entries(refused))
  it(`refuses ${what}, and shows no value`, (t) => {
    assert.throws(
      () => read(t, file),
      (error) =>
        isWorkcrateError(error, 'config_invalid') &&
        told.test(error.message) &&
        !error.message.includes('s3cret'),
    );
  });
