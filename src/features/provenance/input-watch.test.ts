import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseName } from '../../platform/paths/paths.ts';
import { openDescriptors, playground } from '../../platform/paths/playground.testing.ts';
import { readFileState, type FileState } from '../../core/runs/difference.ts';
import { createFileHashes } from './input-watch.ts';

const plenty = () => ({ bytes: 1e9, until: performance.now() + 60_000 });
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const name = parseName('a');

/** Writes a file and gives the state that it has then. */
function put(path: string, bytes: Uint8Array): FileState {
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  const state = readFileState(fd);
  closeSync(fd);
  return state;
}

test('a file is hashed in the state that was asked for, and in no other', async () => {
  using ground = playground();
  const path = join(ground.root, 'a');
  const hashes = createFileHashes();
  for (const size of [0, 1, 256 * 1024, 256 * 1024 + 1, 3e6]) {
    const bytes = Buffer.alloc(size, 'x');
    const state = put(path, bytes);
    assert.equal(await hashes.hash(ground.root, name, state, plenty()), sha256(bytes), `${size}`);
    const other = { ...state, changed: state.changed - 1n };
    assert.equal(await hashes.hash(ground.root, name, other, plenty()), null);
  }
});

test('a file that is written to, cut or exchanged while it is hashed has no hash, and nothing stays open', async () => {
  using ground = playground();
  const path = join(ground.root, 'a');
  const before = openDescriptors();
  for (const disturb of [
    (fd: number) => writeSync(fd, 'y', 0),
    () => writeFileSync(path, ''),
    // The file that was opened has another time of change then: it has lost its name.
    () => renameSync(join(ground.root, 'file'), path),
  ]) {
    writeFileSync(join(ground.root, 'file'), 'other');
    const state = put(path, Buffer.alloc(4e6));
    // So that the next change cannot have the same time.
    await pause(20);
    const hashing = createFileHashes().hash(ground.root, name, state, plenty());
    const fd = openSync(path, 'r+');
    disturb(fd);
    closeSync(fd);
    assert.equal(await hashing, null);
  }
  assert.equal(openDescriptors(), before);
});

test('a link or nothing in the place of a file has no hash', async () => {
  using ground = playground();
  const path = join(ground.root, 'a');
  const state = put(path, Buffer.from('x'));
  rmSync(path);
  assert.equal(await createFileHashes().hash(ground.root, name, state, plenty()), null);
  symlinkSync('../outside/secret', path);
  assert.equal(await createFileHashes().hash(ground.root, name, state, plenty()), null);
});

test('what was hashed is known for as long as its state lasts, and costs nothing then', async () => {
  using ground = playground();
  const bytes = Buffer.from('kept');
  const state = put(join(ground.root, 'a'), bytes);
  await pause(50);
  const hashes = createFileHashes();
  const nothing = { bytes: 0, until: 0 };
  assert.equal(await hashes.hash(ground.root, name, state, nothing), null);
  assert.equal(await hashes.hash(ground.root, name, state, plenty()), sha256(bytes));
  assert.equal(await hashes.hash(ground.root, name, state, nothing), sha256(bytes));
});
