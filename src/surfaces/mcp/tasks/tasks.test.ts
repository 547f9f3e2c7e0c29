import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Task, TaskStatus } from './task.ts';
import { ann, bob, minute, newTask, openBench, shareDatabase } from './tasks.testing.ts';
import type { Tasks } from './tasks.ts';

const completeWith = (text: string) => ({
  status: 'completed' as const,
  result: { content: [{ type: 'text' as const, text }] },
});
const done = completeWith('done');
const unknown = { code: 'not_found' };

async function waitForStatus(tasks: Tasks, id: string, status: TaskStatus): Promise<Task> {
  for (;;) {
    const task = await tasks.find(ann, id);
    if (task.status === status) return task;
    await pause(5);
  }
}

it('a task is there before it is told, for its user alone', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const { task } = (await tasks.begin(newTask()))!;
  const other = open('two', { lookMs: minute });
  assert.equal((await tasks.find(ann, task.id)).status, 'working');
  for (const room of [tasks, other]) {
    await assert.rejects(room.find(bob, task.id), unknown);
    await assert.rejects(room.cancel(bob, task.id), unknown);
    await assert.rejects(room.answer(bob, task.id, {}), unknown);
    await assert.rejects(room.find(ann, `task_${'A'.repeat(32)}`), unknown);
    await assert.rejects(room.find(ann, "' OR 1=1"), unknown);
  }
  const texts = await Promise.all(
    [task.id, `task_${'A'.repeat(32)}`].map((id) => tasks.find(bob, id).catch(String)),
  );
  assert.equal(texts[0], texts[1], 'both are as unknown');
});

it('a result survives a restart for its time, and no longer', async (t) => {
  const { open, time } = await openBench(t);
  const tasks = open();
  const one = (await tasks.begin(newTask()))!;
  time.now += 10 * minute;
  const { ttlMs, createdAt } = tasks.toCreated(one.task);
  assert.ok(Date.parse(createdAt) + ttlMs >= time.now + minute, 'no client gives it up while it runs');
  await tasks.finish(one, done);
  const again = open();
  assert.equal(await again.recover(), 0);
  const { id } = one.task;
  assert.deepEqual((await again.find(ann, id)).outcome, done);
  time.now += minute - 1;
  assert.equal(await again.sweep(), 0);
  assert.deepEqual(again.toDetailed(await again.find(ann, id))['result'], done.result);
  time.now += 1;
  await assert.rejects(again.find(ann, id), unknown);
  assert.equal(await again.sweep(), 1);
});

it('what was under way when a server ended is lost, and says so', async (t) => {
  const { open } = await openBench(t);
  const one = (await open('one', { lookMs: minute }).begin({
    ...newTask(),
    execution: 'exec_000000000000',
  }))!;
  const again = open();
  assert.equal(await again.recover(), 1);
  const told = again.toDetailed(await again.find(ann, one.task.id));
  assert.equal(told['status'], 'failed');
  assert.match(
    JSON.stringify(told['error']),
    /-32603.*get_execution shows what is known of exec_000000000000/,
  );
  assert.equal(await again.recover(), 0);
});

it('a task ends once', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const one = (await tasks.begin(newTask()))!;
  await tasks.finish(one, done);
  await tasks.finish(one, { status: 'cancelled' });
  one.tell('late');
  const { status, message } = await tasks.find(ann, one.task.id);
  assert.deepEqual([status, message], ['completed', '']);
  await tasks.cancel(ann, one.task.id);
  assert.equal((await tasks.find(ann, one.task.id)).status, 'completed');
});

it('a removed user has no tasks, nor has a new user of the same name, and what runs is ended', async (t) => {
  const { open, time, removedAt } = await openBench(t);
  const tasks = open();
  const end = new AbortController();
  const one = (await tasks.begin(newTask(ann, end)))!;
  removedAt.set('ann', time.now);
  await assert.rejects(tasks.find({ user: 'ann', since: time.now + 1 }, one.task.id), unknown);
  while (!end.signal.aborted) await pause(5);
  assert.equal(one.endReason, 'removed');
});

it('a user who has as many tasks as may be gets no more; the others do', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const begun = await Promise.all(Array.from({ length: 101 }, () => tasks.begin(newTask())));
  assert.equal(begun.filter((one) => one !== null).length, 100);
  assert.notEqual(await tasks.begin(newTask(bob)), null);
});

it('results that fill the room of a user keep new tasks away until they expire', async (t) => {
  const { open, time } = await openBench(t);
  const tasks = open();
  const large = completeWith('x'.repeat(8e6));
  for (let count = 0; count < 9; count++) {
    const one = await tasks.begin(newTask());
    if (one !== null) await tasks.finish(one, large);
  }
  assert.equal(await tasks.begin(newTask()), null);
  time.now += minute;
  await tasks.sweep();
  assert.notEqual(await tasks.begin(newTask()), null);
});

it('a result that is too large to keep becomes one that says so', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const one = (await tasks.begin(newTask()))!;
  const picture = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(9e6) } as const;
  await tasks.finish(one, { status: 'completed', result: { content: [...done.result.content, picture] } });
  const { result } = tasks.toDetailed(await tasks.find(ann, one.task.id)) as {
    result: { content: object[] };
  };
  assert.deepEqual(result.content, [
    ...done.result.content,
    { type: 'text', text: '1 pictures are left out: the result was too large to keep.' },
  ]);
});

it('an end that the database did not take is written later', async (t) => {
  const { database, open } = await openBench(t);
  let fails = true;
  const query = ((sql: string, ...values: never[]) =>
    fails && sql.startsWith('UPDATE')
      ? Promise.reject(new Error('disk'))
      : database.query(sql, ...values)) as typeof database.query;
  const tasks = open('one', { database: { ...database, query } });
  const one = (await tasks.begin(newTask()))!;
  await tasks.finish(one, done);
  assert.equal((await tasks.find(ann, one.task.id)).status, 'completed');
  fails = false;
  const reader = open('two', { database: shareDatabase(database), lookMs: minute });
  await waitForStatus(reader, one.task.id, 'completed');
});

const ask = inputRequired.elicit({ message: 'Sure?', requestedSchema: z.object({ ok: z.boolean() }) });

it('questions wait for all their answers, under keys that come once', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const one = (await tasks.begin(newTask()))!;
  const { id } = one.task;
  const first = one.ask({ ask: { a: ask, b: ask }, state: {} });
  assert.deepEqual(Object.keys((await tasks.find(ann, id)).questions), ['1.a', '1.b']);
  await tasks.answer(ann, id, { '1.b': { action: 'accept' }, a: { action: 'decline' }, made_up: {} });
  const waiting = tasks.toDetailed(await tasks.find(ann, id));
  assert.deepEqual([waiting['status'], Object.keys(waiting['inputRequests']!)], ['input_required', ['1.a']]);
  await tasks.answer(ann, id, { '1.a': { action: 'cancel' } });
  assert.deepEqual(await first, { a: { action: 'cancel' }, b: { action: 'accept' } });
  const second = one.ask({ ask: { a: ask }, state: {} });
  assert.deepEqual(Object.keys((await tasks.find(ann, id)).questions), ['2.a']);
  await tasks.answer(ann, id, { '1.a': { action: 'accept' } });
  await tasks.cancel(ann, id);
  await assert.rejects(second, { code: 'cancelled' });
  assert.equal(one.endReason, 'cancelled');
});

it('a question that nobody answers ends with its reason', async (t) => {
  const { open } = await openBench(t);
  const one = (await open('one', { askMs: 5 }).begin(newTask()))!;
  await assert.rejects(one.ask({ ask: { a: ask }, state: {} }), { code: 'client_timeout' });
  assert.equal(one.task.status, 'working');
});

it('another server shows, answers and cancels a task, and tells of one whose server is gone', async (t) => {
  const { database, open, time } = await openBench(t);
  const shared = { database: shareDatabase(database) };
  const [here, there] = [open('here', shared), open('there', shared)];
  const one = (await here.begin(newTask()))!;
  const { id } = one.task;
  const told: string[] = [];
  using _listening = there.listen(await there.find(ann, id), ({ message }) => void told.push(message));
  time.now++;
  one.tell('line 1\nline 2\n');
  while (!told.includes('line 2')) await pause(5);
  const answered = one.ask({ ask: { a: ask }, state: {} });
  await waitForStatus(there, id, 'input_required');
  await there.answer(ann, id, { '1.a': { action: 'accept' } });
  assert.deepEqual(await answered, { a: { action: 'accept' } });
  await there.cancel(ann, id);
  while (one.endReason === null) await pause(5);
  await here[Symbol.asyncDispose]();
  await database.query('UPDATE jobs SET seen_at = seen_at - 60001');
  assert.equal((await there.find(ann, id)).status, 'failed');
});

it('a server whose clock is ahead gives up no task of another', async (t) => {
  const { database, open, time } = await openBench(t);
  const shared = { database: shareDatabase(database) };
  const here = open('here', shared);
  const there = open('there', { ...shared, clock: () => time.now + 5 * minute });
  const one = (await here.begin(newTask()))!;
  assert.equal((await there.find(ann, one.task.id)).status, 'working');
  assert.equal(await there.recover(), 0);
  assert.equal((await there.find(ann, one.task.id)).status, 'working');
  await here.finish(one, done);
});

it('a server that stops ends its tasks and says so', async (t) => {
  const { open } = await openBench(t);
  const tasks = open();
  const end = new AbortController();
  const one = (await tasks.begin(newTask(ann, end)))!;
  await tasks.stop();
  assert.ok(end.signal.aborted);
  const told = await open('two', { lookMs: minute }).find(ann, one.task.id);
  assert.equal(told.status, 'failed');
  assert.equal(await tasks.begin(newTask()), null, 'no task begins any more');
});
