import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isWorkcrateError } from '../../platform/errors.ts';
import { parseName, parsePath } from '../../platform/paths/paths.ts';
import { openDescriptors, playground } from '../../platform/paths/playground.testing.ts';
import { makeFolderFor, removeIfEmpty } from './working-dir.ts';

const skip = process.getuid?.() === 0 ? false : 'only root can give folders away';
const uid = 200_000;

test('what is made is given away, what the user has made is left as it is', { skip }, () => {
  using ground = playground();
  makeFolderFor(ground.root, parsePath('a/b'), uid);
  makeFolderFor(ground.root, parsePath('a/b/c'), uid + 1);
  const owners = ['a', 'a/b', 'a/b/c'].map((path) => statSync(join(ground.root, path)).uid);
  assert.deepEqual(owners, [uid, uid, uid + 1]);
});

test('nobody who swaps links makes the server give its own folders away', { skip }, async (t) => {
  using ground = playground();
  mkdirSync(join(ground.root, 'outer/folder'), { recursive: true });
  const attacker = fork(join(import.meta.dirname, '../../platform/paths/swap-links.testing.ts'), [
    ground.root,
  ]);
  t.after(() => attacker.connected && attacker.disconnect());
  await once(attacker, 'message');
  const before = openDescriptors();
  let refusals = 0;
  for (let n = 0; n < 4000; n++) {
    try {
      makeFolderFor(ground.root, parsePath(n % 2 ? 'folder/made' : 'outer/folder/made'), uid);
    } catch (error) {
      assert.ok(isWorkcrateError(error), String(error));
      refusals++;
    }
  }
  assert.ok(refusals > 0, 'the attacker was never in the way');
  assert.equal(openDescriptors(), before);
  assert.equal(statSync(ground.outside).uid, 0);
  assert.deepEqual(readdirSync(ground.outside), ['secret']);
  attacker.disconnect();
  await once(attacker, 'exit');
});

test('only an empty folder is removed', async () => {
  using ground = playground();
  mkdirSync(join(ground.root, 'empty'));
  symlinkSync('../outside', join(ground.root, 'link'));
  writeFileSync(join(ground.root, 'text'), '');
  for (const name of ['empty', 'folder', 'link', 'text', 'missing'])
    await removeIfEmpty(ground.root, parseName(name));
  assert.deepEqual(readdirSync(ground.root).sort(), ['file', 'folder', 'link', 'text']);
});
