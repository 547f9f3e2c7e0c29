import { lanes, testColumn, testPage } from './column.testing.ts';
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
