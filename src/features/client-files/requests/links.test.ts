import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { getErrno, isWorkcrateError } from '../../../platform/errors.ts';
import { followLinks } from './direct.ts';

function project(): Disposable & { readonly folder: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-links-')));
  mkdirSync(join(folder, 'docs'));
  mkdirSync(join(folder, 'src/x'), { recursive: true });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** Why a path is refused. */
function refusedAs(act: () => unknown): unknown {
  try {
    return `led to ${String(act())}`;
  } catch (error) {
    if (!isWorkcrateError(error, 'path_refused')) throw error;
    return error.details['kind'];
  }
}

test('a link leads where the system says it does, absolute or not, and `..` behind it too', () => {
  using it = project();
  const { folder } = it;
  for (const name of ['docs/a', 'src/a']) writeFileSync(join(folder, name), name);
  for (const [name, target] of [
    ['l', '../src/x'],
    ['relative', 'l/../a'],
    ['absolute', `${folder}/docs/l/../a`],
    ['slashes', `${folder}//docs/.//a`],
  ] as const)
    symlinkSync(target, join(folder, 'docs', name));
  for (const name of ['l', 'relative', 'absolute', 'slashes']) {
    const path = `docs/${name}`;
    assert.equal(join(folder, followLinks(folder, path)), realpathSync.native(join(folder, path)), path);
  }
});

test('a link that leads out, or whose way in passes above the project, is refused', () => {
  using it = project();
  const { folder } = it;
  for (const [name, target] of [
    ['beside', `${folder}-secret/a`],
    ['above', `${folder}/../a`],
    ['around', `${folder}/../${folder.split('/').at(-1)!}/docs`],
    ['etc', '/etc/passwd'],
    ['root', '/'],
  ] as const) {
    symlinkSync(target, join(folder, 'docs', name));
    assert.equal(
      refusedAs(() => followLinks(folder, `docs/${name}`)),
      'link',
      name,
    );
  }
});

test('what is exchanged for a link while it is looked at is refused as that', async () => {
  using it = project();
  const { folder } = it;
  symlinkSync('../src', join(folder, 'docs/link'));
  mkdirSync(join(folder, 'docs/folder'));
  const swapping = `
    const { renameSync } = require('node:fs');
    const { workerData } = require('node:worker_threads');
    const at = (name) => workerData + '/docs/' + name;
    for (;;) for (const name of ['link', 'folder']) {
      renameSync(at(name), at('it'));
      renameSync(at('it'), at(name));
    }`;
  await using _swapper = new Worker(swapping, { eval: true, workerData: folder });
  const deadline = Date.now() + 30_000;
  const seen = new Set<unknown>();
  while (!seen.has('changed') && Date.now() < deadline) seen.add(outcome(folder));
  assert.ok(seen.has('changed'), [...seen].join(', '));
});

/** Nothing there is what the one moment between two names looks like. */
function outcome(folder: string): unknown {
  try {
    return refusedAs(() => followLinks(folder, 'docs/it'));
  } catch (error) {
    assert.equal(getErrno(error), 'ENOENT');
    return 'nothing';
  }
}
