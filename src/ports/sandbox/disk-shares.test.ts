import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createDiskShares, type DiskShare } from './disk-shares.ts';

const mega = 1024 ** 2;

/** A user whose folders hold what a test says. */
function openShare(): { share: DiskShare; found: { bytes: number } } {
  const found = { bytes: 0 };
  const scales = {
    measure: async () => ({ bytes: found.bytes, mayHideMore: false }),
    [Symbol.asyncDispose]: async () => {},
  };
  const place = { workspace: tmpdir(), artifacts: tmpdir(), packages: null, uid: null };
  return { share: createDiskShares(100 * mega, scales, new AbortController().signal)(place), found };
}

/** A run that ended by itself while the folders could not be counted. */
const endRun = (share: DiskShare, grownBy: number): void =>
  share.settle({ beganOver: true, wasOver: false, growth: async () => grownBy });

test('runs may go on in folders that cannot be counted while they do not fill the disk', async () => {
  const { share, found } = openShare();
  share.note((found.bytes = Infinity));
  for (let run = 0; run < 20; run++) {
    await share.admit();
    endRun(share, run % 2 === 0 ? 0 : -5 * mega);
  }
  await share.admit();
  assert.ok(share.growthLeft > 0);
});

test('what many runs add to folders that cannot be counted is added up, until no more are started', async () => {
  const { share, found } = openShare();
  share.note((found.bytes = Infinity));
  let runs = 0;
  for (; runs < 20 && (await isAdmitted(share)); runs++) endRun(share, 20 * mega);
  assert.equal(runs, 6, 'the fourth is more than 64 MB, and three of those may be');
  found.bytes = 10 * mega;
  await share.admit();
  assert.equal(share.isUncountable, false);
  share.note(Infinity);
  assert.equal(share.growthLeft, 64 * mega, 'who has tidied up begins anew');
});

const isAdmitted = (share: DiskShare): Promise<boolean> =>
  share.admit().then(
    () => true,
    () => false,
  );
