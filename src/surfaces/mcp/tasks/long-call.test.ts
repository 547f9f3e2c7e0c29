import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ProtocolError } from '@modelcontextprotocol/server';
import { createLog } from '../../../platform/observability/log.ts';
import { runLongCall, type LongCall, type LongCallOptions } from './long-call.ts';
import { isOver, type Task } from './task.ts';
import { ann, openBench } from './tasks.testing.ts';

const result = (text: string) => ({ content: [{ type: 'text' as const, text }] });

async function prepareCall(t: TestContext, more: Partial<LongCallOptions> = {}) {
  const { open } = await openBench(t);
  const tasks = open();
  const connection = new AbortController();
  const cutting = new AbortController();
  const options: LongCallOptions = {
    tasks: Promise.resolve(tasks),
    caller: ann,
    tool: 'execute_code',
    lost: connection.signal,
    cutting: cutting.signal,
    progress: () => {},
    afterMs: 20,
    log: createLog('debug', () => {}),
    ...more,
  };
  const call = (work: (call: LongCall) => Promise<ReturnType<typeof result>>) => runLongCall(options, work);
  const waitForEnd = async (taskId: string): Promise<Task> => {
    for (;;) {
      const task = await tasks.find(ann, taskId);
      if (isOver(task.status)) return task;
      await pause(5);
    }
  };
  return { tasks, connection, cutting, call, waitForEnd };
}

const readTaskId = (answer: object): string => {
  assert.ok('taskId' in answer);
  return answer.taskId as string;
};

it('a call that is over soon is answered with its result', async (t) => {
  const { call } = await prepareCall(t, { afterMs: 60_000 });
  assert.deepEqual(await call(async () => result('quick')), result('quick'));
  await assert.rejects(
    call(async () => {
      throw new ProtocolError(-32_000, 'no');
    }),
    { code: -32_000 },
  );
});

it('a lost connection ends a call, and no task', async (t) => {
  const { call, connection, waitForEnd } = await prepareCall(t);
  const gate = Promise.withResolvers<void>();
  const became: string[] = [];
  const begun = await call(async ({ signal, progress, task }) => {
    task.showExecution('exec_000000000001', async () => void became.push('task'));
    progress(3, null, 'half\nway\n');
    await gate.promise;
    return result(signal.aborted ? 'ended' : 'whole');
  });
  const id = readTaskId(begun);
  assert.deepEqual(became, ['task'], 'its run is told before its client');
  assert.equal((begun as { statusMessage?: string }).statusMessage, 'way');
  connection.abort();
  gate.resolve();
  const ended = await waitForEnd(id);
  assert.deepEqual(ended.outcome, { status: 'completed', result: result('whole') });
  assert.equal(ended.execution, 'exec_000000000001');

  const other = await prepareCall(t, { afterMs: 60_000 });
  const answer = other.call(async ({ signal }) => {
    other.connection.abort();
    return result(String(signal.aborted));
  });
  assert.deepEqual(await answer, result('true'));
});

it('a cancelled task ends its call; an error of the protocol is a failure; so is a server that is cut off', async (t) => {
  const { call, tasks, waitForEnd, cutting } = await prepareCall(t);
  const untilEnded = async ({ signal }: LongCall) => {
    await pause(60_000, undefined, { signal }).catch(() => {});
    return result('cut');
  };
  const id = readTaskId(await call(untilEnded));
  await tasks.cancel(ann, id);
  assert.deepEqual((await waitForEnd(id)).outcome, { status: 'cancelled' });

  const failing = await call(async () => {
    await pause(40);
    throw new ProtocolError(-32_000, 'no', { why: 'test' });
  });
  assert.deepEqual((await waitForEnd(readTaskId(failing))).outcome, {
    status: 'failed',
    error: { code: -32_000, message: 'no', data: { why: 'test' } },
  });

  const cutOff = readTaskId(await call(untilEnded));
  cutting.abort();
  assert.equal((await waitForEnd(cutOff)).status, 'failed');
});

it('a call that can be no task stays a call', async (t) => {
  const tasks = Promise.reject(new Error('no database'));
  tasks.catch(() => {});
  const { call } = await prepareCall(t, { tasks });
  const answer = await call(async ({ ask }) => {
    await pause(40);
    assert.equal(await ask({ ask: {}, state: {} }), null, 'nobody can be asked through a task');
    return result('slow');
  });
  assert.deepEqual(answer, result('slow'));
});
