import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { identifyIndex, removeLogOfDeletedIndex, setIndexAside } from './index-file.ts';

function newIndex(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'index-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'crates.db');
}

it('a damaged index is moved aside with its log gone, and two of them are kept at most', (t) => {
  const location = newIndex(t);
  for (let time = 0; time < 5; time++) {
    // As earlier ones are named.
    writeFileSync(`${location}.damaged-2020010${time}T000000`, 'old');
    for (const end of ['', '-wal', '-shm']) writeFileSync(location + end, 'damaged');
    const aside = setIndexAside(location, identifyIndex(location));
    assert.equal(readFileSync(aside!, 'utf8'), 'damaged');
  }
  const left = readdirSync(join(location, '..'));
  assert.ok(left.length <= 2 && left.every((name) => name.startsWith('crates.db.damaged-')), left.join());
});

it('an index that has taken the place of a damaged one is left alone', (t) => {
  const location = newIndex(t);
  writeFileSync(location, 'damaged');
  const damaged = identifyIndex(location);
  // While it is open, no other file gets its inode.
  const held = openSync(location, 'r');
  rmSync(location);
  writeFileSync(location, 'new');
  closeSync(held);
  assert.equal(setIndexAside(location, damaged), null);
  assert.equal(readFileSync(location, 'utf8'), 'new');
});

it('the log of an index that was deleted alone goes, and that of one that is there stays', (t) => {
  const location = newIndex(t);
  writeFileSync(`${location}-wal`, 'log');
  removeLogOfDeletedIndex(location);
  assert.equal(existsSync(`${location}-wal`), false);
  for (const end of ['', '-wal']) writeFileSync(location + end, 'here');
  removeLogOfDeletedIndex(location);
  assert.equal(existsSync(`${location}-wal`), true);
});
