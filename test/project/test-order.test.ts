import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { groupFiles } from '../../scripts/test-groups.ts';
import { longest, turnOf } from '../../scripts/test-order.ts';
import { runPool } from '../../scripts/test-pool.ts';

const every = globSync('{src,packages,test,examples}/**/*.test.ts');

describe('in which order and how many at a time test files run', () => {
  it('every file is in one group, and what starts servers is alone in its', () => {
    const groups = groupFiles(every);
    assert.deepEqual(groups.flatMap(({ files }) => files).toSorted(), every.toSorted());
    const together = groups.filter(({ files }) => files.length > 1);
    assert.ok(together.length > 10 && together.every(({ files }) => files.length <= 12));
    const alone = groups.filter(({ main, files }) => files.length === 1 && main === files[0]);
    assert.equal(alone.length + together.length, groups.length);
    assert.ok(alone.some(({ main }) => main === 'test/properties/attacks/docker.test.ts'));
    assert.ok(together.every(({ files, argv }) => argv === files));
  });

  it('what takes longest is named by what is there, and each name puts files before others', () => {
    const idle = longest.filter((_, turn) => !every.some((file) => turnOf(file) === turn));
    assert.deepEqual(idle, []);
    assert.ok(turnOf('test/properties/attacks/docker.test.ts') < turnOf('src/platform/text/glob.test.ts'));
  });

  it('as many jobs as may run at a time do, in their order, and all of them run', async () => {
    const [begun, ended] = [[] as number[], [] as number[]];
    let running = 0;
    let highest = 0;
    const jobs = Array.from({ length: 7 }, (_, n) => async (): Promise<void> => {
      begun.push(n);
      highest = Math.max(highest, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      ended.push(n);
    });
    await runPool(jobs, { least: 3, most: 3 });
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
    assert.deepEqual([ended.length, running, highest], [7, 0, 3]);
  });
});
