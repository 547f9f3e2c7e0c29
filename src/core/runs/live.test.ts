import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLiveOutput } from './output.ts';
import { ada, openRoom, until, watching } from './room.testing.ts';

const request = {
  tool: 'execute_code',
  language: 'bash',
  stdin: '',
  workingDir: null,
  timeoutMs: null,
  files: [],
} as const;

describe('a run that is not a call', () => {
  it('is recorded once it has begun, shows its output so far, and ends by itself', async () => {
    await using room = await openRoom();
    const code = 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two';
    const run = await room.executions.begin(ada, { ...request, workingDir: '/workspace', code }, watching());
    assert.equal((await room.executions.get(ada, run.id)).reason, 'running');
    await until(() => run.output.read(0, 100).text !== '');
    const first = run.output.read(0, 100);
    assert.deepEqual(first, { text: 'one\n', from: 0, next: 4, end: 4 });
    await run.moveToBackground('detached');
    assert.equal((await room.executions.get(ada, run.id)).background, 'detached');
    await room.run({ workingDir: '/workspace', code: 'touch go' });
    const { execution } = await run.ended;
    assert.deepEqual([execution.stdout, execution.background], ['one\ntwo\n', 'detached']);
    assert.equal(run.output.read(first.next, 100).text, 'two\n');
    assert.deepEqual(await room.executions.get(ada, run.id), execution);
  });

  it('ends when it is cancelled, and its record says by whom', async () => {
    await using room = await openRoom();
    const run = await room.executions.begin(ada, { ...request, code: 'sleep 20' }, watching());
    run.cancel('cancel_execution');
    const { execution } = await run.ended;
    assert.deepEqual([execution.reason, execution.cancelledBy], ['cancelled', 'cancel_execution']);
  });

  it('is cancelled when the room closes, and its record says so', async () => {
    const room = await openRoom();
    const control = { ...watching(), background: 'asked' as const };
    const run = await room.executions.begin(ada, { ...request, code: 'sleep 20' }, control);
    await room.executions[Symbol.asyncDispose]();
    const { reason, cancelledBy, background } = await room.executions.get(ada, run.id);
    assert.deepEqual([reason, cancelledBy, background], ['cancelled', 'stopped_server', 'asked']);
    await run.ended;
    await room[Symbol.asyncDispose]();
  });

  it('is refused by `begin` where nothing was recorded', async () => {
    await using room = await openRoom({ sandbox: 'None here.' });
    const begun = room.executions.begin(ada, { ...request, code: 'true' }, watching());
    await assert.rejects(begun, { code: 'sandbox_unavailable' });
  });
});

describe('the output of a run so far', () => {
  it('is kept in bounded memory, with offsets that stay true', () => {
    const output = createLiveOutput(10);
    for (let n = 0; n < 10; n++) output.add(`${n}234567\n`);
    const end = output.read(80, 100);
    assert.deepEqual(end, { text: '', from: 80, next: 80, end: 80 });
    const all = output.read(0, 100);
    assert.ok(all.from >= 60 && all.text.endsWith('9234567\n') && all.next === 80, JSON.stringify(all));
    assert.equal(output.read(75, 2).text, '45');
    output.add('last', 100);
    assert.deepEqual(output.read(80, 100), { text: 'last', from: 180, next: 184, end: 184 });
    assert.equal(output.read(1e9, 100).next, 184);
  });

  it('is told apart by streams, from any offset', () => {
    const output = createLiveOutput(100);
    output.add('out1 ');
    output.add('err1 ', 0, 'stderr');
    output.add('err2 ', 0, 'stderr');
    output.add('out2');
    const pieces = [
      { stream: 'stdout', text: 'out1 ' },
      { stream: 'stderr', text: 'err1 err2 ' },
      { stream: 'stdout', text: 'out2' },
    ];
    assert.deepEqual(output.readPieces(0, 100), { pieces, from: 0, next: 19, end: 19 });
    assert.deepEqual(output.readPieces(7, 3).pieces, [{ stream: 'stderr', text: 'r1 ' }]);
    output.add('x'.repeat(300), 0, 'stderr');
    assert.deepEqual(
      output.readPieces(0, 1000).pieces.map(({ stream }) => stream),
      ['stderr'],
    );
    for (let n = 0; n < 20_000; n++) output.add('-', 0, n % 2 === 0 ? 'stdout' : 'stderr');
    assert.ok(output.readPieces(0, 1000).pieces.length <= 200);
  });

  it('tells those who watch when there is more, and when it is over', () => {
    const output = createLiveOutput();
    let told = 0;
    {
      using _watching = output.watch(() => told++);
      output.add('a');
      assert.deepEqual([told, output.isOver()], [1, false]);
      output.finish();
      assert.deepEqual([told, output.isOver()], [2, true]);
    }
    output.finish();
    assert.equal(told, 2);
  });

  it('is never cut within a character', () => {
    const output = createLiveOutput();
    output.add('a😀b');
    assert.deepEqual(output.read(0, 2), { text: 'a', from: 0, next: 1, end: 4 });
    assert.equal(output.read(1, 2).text, '😀');
  });
});
