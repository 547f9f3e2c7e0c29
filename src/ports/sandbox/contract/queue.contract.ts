import assert from 'node:assert/strict';
import { collectBytes } from '../../../platform/streams.ts';
import { describe, it } from 'node:test';
import type { SandboxRun } from '../sandbox.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import { openBench, useBench, type MakeSandbox } from './harness.contract.ts';

export function queueContract(make: MakeSandbox): void {
  describe('many runs', () => {
    const bench = useBench(make, { mostRuns: 2 });
    const sleeper = 'print("up", flush=True)\nimport time\ntime.sleep(600)';

    it('as many as may run do, ten times as many wait, and the next is refused', async () => {
      const running = new AbortController();
      const waiting = new AbortController();
      const first = await Promise.all(
        [1, 2].map(() => bench.start('python', sleeper, { signal: running.signal })),
      );
      const outputs = first.map(drain);
      assert.equal(bench.sandbox.occupancy().running, 2);

      const queued = Array.from({ length: 20 }, () =>
        bench.start('python', sleeper, { signal: waiting.signal }).catch((error: unknown) => error),
      );
      await eventually(() => bench.sandbox.occupancy().queued === 20);
      await assert.rejects(bench.start('bash', 'true'), { code: 'sandbox_busy' });

      waiting.abort();
      for (const error of await Promise.all(queued))
        assert.equal((error as { code: string }).code, 'cancelled');
      assert.equal(bench.sandbox.occupancy().queued, 0);
      running.abort();
      await Promise.all(outputs);
      for (const run of first) assert.equal((await run.ended).reason, 'cancelled');
    });

    it('those who wait get their turn, in order', async () => {
      const { inside } = await bench.folder();
      const runs = Array.from({ length: 8 }, (_, i) =>
        bench.run('bash', `echo ${i}`, { workingDir: inside }),
      );
      assert.equal((await Promise.all(runs)).map(({ out }) => out.trim()).join(''), '01234567');
      await eventually(() => bench.sandbox.occupancy().running === 0);
    });

    it('nobody holds all places: a run of another user starts at once', async () => {
      await using few = await openBench(make, { mostRuns: 2, mostRunsOfUser: 1 });
      const stop = new AbortController();
      const first = await few.start('python', sleeper, { signal: stop.signal });
      const output = drain(first);
      const second = few.start('bash', 'true', { signal: stop.signal }).catch((error: unknown) => error);
      await eventually(() => few.sandbox.occupancy().queued === 1);
      assert.equal((await few.run('bash', 'echo mine', { user: 'bob' })).out, 'mine\n');
      await eventually(() => few.sandbox.occupancy().running === 1);
      assert.equal(few.sandbox.occupancy().queued, 1);
      stop.abort();
      await Promise.all([output, second]);
    });

    it('making ready ahead does no harm, however often', async () => {
      const place = await bench.place('anna');
      await Promise.all([1, 2, 3].map(() => bench.sandbox.warm('anna', place)));
      assert.equal((await bench.run('python', 'print(1)')).out, '1\n');
    });
  });
}

async function drain({ stdout, stderr }: SandboxRun): Promise<void> {
  await Promise.all([collectBytes(stdout), collectBytes(stderr)]);
}
