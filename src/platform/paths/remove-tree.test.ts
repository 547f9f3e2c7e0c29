import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { removeTree } from './paths.ts';
import { playground } from './playground.testing.ts';

test('removing a tree removes its links and not what they lead to', async () => {
  using ground = playground();
  const tree = join(ground.root, 'folder');
  symlinkSync('../../outside', join(tree, 'out'));
  symlinkSync(join(ground.outside, 'secret'), join(tree, 'file-out'));
  await removeTree(tree);
  assert.ok(!existsSync(tree));
  assert.deepEqual(readdirSync(ground.outside), ['secret']);
});

/** Puts folders into the tree that is being removed, and exchanges each for a link that leads out. */
const attack = `
  const { mkdirSync, renameSync, symlinkSync } = require('node:fs');
  const attempt = (act) => { try { act(); } catch {} };
  console.log('swapping');
  for (let n = 0; ; n++) {
    attempt(() => mkdirSync('tree/' + (n % 50) + '/secret', { recursive: true }));
    attempt(() => symlinkSync('../../outside', 'tree/link' + n));
    attempt(() => renameSync('tree/' + (n % 50), 'tree/away' + n));
    attempt(() => renameSync('tree/link' + n, 'tree/' + (n % 50)));
  }`;

test('a process that swaps folders for links meanwhile gets nothing outside removed', async () => {
  using ground = playground();
  const attacker = spawn(process.execPath, ['-e', attack], {
    cwd: ground.root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(attacker.stdout, 'data');
  for (let n = 0; n < 30; n++) {
    // It may say that the tree is not empty, since it never is for long.
    await removeTree(join(ground.root, 'tree')).catch(() => {});
  }
  assert.equal(attacker.exitCode, null, 'the attacker ended before the server did');
  attacker.kill('SIGKILL');
  await once(attacker, 'exit');
  assert.deepEqual(readdirSync(ground.outside), ['secret']);
});
