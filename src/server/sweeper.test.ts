import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createLog } from '../platform/observability/log.ts';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { startSweeper, type SweeperOptions } from './sweeper.ts';

type PartName = 'files' | 'links' | 'uploads' | 'executions' | 'sessions' | 'tasks' | 'packages';

/** A sweeper whose parts count how often they are swept, and fail or wait where a test says so. */
function startTestSweeper(sweepPart: (name: PartName) => Promise<void> | void = () => {}) {
  const swept: PartName[] = [];
  const done: Readonly<Record<string, number>>[] = [];
  const lines: string[] = [];
  const sweepOne = async (name: PartName): Promise<void> => {
    swept.push(name);
    await sweepPart(name);
  };
  const count = (name: PartName) => ({ sweep: async () => (await sweepOne(name), 1) });
  const options: SweeperOptions = {
    files: count('files'),
    links: count('links'),
    uploads: count('uploads'),
    executions: { sweep: async () => (await sweepOne('executions'), { executions: 1, journals: 0 }) },
    sessions: count('sessions'),
    tasks: count('tasks'),
    packages: count('packages'),
    metrics: { sweepDone: (counts) => void done.push(counts) },
    log: createLog('debug', (line) => void lines.push(line)),
    intervalSeconds: 300,
  };
  const sweeper = startSweeper(options);
  return {
    sweeper,
    swept,
    done,
    events: () => lines.map((line) => JSON.parse(line) as { level: string; event: string }),
    [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
  };
}

const every: readonly PartName[] = [
  'files',
  'links',
  'uploads',
  'executions',
  'sessions',
  'tasks',
  'packages',
];

/** Lets the interval pass without waiting for it, and what it starts run to its end. */
async function passInterval(t: TestContext, { sweeper }: ReturnType<typeof startTestSweeper>): Promise<void> {
  t.mock.timers.tick(300_000);
  await sweeper.sweepSoon();
}

it('a sweep comes after every interval, counts what it deleted, and logs that', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  await using at = startTestSweeper();
  t.mock.timers.tick(299_999);
  assert.deepEqual(at.swept, []);
  t.mock.timers.tick(1);
  await at.sweeper.sweepSoon();
  await passInterval(t, at);
  assert.deepEqual(at.swept, [...every, ...every]);
  assert.deepEqual(
    at.events().map(({ level, event }) => [level, event]),
    [
      ['info', 'sweep.done'],
      ['info', 'sweep.done'],
    ],
  );
  const counts = { links: 1, uploads: 1, files: 1, executions: 1, journals: 0, tasks: 1 };
  assert.deepEqual(at.done, [counts, counts]);
  recordProof('C5:sweep-every-300-s', 'C5:sweep-logs-the-count');
});

for (const broken of every)
  it(`a sweep whose part for ${broken} fails does the others, and so does the next, until all is well`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let isBroken = true;
    await using at = startTestSweeper((name) => {
      if (isBroken && name === broken) throw new Error('the disk is gone');
    });
    await passInterval(t, at);
    await passInterval(t, at);
    assert.deepEqual(at.swept, [...every, ...every]);
    assert.deepEqual(at.done, []);
    isBroken = false;
    await passInterval(t, at);
    assert.equal(at.done.length, 1);
    assert.deepEqual(
      at.events().map(({ level, event }) => [level, event]),
      [
        ['error', 'sweep.failed'],
        ['error', 'sweep.failed'],
        ['info', 'sweep.done'],
      ],
    );
    recordProof('C5:sweep-survives-errors-of-any-part');
  });

it('a shutdown waits for the sweep that is under way, and none comes after it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const held = Promise.withResolvers<void>();
  const at = startTestSweeper((name) => (name === 'links' ? held.promise : undefined));
  t.mock.timers.tick(300_000);
  let isClosed = false;
  const closed = at[Symbol.asyncDispose]().then(() => (isClosed = true));
  await new Promise(setImmediate);
  assert.deepEqual([isClosed, at.done.length], [false, 0]);
  held.resolve();
  await closed;
  assert.equal(at.done.length, 1);
  t.mock.timers.tick(3_000_000);
  await new Promise(setImmediate);
  assert.deepEqual(at.swept, every);
  recordProof('C5:sweep-stops-on-shutdown');
});
