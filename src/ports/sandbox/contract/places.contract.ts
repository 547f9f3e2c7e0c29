import assert from 'node:assert/strict';
import { chown, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { makePackageFolders } from '../environments.ts';
import type { Workspace } from '../sandbox.ts';
import { outcomeOf, useBench, type MakeSandbox } from './harness.contract.ts';

export function placesContract(make: MakeSandbox): void {
  describe('places', () => {
    const bench = useBench(make);

    it('folders that were removed and made again are those of the next run, whatever waits for it', async () => {
      const place = await bench.place('ivan');
      await bench.sandbox.warm('ivan', place);
      assert.equal((await bench.run('bash', 'echo fine', { user: 'ivan' })).out, 'fine\n');
      await rm(dirname(place.workspace), { recursive: true });
      const again = await makeAgain(place);
      const run = await bench.start('bash', 'echo new > new; echo fine', {
        user: 'ivan',
        place: again,
      });
      const { out, err } = await outcomeOf(run);
      assert.deepEqual([out, err], ['fine\n', '']);
      assert.equal(await readFile(join(again.workspace, 'new'), 'utf8'), 'new\n');
    });
  });
}

async function makeAgain(place: Workspace): Promise<Workspace> {
  for (const folder of [place.workspace, place.artifacts]) {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if (place.uid !== null) await chown(folder, place.uid, place.uid);
  }
  makePackageFolders(place.packages!, place.uid);
  return { ...place };
}
