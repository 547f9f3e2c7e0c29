import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { noClientsVariable } from './packages.testing.ts';

const program = `
const { installClients } = await import(${JSON.stringify(join(import.meta.dirname, 'packages.testing.ts'))});
console.log(JSON.stringify(await installClients()));`;

/** A cache of its own, and a program in npm's place. */
function makeCache(npm: string) {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-clients-cache-'));
  mkdirSync(join(path, 'bin'));
  writeFileSync(join(path, 'bin/npm'), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(path, 'bin/npm'), 0o755);
  const env = {
    ...process.env,
    XDG_CACHE_HOME: path,
    // The real npm may have failed.
    [noClientsVariable]: undefined,
    PATH: [join(path, 'bin'), process.env['PATH']].join(delimiter),
  };
  return {
    path,
    async install(): Promise<{ folder?: string; reason?: string }> {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
        env,
      });
      return JSON.parse(stdout.trim().split('\n').at(-1)!) as { folder?: string; reason?: string };
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

it('processes that need the clients at once install them once, and find them whole', async () => {
  using cache = makeCache('echo "$@" >> "$XDG_CACHE_HOME/calls"; sleep 1; mkdir node_modules');
  const found = await Promise.all([cache.install(), cache.install(), cache.install()]);
  const folders = new Set(found.map(({ folder }) => folder));
  assert.equal(folders.size, 1, JSON.stringify(found));
  assert.ok(existsSync([...folders][0]!));
  assert.match(readFileSync(join(cache.path, 'calls'), 'utf8'), /^ci --ignore-scripts .*\n$/);
});

it('where npm fails the reason is its own, and nothing is left', async () => {
  using cache = makeCache('echo "npm warn old" >&2; echo "npm error code E404" >&2; exit 1');
  assert.deepEqual(await cache.install(), { reason: 'the clients cannot be installed by npm: code E404' });
  assert.deepEqual(readdirSync(join(cache.path, 'workcrate-tests')), ['installing']);
});

it('the lock file names every package with its hash and no registry', () => {
  const text = readFileSync(join(import.meta.dirname, 'packages/package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as {
    packages: Record<string, { integrity?: string; resolved?: string }>;
  };
  for (const [path, { integrity, resolved }] of Object.entries(packages))
    if (path !== '') assert.deepEqual([typeof integrity, resolved], ['string', undefined], path);
});
