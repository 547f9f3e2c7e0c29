import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { parseName } from '../../../platform/paths/paths.ts';
import { getCheckpointsFolder } from '../../../ports/sandbox/sandbox.ts';
import { removeCopies, removeLeftCopies, saveFolder, stageFolder, type SaveContext } from './saved-folder.ts';

/** A user's place with the folder of a session in it. */
function makePlace(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'workcrate-saved-'));
  t.after(() => rmSync(home, { recursive: true }));
  const place = {
    uid: null,
    workspace: join(home, '1/workspace'),
    artifacts: join(home, '1/artifacts'),
    packages: null,
  };
  const own = join(place.workspace, 'sess_a');
  mkdirSync(own, { recursive: true });
  const claims: number[] = [];
  const sandbox: SaveContext['sandbox'] = {
    async claimDisk(_place, bytes) {
      claims.push(bytes);
      return { [Symbol.dispose]() {} };
    },
  };
  const context: SaveContext = { sandbox, place, session: 'sess_a' };
  return { home, place, own, context, claims };
}

const folder = parseName('sess_a');

test('a folder is put back as it was: changed, new and deleted files, modes and times', async (t) => {
  const { own, context, claims } = makePlace(t);
  mkdirSync(join(own, 'sub/deep'), { recursive: true });
  writeFileSync(join(own, 'kept'), 'one');
  writeFileSync(join(own, 'sub/deep/gone'), 'two');
  writeFileSync(join(own, 'run.sh'), '#!');
  chmodSync(join(own, 'run.sh'), 0o755);
  const before = statSync(join(own, 'sub'));
  const saved = await saveFolder(context, folder, 'c1');
  assert.deepEqual([saved.files, saved.bytes, saved.leftOut], [3, 8, 0]);
  assert.deepEqual(claims, [8]);

  writeFileSync(join(own, 'kept'), 'other');
  rmSync(join(own, 'sub/deep'), { recursive: true });
  writeFileSync(join(own, 'sub/deep'), 'a file now');
  rmSync(join(own, 'run.sh'));
  mkdirSync(join(own, 'run.sh/full'), { recursive: true });
  mkdirSync(join(own, 'new/full'), { recursive: true });
  writeFileSync(join(own, 'new/full/file'), 'x');
  {
    await using staged = await stageFolder(context, saved);
    assert.equal(readFileSync(join(own, 'kept'), 'utf8'), 'other', 'nothing has changed until it is applied');
    staged.apply(folder);
  }
  assert.deepEqual(readdirSync(own).toSorted(), ['kept', 'run.sh', 'sub']);
  assert.equal(readFileSync(join(own, 'kept'), 'utf8'), 'one');
  assert.equal(readFileSync(join(own, 'sub/deep/gone'), 'utf8'), 'two');
  assert.equal(statSync(join(own, 'run.sh')).mode & 0o777, 0o755);
  assert.equal(statSync(join(own, 'sub')).ino, before.ino, 'an interpreter may be in a folder that stays');
  assert.deepEqual(readdirSync(join(getCheckpointsFolder(context.place), 'sess_a')), ['c1']);
});

test('links are neither followed nor copied, and lead nowhere when a folder is put back', async (t) => {
  const { home, own, context } = makePlace(t);
  mkdirSync(join(home, 'outside'));
  writeFileSync(join(home, 'outside/secret'), 'secret');
  writeFileSync(join(own, 'a'), 'a');
  mkdirSync(join(own, 'sub'));
  writeFileSync(join(own, 'sub/b'), 'b');
  symlinkSync(join(home, 'outside/secret'), join(own, 'link'));
  symlinkSync(join(home, 'outside'), join(own, 'links'));
  const saved = await saveFolder(context, folder, 'c1');
  assert.deepEqual([saved.files, saved.leftOut], [2, 2]);
  // What was a folder is a link to another when it is put back.
  rmSync(join(own, 'sub'), { recursive: true });
  symlinkSync(join(home, 'outside'), join(own, 'sub'));
  await using staged = await stageFolder(context, saved);
  staged.apply(folder);
  assert.equal(readFileSync(join(own, 'sub/b'), 'utf8'), 'b');
  assert.deepEqual(readdirSync(own).toSorted(), ['a', 'sub']);
  assert.deepEqual(readdirSync(join(home, 'outside')), ['secret']);
});

test('what is too large or too many is refused, and nothing is left of it', async (t) => {
  const { own, context } = makePlace(t);
  writeFileSync(join(own, 'sparse'), '');
  truncateSync(join(own, 'sparse'), 2 * 1024 ** 3);
  const isTooLarge = (error: unknown): boolean => isWorkcrateError(error, 'too_large');
  await assert.rejects(saveFolder(context, folder, 'c1'), isTooLarge);
  rmSync(join(own, 'sparse'));
  for (let n = 0; n < 10_001; n++) linkOrWrite(own, n);
  await assert.rejects(saveFolder(context, folder, 'c1'), isTooLarge);
  assert.ok(!existsSync(join(getCheckpointsFolder(context.place), 'sess_a')));
});

const linkOrWrite = (own: string, n: number): void =>
  n === 0 ? writeFileSync(join(own, '0'), '') : linkSync(join(own, '0'), join(own, String(n)));

test('a quota that is used up refuses the copy before a byte is written', async (t) => {
  const { own, context } = makePlace(t);
  writeFileSync(join(own, 'a'), 'a');
  const full: SaveContext = {
    ...context,
    sandbox: { claimDisk: () => Promise.reject(new WorkcrateError('quota_exceeded', 'full')) },
  };
  await assert.rejects(saveFolder(full, folder, 'c1'), (error) => isWorkcrateError(error, 'quota_exceeded'));
  assert.ok(!existsSync(getCheckpointsFolder(context.place)));
});

test('copies go with their session, and after a crash with the next start', async (t) => {
  const { own, context, place } = makePlace(t);
  writeFileSync(join(own, 'a'), 'a');
  await saveFolder(context, folder, 'c1');
  await saveFolder({ ...context, session: 'sess_b' }, folder, 'c1');
  await removeLeftCopies(dirname(dirname(place.workspace)), async (session) => session === 'sess_a');
  assert.deepEqual(readdirSync(getCheckpointsFolder(place)), ['sess_a']);
  await removeCopies(place, 'sess_a');
  assert.deepEqual(readdirSync(getCheckpointsFolder(place)), []);
});
