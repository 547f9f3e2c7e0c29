import { it } from 'node:test';
import { findEngine, noEngine } from '../../../src/ports/sandbox/docker/engine.testing.ts';
import { lanes, testColumn } from './column.testing.ts';
import { playAttacks, thisCopy } from './launch.testing.ts';

const isRoot = process.getuid?.() === 0;
await using engine = isRoot ? await findEngine() : null;
if (engine === null) it('attacks on docker', { skip: isRoot ? noEngine : 'needs root' }, () => {});
else {
  const { socket, image } = engine;
  const task = { kind: 'docker', lanes, firstLane: 20, docker: { socket, image }, word: '' } as const;
  testColumn({ title: 'docker', results: await playAttacks(thisCopy(), task) });
}
