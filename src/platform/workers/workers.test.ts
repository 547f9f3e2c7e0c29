import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createLog } from '../observability/log.ts';
import type { SumsMethods } from './sums-thread.testing.ts';
import { createHelperProcess, createThread } from './workers.ts';

const file = new URL('./sums-thread.testing.ts', import.meta.url);

type Create = typeof createThread<SumsMethods>;

function newThread(t: TestContext, create: Create) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', (line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const thread = create(file, { for: 'the test' }, log);
  t.after(() => thread[Symbol.asyncDispose]());
  return { thread, lines };
}

/** What holds for both alike. */
for (const create of [createThread, createHelperProcess] satisfies Create[])
  describe(create.name, () => {
    it('a call is done in another thread, which is started by the first one, and its result comes back', async (t) => {
      const { thread } = newThread(t, create);
      assert.equal(thread.isRunning, false);
      const calls = Array.from({ length: 50 }, (_, a) => thread.call('add', { a, b: 1 }));
      assert.deepEqual(
        await Promise.all(calls),
        Array.from({ length: 50 }, (_, a) => a + 1),
      );
      assert.equal(thread.isRunning, true);
      const [first, second] = [await thread.call('which', undefined), await thread.call('which', undefined)];
      assert.deepEqual([first.data, first.thread === second.thread], [{ for: 'the test' }, true]);
      assert.notEqual(first.thread, `${process.pid} 0`);
    });

    it('a failure comes back with its code, message, details and cause; that of a bug without its text', async (t) => {
      const { thread } = newThread(t, create);
      await assert.rejects(thread.call('refuse', undefined), {
        name: 'WorkcrateError',
        code: 'not_found',
        message: 'There is none.',
        details: { at: 7 },
        cause: 'why',
      });
      await assert.rejects(thread.call('stumble', undefined), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'internal');
        assert.ok(!error.message.includes('a bug') && String(error.cause).includes('a bug'));
        return true;
      });
      assert.equal(await thread.call('add', { a: 1, b: 1 }), 2);
    });

    it('progress is told in order and before the result', async (t) => {
      const { thread } = newThread(t, create);
      const told: unknown[] = [];
      const result = await thread.call('count', 5, { report: (progress) => told.push(progress) });
      assert.deepEqual([result, told], ['counted', [1, 2, 3, 4, 5].map((at) => ({ at }))]);
    });

    it('a call that is cancelled ends as such, and others go on; one cancelled before is not made', async (t) => {
      const { thread } = newThread(t, create);
      const stop = new AbortController();
      const other = thread.call('sleep', 50);
      const cut = thread.call('wait', undefined, { signal: stop.signal, report: () => stop.abort() });
      await assert.rejects(cut, { code: 'cancelled' });
      assert.equal(await other, 'slept');
      await assert.rejects(thread.call('wait', undefined, { signal: stop.signal }), { name: 'AbortError' });
    });

    for (const how of ['throw', 'exit'] as const) {
      it(`a thread that dies fails all its calls, and the next one starts it again (${how})`, async (t) => {
        const { thread, lines } = newThread(t, create);
        const before = await thread.call('which', undefined);
        const calls = [thread.call('die', how), thread.call('sleep', 60_000)];
        // Asked for as soon as the failure is known, while the old thread may still be on its way out.
        const after = calls[0]!.catch(() => thread.call('which', undefined));
        for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
          assert.deepEqual([status, (reason as { code?: string }).code], ['rejected', 'internal']);
        assert.notEqual(((await after) as typeof before).thread, before.thread);
        assert.equal(await thread.call('sleep', 100), 'slept');
        const again = await thread.call('which', undefined);
        assert.equal(again.thread, ((await after) as typeof before).thread);
        assert.deepEqual([before.again, again.again], [false, true]);
        assert.deepEqual(
          lines.map(({ event }) => event),
          ['thread.failed'],
        );
      });
    }

    it('one that is killed fails its calls with the cause at once, and the next call starts another', async (t) => {
      const { thread, lines } = newThread(t, create);
      const before = await thread.call('which', undefined);
      const call = thread.call('sleep', 60_000);
      thread.kill(new Error('not wanted'));
      await assert.rejects(call, /not wanted/);
      const after = await thread.call('which', undefined);
      assert.notEqual(after.thread, before.thread);
      // It was no failure of its own.
      assert.deepEqual([after.again, lines], [false, []]);
    });

    it('what cannot go over is told, and nobody waits for it', async (t) => {
      const { thread } = newThread(t, create);
      await assert.rejects(thread.call('add', { a: () => {}, b: 1 } as never), /could not be cloned/);
      await assert.rejects(thread.call('giveFunction', undefined), { code: 'internal' });
      assert.equal(await thread.call('add', { a: 1, b: 1 }), 2);
    });

    it('more than a thousand calls do not wait', async (t) => {
      const { thread } = newThread(t, create);
      const stop = new AbortController();
      const calls = Array.from({ length: 1000 }, () =>
        thread.call('wait', undefined, { signal: stop.signal }),
      );
      await assert.rejects(thread.call('add', { a: 1, b: 1 }), { code: 'too_many_requests' });
      stop.abort();
      await Promise.allSettled(calls);
      assert.equal(await thread.call('add', { a: 1, b: 1 }), 2);
    });

    it('lines for the log arrive in the log of the process, with the codes of errors', async (t) => {
      const { thread, lines } = newThread(t, create);
      await thread.call('say', 'a "line"\n');
      const [said, failed] = lines as [Record<string, unknown>, { error: { cause: string } }];
      assert.deepEqual([said['level'], said['event'], said['text']], ['info', 'test.said', 'a "line"\n']);
      assert.equal((said['error'] as { code: string }).code, 'too_large');
      assert.match(failed.error.cause, /with a stack/);
    });

    it('a thread that is closed cancels its calls and takes no more', async (t) => {
      const { thread, lines } = newThread(t, create);
      const begun = Promise.withResolvers<void>();
      const call = thread.call('wait', undefined, { report: () => begun.resolve() });
      const refused = assert.rejects(call, { code: 'cancelled' });
      await begun.promise;
      await thread[Symbol.asyncDispose]();
      await refused;
      await assert.rejects(thread.call('add', { a: 1, b: 1 }), { code: 'stopping' });
      assert.deepEqual([thread.isRunning, lines], [false, []]);
    });

    it('an idle thread does not hold the process back, one at work does', async () => {
      const script = `
        import { createLog } from ${JSON.stringify(new URL('../observability/log.ts', import.meta.url).href)};
        import { ${create.name} } from ${JSON.stringify(new URL('./workers.ts', import.meta.url).href)};
        const thread = ${create.name}(new URL(${JSON.stringify(file.href)}), null, createLog('off'));
        await thread.call('add', { a: 1, b: 1 });
        void thread.call('sleep', 50).then(console.log);`;
      const args = ['-e', script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
      assert.equal(stdout, 'slept\n');
    });
  });
