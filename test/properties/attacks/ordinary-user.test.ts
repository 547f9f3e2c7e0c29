import { it } from 'node:test';
import { lanes, testColumn } from './column.testing.ts';
import { ordinaryCopy, playAttacks } from './launch.testing.ts';

/** An ordinary user plays them in `bubblewrap.test.ts`. */
if (process.getuid?.() === 0) {
  await using copy = await ordinaryCopy();
  const task = { kind: 'bubblewrap', lanes, firstLane: 10, docker: null, word: '' } as const;
  testColumn({ title: 'bubblewrap, ordinary user', results: await playAttacks(copy, task) });
} else it('attacks on bubblewrap of an ordinary user', { skip: 'bubblewrap.test.ts plays them' }, () => {});
