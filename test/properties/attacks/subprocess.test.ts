import assert from 'node:assert/strict';
import { it } from 'node:test';
import { attacks } from './all.testing.ts';
import { lanes, testColumn } from './column.testing.ts';
import { playAttacks, thisCopy } from './launch.testing.ts';

const seesWhat = 'the judges see what gets through where there are no walls';

/** Without walls, its attacks would be on the tests themselves where they have the same uid. */
if (process.getuid?.() === 0) {
  const task = { kind: 'subprocess', lanes, firstLane: 30, docker: null, word: '' } as const;
  const results = await playAttacks(thisCopy(), task);
  testColumn({ title: 'subprocess', results });

  it(seesWhat, () => {
    const wrong = attacks
      .map(({ name, withoutWalls }) => ({ name, withoutWalls, is: results.verdicts.get(name)?.state }))
      .filter(({ withoutWalls }) => withoutWalls === 'through' || withoutWalls === 'held')
      .filter(({ withoutWalls, is }) => is !== withoutWalls);
    assert.deepEqual(wrong, []);
  });
} else it(seesWhat, { skip: 'needs two uids' }, () => {});
