import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createOpenFileCache } from './disk-open-files.ts';

async function folderOf(count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-open-'));
  const paths = Array.from({ length: count }, (_, at) => join(folder, `${at}`));
  for (const path of paths) writeFileSync(path, path);
  return { folder, paths, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** How many descriptors of this process point below a folder. */
function descriptorsBelow(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(folder)).length;
}

const onLinux = { skip: process.platform === 'linux' ? false : 'descriptors are counted in /proc' };

it('holds a bounded number of files open, and none after it was closed', onLinux, async () => {
  await using place = await folderOf(200);
  const files = createOpenFileCache();
  for (const path of place.paths) files.giveBack(files.take(path)!);
  assert.equal(descriptorsBelow(place.folder), 64);
  files.close();
  assert.equal(descriptorsBelow(place.folder), 0);
});

it(
  'keeps a file that is in use open until its last user is done, even if it was forgotten',
  onLinux,
  async () => {
    await using place = await folderOf(1);
    const [path] = place.paths;
    const files = createOpenFileCache();
    const [first, second] = [files.take(path!)!, files.take(path!)!];
    assert.equal(first.descriptor, second.descriptor);
    rmSync(path!);
    files.forget(path!);
    assert.equal(files.take(path!), null);
    files.giveBack(first);
    assert.equal(descriptorsBelow(place.folder), 1);
    files.giveBack(second);
    assert.equal(descriptorsBelow(place.folder), 0);
  },
);

it('a held file that was removed, replaced or cut behind it is not given out a second later', async (t) => {
  await using place = await folderOf(3);
  const [removed, replaced, cut] = place.paths as [string, string, string];
  const files = createOpenFileCache();
  for (const path of place.paths) files.giveBack(files.take(path)!);
  rmSync(removed);
  rmSync(replaced);
  writeFileSync(replaced, 'another, and a longer one');
  truncateSync(cut, 1);
  const later = performance.now() + 1500;
  t.mock.method(performance, 'now', () => later);
  assert.equal(files.take(removed), null);
  assert.equal(files.take(replaced)!.size, 25);
  assert.equal(files.take(cut)!.size, 1);
  files.close();
});

it('says null for a file that is not there', async () => {
  await using place = await folderOf(0);
  assert.equal(createOpenFileCache().take(join(place.folder, 'absent')), null);
});
