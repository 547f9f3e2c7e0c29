import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { attacks } from './all.testing.ts';
import { lanes, listFaults, testColumn, testPage } from './column.testing.ts';
import { playAttacks, thisCopy } from './launch.testing.ts';

const title = process.getuid?.() === 0 ? 'bubblewrap, root' : 'bubblewrap, ordinary user';
const results = await playAttacks(thisCopy(), {
  kind: 'bubblewrap',
  lanes,
  firstLane: 0,
  docker: null,
  word: '',
});

testColumn({ title, results });
testPage({ title, results });

it('no attack gets through', () => {
  assert.deepEqual(listFaults(results, attacks), []);
  recordProof('D15:attacks-are-stopped');
});
