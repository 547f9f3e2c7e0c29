import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../errors.ts';
import { eventually } from '../eventually.testing.ts';
import { createLog } from '../observability/log.ts';
import type { SumsMethods } from './sums-thread.testing.ts';
import { createHelperProcess, ranOutOfMemory } from './workers.ts';

const file = new URL('./sums-thread.testing.ts', import.meta.url);

function newHelper(t: TestContext, options: Parameters<typeof createHelperProcess>[3] = {}) {
  const lines: { event: string; error: { message: string } }[] = [];
  const log = createLog('info', (line) => lines.push(JSON.parse(line) as never));
  const helper = createHelperProcess<SumsMethods>(file, { key: 'very-secret' }, log, options);
  t.after(() => helper[Symbol.asyncDispose]());
  return { helper, lines };
}

/** One that has ended stays in the list until whoever inherited it takes note. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function demandEnd(pid: number): Promise<void> {
  await eventually(() => !isAlive(pid));
}

it('what ends the process fails its calls; this one lives, and the next call works', async (t) => {
  const { helper, lines } = newHelper(t);
  // As V8 does where memory runs out.
  await assert.rejects(helper.call('die', 'abort'), { code: 'internal' });
  assert.equal(await helper.call('add', { a: 1, b: 1 }), 2);
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['thread.failed'],
  );
  assert.match(lines[0]!.error.message, /ended with SIG/);
});

it('what it is given does not stand in its command line', async (t) => {
  const { helper } = newHelper(t);
  const { data, argv } = await helper.call('which', undefined);
  assert.deepEqual([data, argv.includes('very-secret')], [{ key: 'very-secret' }, false]);
});

it('one that is busy for ever is ended when it is closed', async (t) => {
  const { helper, lines } = newHelper(t);
  const begun = Promise.withResolvers<number>();
  const call = helper.call('spin', undefined, { report: (pid) => begun.resolve(pid) });
  const refused = assert.rejects(call, { code: 'stopping' });
  const pid = await begun.promise;
  await helper[Symbol.asyncDispose]();
  await refused;
  assert.deepEqual([isAlive(pid), lines], [false, []]);
});

it('one that gives no sign of life for too long is ended, and the next call works', async (t) => {
  const { helper, lines } = newHelper(t, { silentMs: 1500 });
  let pid = 0;
  await assert.rejects(helper.call('spin', undefined, { report: (own) => void (pid = own) }), {
    code: 'internal',
  });
  assert.match(lines[0]!.error.message, /no sign of life/);
  assert.equal(await helper.call('add', { a: 1, b: 1 }), 2);
  await demandEnd(pid);
});

it('one that is at work for longer than that, and gives signs of life, is not', async (t) => {
  const { helper } = newHelper(t, { silentMs: 2000 });
  assert.equal(await helper.call('sleep', 3000), 'slept');
});

it('one that is killed is gone at once, its calls fail with the cause, and the next call works', async (t) => {
  const { helper, lines } = newHelper(t);
  const begun = Promise.withResolvers<number>();
  const calls = [
    helper.call('sleep', 60_000),
    helper.call('spin', undefined, { report: (pid) => begun.resolve(pid) }),
  ];
  const pid = await begun.promise;
  const cause = new WorkcrateError('document_timeout', 'It took too long.');
  helper.kill(cause);
  for (const result of await Promise.allSettled(calls))
    assert.equal(result.status === 'rejected' && result.reason, cause);
  assert.equal(helper.isRunning, false);
  const { again } = await helper.call('which', undefined);
  await demandEnd(pid);
  // It was no failure of its own.
  assert.deepEqual([again, lines], [false, []]);
});

it('one that was never started, or has ended, can be killed', async (t) => {
  const { helper } = newHelper(t);
  helper.kill(new Error('nobody'));
  assert.equal(await helper.call('add', { a: 1, b: 1 }), 2);
  await helper[Symbol.asyncDispose]();
  helper.kill(new Error('nobody'));
});

/** As a wall around a process does, this tells of a signal by its exit code. */
const telling = { command: '/bin/sh', args: ['-c', '"$@"; exit $?', 'sh'] };

for (const wrapper of [null, telling])
  it(`one that takes more memory than it may is ended while it is busy (${wrapper?.command ?? 'as it is'})`, async (t) => {
    const { helper, lines } = newHelper(t, { memoryBytes: 300_000_000, wrapper });
    const error = await helper.call('fill', undefined).catch((error: unknown) => error);
    assert.equal(ranOutOfMemory(error), true);
    assert.match(lines[0]!.error.message, /more memory than it may/);
    assert.equal(await helper.call('add', { a: 1, b: 1 }), 2);
  });

it('other ends are not taken for a lack of memory', async (t) => {
  const { helper } = newHelper(t, { memoryBytes: 300_000_000 });
  const error = await helper.call('die', 'exit').catch((error: unknown) => error);
  assert.equal(ranOutOfMemory(error), false);
});

it('it has the environment and the flags of Node that it is given, and no others', async (t) => {
  const { helper } = newHelper(t, { env: { LANG: 'C' }, nodeFlags: ['--no-warnings'] });
  const names = await helper.call('environment', undefined);
  assert.deepEqual(names, ['LANG']);
  assert.match((await helper.call('which', undefined)).argv, /--no-warnings/);
});

it('signals that are meant for the server do not end it', async (t) => {
  const { helper } = newHelper(t);
  const pid = Number((await helper.call('which', undefined)).thread.split(' ')[0]);
  const call = helper.call('sleep', 100);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
  assert.equal(await call, 'slept');
});

for (const method of ['wait', 'spin'] as const)
  it(`one whose server was killed ends too (${method})`, async (t) => {
    const script = `
      import { createLog } from ${JSON.stringify(new URL('../observability/log.ts', import.meta.url).href)};
      import { createHelperProcess } from ${JSON.stringify(new URL('./workers.ts', import.meta.url).href)};
      const helper = createHelperProcess(new URL(${JSON.stringify(file.href)}), null, createLog('off'));
      const { thread } = await helper.call('which', undefined);
      await helper.call(${JSON.stringify(method)}, undefined, { report: () => console.log(thread) });`;
    const server = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => server.kill('SIGKILL'));
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString().split(' ')[0]);
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'));
    // By then it spins, and hears nothing any more.
    await pause(200);
    assert.ok(isAlive(pid));
    server.kill('SIGKILL');
    await once(server, 'exit');
    await demandEnd(pid);
  });

it('it is killed before the server if the machine is out of memory', async (t) => {
  const { helper } = newHelper(t);
  const begun = Promise.withResolvers<number>();
  const call = helper.call('spin', undefined, { report: (pid) => begun.resolve(pid) });
  const refused = assert.rejects(call, { code: 'stopping' });
  const pid = await begun.promise;
  assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'), '900\n');
  assert.notEqual(readFileSync('/proc/self/oom_score_adj', 'utf8'), '900\n');
  await helper[Symbol.asyncDispose]();
  await refused;
});
