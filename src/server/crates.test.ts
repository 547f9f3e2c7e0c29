import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../config/config.ts';
import { openCrateSources } from './crates.ts';

async function folders() {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-crating-'));
  for (const name of ['data/crates', 'public', 'public/part'])
    await mkdir(join(path, name), { recursive: true });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const opening = (path: string, ...crateSources: string[]) =>
  openCrateSources({ ...loadConfig({ data: join(path, 'data') }, {}).config, crateSources });

test('packed crates go to a folder that is a source too, unless told otherwise', async () => {
  await using folder = await folders();
  await using sources = await opening(folder.path, join(folder.path, 'public'));
  assert.deepEqual(
    sources.all.map(({ url }) => url.slice(url.indexOf(folder.path) + folder.path.length)),
    ['/public/', '/data/crates/'],
  );
  assert.equal(sources.find('s3://bucket/'), null);
});

test('a source within another is refused, by whatever name it is reached', async () => {
  await using folder = await folders();
  const at = (name: string): string => join(folder.path, name);
  await symlink(at('data/crates'), at('link'));
  await symlink(at('data'), at('above'));
  for (const named of [
    ['public', 'public/part'],
    ['public', 'public'],
    ['data/crates'],
    ['data'],
    ['link'],
    ['above'],
    ['above/crates'],
  ])
    await assert.rejects(opening(folder.path, ...named.map(at)), {
      code: 'config_invalid',
      message: /is inside/,
    });
});
