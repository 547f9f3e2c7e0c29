import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { ada, bob, openRoom, until, watching } from './room.testing.ts';
import { openTools } from './tools.testing.ts';

const waiting = (name: string): string =>
  `echo first; while [ ! -e ${name} ]; do sleep 0.02; done; echo second`;

test('background: true answers at once with the next step, and get_execution waits for the end', async () => {
  await using tools = await openTools();
  const { data, text } = await tools.call('execute_bash', { command: waiting('go'), background: true });
  assert.deepEqual([data.end_reason, data.background, data.exit_code], ['running', 'asked', null]);
  const { execution_id } = data;
  const next = `{"execution_id":"${execution_id}","wait_ms":50000,"output_from":${data.output_next}}`;
  assert.ok(text.includes(`Next: get_execution ${next} waits for its end`), text);
  const waited = tools.call('get_execution', JSON.parse(next) as Record<string, unknown>);
  await tools.call('execute_bash', { command: 'touch go' });
  const { data: ended, text: endText } = await waited;
  assert.deepEqual([ended.end_reason, ended.stdout, ended.background], ['exit', 'first\nsecond\n', 'asked']);
  assert.equal(data.stdout + ended.output.text, 'first\nsecond\n');
  assert.match(endText, /second\n\[exec_\w+: exit code 0 after/);
  recordProof('D17:background');
});

test('a run that outlives its call is answered with what there is, where the client cannot wait', async () => {
  await using tools = await openTools({ detachMs: 300 });
  const calling = { command: waiting('on'), timeout_ms: 25_000 };
  const { data, text } = await tools.call('execute_bash', calling);
  assert.deepEqual([data.end_reason, data.background, data.stdout], ['running', 'detached', 'first\n']);
  assert.match(text, /still running after [\d.]+ (ms|s)\]\nIn the background, detached/);
  const { data: soFar, text: record } = await tools.call('get_execution', {
    execution_id: data.execution_id,
  });
  assert.deepEqual(soFar.output, { text: 'first\n', from: 0, next: 6, end: 6 });
  assert.match(record, /output from 0 to 6 of 6 characters so far/);
  await tools.call('execute_bash', { command: 'touch on' });
  const following = { execution_id: data.execution_id, wait_ms: 20_000, output_from: data.output_next };
  const { data: ended } = await tools.call('get_execution', following);
  assert.deepEqual([ended.end_reason, ended.output.text], ['exit', 'second\n']);
  // One that asked for progress, or is told soon enough, is not answered before the end.
  const progress = { onprogress: () => {} };
  const call = { name: 'execute_bash', arguments: { command: 'sleep 0.6; echo all' } };
  const { content } = await tools.client.callTool(call, progress);
  assert.match((content[0] as { text: string }).text, /^all\n\[exec_\w+: exit code 0/);
  recordProof('D17:detached');
});

test('a wait ends with its time, and output is given in parts', async () => {
  await using tools = await openTools({ outputBounds: { most: 150, head: 10, tail: 140 } });
  const command = `for i in {1..30}; do printf 'line %03d\\n' $i; done; ${waiting('stop')}`;
  const { execution_id } = (await tools.call('execute_bash', { command, background: true })).data;
  let [read, from] = ['', 0];
  await until(async () => {
    const { data } = await tools.call('get_execution', { execution_id, wait_ms: 10, output_from: from });
    assert.ok(data.output.text.length <= 150 && data.end_reason === 'running');
    read += data.output.text;
    from = data.output.next;
    return read.endsWith('first\n');
  });
  assert.equal(read.split('\n').length, 32);
  await tools.call('cancel_execution', { execution_id });
  recordProof('D17:followed');
});

test('cancel_execution ends a run, also one that waits, and says what it found', async () => {
  await using tools = await openTools();
  const { execution_id } = (await tools.call('execute_bash', { command: 'sleep 20', background: true })).data;
  const { data, text } = await tools.call('cancel_execution', { execution_id });
  assert.deepEqual(data, { execution_id, cancelled: true, end_reason: 'cancelled' });
  assert.match(text, /cancelled after .* by cancel_execution/);
  const again = await tools.call('cancel_execution', { execution_id });
  assert.equal(again.data.cancelled, false);
  assert.match(again.text, /over already, so nothing was cancelled/);
  const unknown = await tools.call('cancel_execution', { execution_id: 'exec_000000000000' });
  assert.ok(unknown.failed && /No execution of yours/.test(unknown.text));
  recordProof('D17:followed');
});

test('a run of another user is neither followed nor cancelled', async () => {
  await using room = await openRoom();
  const request = { tool: 'execute_code', language: 'bash' as const, stdin: '', workingDir: null };
  const code = { ...request, code: 'echo mine; sleep 20', timeoutMs: null, files: [] };
  const run = await room.executions.begin(ada, code, { ...watching(), background: 'asked' });
  const signal = new AbortController().signal;
  await assert.rejects(room.executions.follow(bob, run.id, { waitMs: 0, signal }), { code: 'not_found' });
  await assert.rejects(room.executions.cancel(bob, run.id), { code: 'not_found' });
  assert.equal(run.background, 'asked');
  run.cancel('client');
  await run.ended;
});

test('a run whose call lost its connection ends after the grace, unless its user asks for it', async () => {
  await using room = await openRoom({ orphanGraceMs: 400 });
  const plain = { tool: 'execute_code', language: 'bash' as const, stdin: '', workingDir: null };
  const request = { ...plain, code: 'sleep 20', timeoutMs: null, files: [] };
  const [left, asked, found] = [
    await room.executions.begin(ada, request, watching()),
    await room.executions.begin(ada, request, watching()),
    await room.executions.begin(ada, { ...request, code: 'sleep 21' }, watching()),
  ];
  for (const run of [left, asked, found]) run.leave();
  await room.executions.get(ada, asked.id);
  await room.executions.search(ada, { limit: 1 });
  const { execution } = await left.ended;
  assert.deepEqual([execution.reason, execution.cancelledBy], ['cancelled', 'lost_connection']);
  assert.deepEqual([asked.background, found.background], ['adopted', 'adopted']);
  assert.equal((await room.executions.get(ada, asked.id)).background, 'adopted');
  for (const run of [asked, found]) run.cancel('client');
  assert.equal((await asked.ended).execution.cancelledBy, 'client');
  await found.ended;
  recordProof('D17:cut');
});
