import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isWorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import { plainSandbox } from '../plain-sandbox.testing.ts';
import { ada, bob } from '../room.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { endUserSessions } from './sessions.ts';
import { openSessionRoom } from './room.testing.ts';

const opened = (more: Partial<Parameters<typeof openSessionRoom>[0]> = {}) =>
  openSessionRoom({ sandbox: plainSandbox(), ...more });

const withCode = (code: ErrorCode, text: RegExp) => (error: unknown) => {
  assert.ok(isWorkcrateError(error, code), String(error));
  assert.match(error.message, text);
  return true;
};

test('a name makes a session, and what a cell leaves is there for the next', async () => {
  await using room = await opened();
  const first = await room.send('work', 'x=40; cd /', { new: 'bash' });
  const second = await room.send('work', 'echo $((x + 2)); pwd');
  assert.equal(second.stdout, '42\n/\n');
  assert.deepEqual([first.sessionId, first.cell, first.state], [second.sessionId, 1, 'kept']);
  assert.equal(second.cell, 2);
  assert.match(first.slot.notes.join(), /This is a new session/);
  assert.deepEqual(second.slot.notes, []);
  assert.equal(first.workingDir, `/workspace/${first.sessionId}`);
  const byId = await room.send(first.sessionId!, 'echo $x');
  assert.equal(byId.stdout, '40\n');
  const [listed] = await room.sessions.list(ada);
  assert.deepEqual([listed!.name, listed!.state, listed!.cells], ['work', 'open', 3]);
});

test('cells that come at once run in the order in which they came', async () => {
  await using room = await opened();
  const { id } = await room.sessions.start(ada, { language: 'bash', name: null, workingDir: null });
  const runs = await Promise.all(
    ['sleep 0.2; list=a', 'list=$list.b', 'list=$list.c; echo $list'].map((code) => room.send(id, code)),
  );
  assert.deepEqual(
    runs.map(({ cell }) => cell),
    [1, 2, 3],
  );
  assert.equal(runs[2]!.stdout, 'a.b.c\n');
});

test('two calls with one new name make one session', async () => {
  await using room = await opened();
  const both = await Promise.all([
    room.send('one', 'y=1', { new: 'bash' }),
    room.send('one', 'y=1', { new: 'bash' }),
  ]);
  assert.equal(both[0].sessionId, both[1].sessionId);
});

test('a user has at most so many, and is told so in the words that programs know', async () => {
  await using room = await opened({ mostOfUser: 2 });
  const start = (name: string | null = null, caller = ada) =>
    room.sessions.start(caller, { language: 'bash', name, workingDir: null });
  const [first] = await Promise.all([start('a'), start()]);
  const full = withCode(
    'quota_exceeded',
    /^Maximum 2 concurrent sessions reached\. Close a session first\.$/,
  );
  await assert.rejects(start(), full);
  await start(null, bob);
  await room.sessions.close(ada, first.id);
  await start('a');
  await assert.rejects(start('b'), full);
  await assert.rejects(start('a'), withCode('already_exists', /open session a already/));
});

test('an id of another user is as unknown as one that was made up', async () => {
  await using room = await opened();
  const { id } = await room.sessions.start(ada, { language: 'bash', name: 'mine', workingDir: null });
  const unknown = withCode('not_found', /You have no session of this id or name/);
  await assert.rejects(room.send(id, 'true', {}, bob), unknown);
  await assert.rejects(room.send('sess_000000000000', 'true', {}, bob), unknown);
  await assert.rejects(room.send('mine', 'true', {}, bob), unknown);
  await assert.rejects(room.sessions.close(bob, id), unknown);
  await assert.rejects(room.sessions.interrupt(bob, id), unknown);
  await assert.rejects(room.sessions.replay(bob, id, null, AbortSignal.timeout(1000)), unknown);
  assert.deepEqual(await room.sessions.list(bob), []);
});

test('names are plain, and none looks like an id', async () => {
  await using room = await opened();
  for (const name of ['', '.a', '-', 'a b', 'ä', 'a/b', 'sess_1', 'x'.repeat(65)])
    await assert.rejects(
      room.send(name, 'true', { new: 'bash' }),
      withCode('invalid_input', /letters, digits, dots/),
      name,
    );
});

test('another language is refused, and reset begins anew', async () => {
  await using room = await opened();
  const first = await room.send('s', 'x=1', { new: 'bash' });
  await assert.rejects(
    room.send('s', 'true', { new: 'node' }),
    withCode('invalid_input', /runs bash, not node\. Use language bash/),
  );
  const anew = await room.send('s', 'echo "[$x]"', { new: 'bash', reset: true });
  assert.equal(anew.stdout, '[]\n');
  assert.notEqual(anew.sessionId, first.sessionId);
  assert.match(anew.slot.notes.join(), /Begun anew: sess_[0-9a-f]{12} \(s\) was closed/);
});

test('code that ends its interpreter loses the state, and every later answer says why', async () => {
  await using room = await opened();
  const last = await room.send('s', 'exit 3', { new: 'bash' });
  assert.deepEqual([last.state, last.exitCode], ['lost', 3]);
  assert.equal(last.slot.explainLoss(), 'the code ended its interpreter with exit code 3');
  await assert.rejects(
    room.send(last.sessionId!, 'true'),
    withCode('session_ended', /is over: the code ended its interpreter with exit code 3\. .* action replay/),
  );
  const next = await room.send('s', 'echo here', { new: 'bash' });
  assert.match(next.slot.notes.join(), /ended because the code ended its interpreter.*run its 1 cells again/);
});

test('a cell that is out of time is interrupted; the state is kept if that stops it', async () => {
  await using room = await opened();
  const slow = await room.send('s', 'x=5; sleep 30', { new: 'bash', timeoutMs: 200 });
  assert.deepEqual([slow.reason, slow.state], ['timeout', 'kept']);
  assert.equal((await room.send('s', 'echo $x')).stdout, '5\n');
});

test('an interpreter that is killed between two cells is not taken to be alive', async () => {
  await using room = await opened();
  const { sessionId } = await room.send('s', '(sleep 0.1; kill -9 $$) & disown', { new: 'bash' });
  await eventually(async () => (await room.sessions.list(ada))[0]!.state === 'ended');
  await assert.rejects(
    room.send(sessionId!, 'true'),
    withCode('session_ended', /SIGKILL ended its interpreter/),
  );
});

test('a session that nobody uses is ended by a timer, without any further call', async () => {
  await using room = await opened({ idleMs: 300 });
  await room.send('s', 'sleep 0.5; mkdir kept', { new: 'bash' });
  await eventually(() => room.sessions.openCount() === 0);
  const [listed] = await eventuallyEnded(room);
  assert.deepEqual([listed!.end!.reason, listed!.end!.text], ['idle', 'nobody used it for 300 ms']);
});

test('a clock that jumps by hours ends no session that was used just now', async () => {
  let now = Date.now();
  await using room = await opened({ idleMs: 10_000, clock: () => now });
  await room.send('s', 'true', { new: 'bash' });
  now += 2 * 3_600_000;
  // The timer notes the use once it has looked who is idle.
  await eventually(async () => {
    const [row] = await room.room.database.query('SELECT cells FROM sessions');
    return row!['cells'] === 1;
  });
  assert.equal(room.sessions.openCount(), 1);
});

const eventuallyEnded = async (room: Awaited<ReturnType<typeof opened>>) => {
  await eventually(async () => (await room.sessions.list(ada))[0]!.state === 'ended');
  return room.sessions.list(ada);
};

test('the sessions of a removed user end', async () => {
  await using room = await opened({ idleMs: 2000 });
  await room.send('s', 'true', { new: 'bash' });
  assert.equal(await room.room.database.transaction((tx) => endUserSessions(tx, 'ada', Date.now())), 1);
  await eventually(() => room.sessions.openCount() === 0);
  assert.equal((await room.sessions.list(ada))[0]!.end!.reason, 'user_removed');
});

test('what a server had open when it crashed is lost, and is told so to who goes on', async () => {
  await using room = await opened();
  const { sessionId } = await room.send('s', 'x=1', { new: 'bash' });
  await using after = room.another();
  assert.equal(await after.recover(), 1);
  const lost = /the server ended unexpectedly and was started again/;
  await assert.rejects(
    after.enter(ada, { session: sessionId!, language: 'bash', reset: false }),
    withCode('session_ended', lost),
  );
  const slot = await after.enter(ada, { session: 's', language: 'bash', reset: false });
  assert.match(slot.notes.join(), lost);
  assert.match(
    slot.notes.join(),
    new RegExp(`manage_session with session_id ${sessionId} and action replay`),
  );
  slot.release();
});

test('a call that reaches another server is told where the session is', async () => {
  await using room = await opened();
  const { sessionId } = await room.send('s', 'x=1', { new: 'bash' });
  await using other = room.another({ server: 'other' });
  for (const session of [sessionId!, 's'])
    await assert.rejects(
      other.enter(ada, { session, language: 'bash', reset: false }),
      withCode('session_elsewhere', /open on another server of this installation/),
    );
  assert.ok((await other.list(ada))[0]!.isElsewhere);
});

test('the log of a session has a line for each event and each cell', async () => {
  await using room = await opened();
  const { sessionId } = await room.send('s', 'echo secret', { new: 'bash' });
  await room.sessions.close(ada, 's');
  const path = join(room.room.data, 'logs', `session-${sessionId}.jsonl`);
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['opened', 'cell', 'ended'],
  );
  assert.deepEqual([lines[1].cell, lines[1].code, lines[1].state], [1, 'echo secret', 'kept']);
  assert.equal(lines[2].reason, 'closed');
});

test('logs and rows go when the records of failures do', async () => {
  let now = Date.now();
  await using room = await opened({ clock: () => now });
  await room.send('s', 'true', { new: 'bash' });
  await room.sessions.close(ada, 's');
  assert.equal(await room.sessions.sweep(), 0);
  now += 91 * 86_400_000;
  // A clock that jumps is believed only after a while.
  await room.room.database.query('UPDATE trusted_clock SET believed_at = ?', now);
  assert.equal(await room.sessions.sweep(), 1);
  assert.deepEqual(await room.room.database.query('SELECT id FROM sessions'), []);
  recordProof('D11:log-kept-as-long-as-failures');
});

test('the cells of a session that was lost are run again, and what differs is told', async () => {
  await using room = await opened();
  await room.send('s', 'x=1; pwd', { new: 'bash' });
  await room.send('s', 'date +%N; echo "$x" >> log');
  await room.send('s', 'echo $x; false');
  await room.send('s', 'exit 9');
  const replay = await room.sessions.replay(ada, 's', 'again', AbortSignal.timeout(10_000));
  assert.equal(replay.cells, 3);
  assert.deepEqual(
    replay.different.map(({ cell, fields }) => [cell, fields]),
    [[2, ['stdout']]],
  );
  assert.match(replay.notes.join(), /Cell 4 was left out: the session ended with it/);
  assert.equal((await room.send('again', 'echo $x')).stdout, '1\n');
});

test('a replay has folders of its own: it overwrites nothing, and compares every file by its bytes', async () => {
  await using room = await opened();
  const { artifacts, workspace } = await room.room.places.of('ada');
  const replays = join(artifacts, '../replays');
  await room.send('s', 'echo $RANDOM$RANDOM > "$ARTIFACTS/random"; echo same > "$ARTIFACTS/same"', {
    new: 'bash',
  });
  await room.send(
    's',
    'echo $RANDOM$RANDOM > own; cat same-one 2> /dev/null; echo "$RANDOM$RANDOM" >/dev/null',
  );
  const own = join(workspace, (await room.sessions.list(ada))[0]!.id, 'own');
  const first = [join(artifacts, 'random'), own].map((path) => readFileSync(path, 'utf8'));
  const { record, different, notes } = await room.sessions.replay(
    ada,
    's',
    'again',
    AbortSignal.timeout(10_000),
  );
  assert.deepEqual(
    different.map(({ cell, fields, files }) => [cell, fields, files]),
    [
      [1, ['files'], ['/artifacts/random']],
      [2, ['files'], [`${record.folder}/own`]],
    ],
  );
  assert.deepEqual(notes, []);
  assert.deepEqual(
    [join(artifacts, 'random'), own].map((path) => readFileSync(path, 'utf8')),
    first,
  );
  const cell = await room.send('again', 'cat "$ARTIFACTS/same"; echo more > "$ARTIFACTS/same"');
  assert.equal(cell.stdout, 'same\n');
  assert.match(cell.slot.notes.join(), /its \/workspace and \/artifacts are its own/);
  assert.equal(readFileSync(join(artifacts, 'same'), 'utf8'), 'same\n');
  const made = cell.resultFiles!.files[0]!;
  assert.ok(await room.room.provenance.findResult(ada, cell.id, made), 'kept with the results of its user');
  assert.deepEqual(readdirSync(replays), [record.id]);
  await room.sessions.close(ada, 'again');
  assert.deepEqual(readdirSync(replays), []);
  recordProof('D20:replay-in-folders-of-its-own');
});

test('a replay gives cells what they read then, by its hash, though it has changed since; or says that it is gone', async () => {
  await using room = await opened();
  const { workspace, artifacts } = await room.room.places.of('ada');
  await room.room.run({ code: 'echo one > data.txt; echo two > other.txt', workingDir: '/workspace/shared' });
  writeFileSync(join(workspace, 'shared', 'nobody.txt'), 'three\n');
  const { id } = await room.sessions.start(ada, {
    language: 'bash',
    name: 's',
    workingDir: '/workspace/shared',
  });
  await room.send(id, 'cat data.txt other.txt nobody.txt');
  writeFileSync(join(workspace, 'shared', 'data.txt'), 'changed\n');
  writeFileSync(join(workspace, 'shared', 'nobody.txt'), 'changed\n');
  const { different, notes } = await room.sessions.replay(ada, 's', null, AbortSignal.timeout(10_000));
  assert.deepEqual(
    different.map(({ fields }) => fields),
    [['exit_code', 'stdout', 'stderr']],
  );
  assert.deepEqual(notes, [
    'Cell 1 had /workspace/shared/nobody.txt, which it has not now: the file was changed since.',
  ]);
  assert.equal(readFileSync(join(workspace, 'shared', 'data.txt'), 'utf8'), 'changed\n');
  assert.deepEqual(readdirSync(artifacts), []);
});

test('folders of a replay that a crash has left are removed at the next start', async () => {
  await using room = await opened();
  await room.send('s', 'true', { new: 'bash' });
  const { record } = await room.sessions.replay(ada, 's', null, AbortSignal.timeout(10_000));
  const { workspace } = await room.room.places.of('ada');
  const left = join(workspace, '../replays', 'sess_000000000000');
  mkdirSync(join(left, 'workspace'), { recursive: true });
  await using another = room.another({ server: 'other' });
  await another.recover();
  assert.deepEqual(readdirSync(join(workspace, '../replays')), [record.id]);
});

test('closing while a cell runs ends it, and its answer says that the session was closed', async () => {
  await using room = await opened();
  const { id } = await room.sessions.start(ada, { language: 'bash', name: null, workingDir: null });
  const running = room.send(id, 'sleep 30');
  await eventually(async () => (await room.sessions.list(ada))[0]!.cells === 1);
  await room.sessions.close(ada, id);
  const { state, slot } = await running;
  assert.deepEqual([state, slot.explainLoss()], ['lost', 'it was closed']);
});

for (const how of ['close', 'reset'] as const)
  test(`a session whose end cannot be recorded ends all the same (${how}), the call says so, and the row follows`, async () => {
    await using room = await opened();
    const { sessionId, slot } = await room.send('work', 'echo $$', { new: 'bash' });
    const id = sessionId!;
    await room.room.database.query('ALTER TABLE sessions RENAME COLUMN slot TO place');
    const call =
      how === 'close'
        ? room.sessions.close(ada, id)
        : room.sessions.enter(ada, { session: 'work', language: null, reset: true });
    await assert.rejects(call, withCode('database_failed', /is closed, but .* not recorded yet/));
    await assert.rejects(
      slot.run({
        code: '',
        stdin: '',
        timeoutMs: 1,
        startedAt: 1,
        signal: AbortSignal.timeout(1),
        network: null,
      }),
      withCode('session_ended', /over/),
    );
    assert.equal(room.sessions.openCount(), 0);
    await room.room.database.query('ALTER TABLE sessions RENAME COLUMN place TO slot');
    await eventually(async () => {
      const rows = await room.room.database.query('SELECT state, reason, slot FROM sessions');
      return rows[0]!['state'] === 'closed' && rows[0]!['slot'] === null;
    });
    const [listed] = await room.sessions.list(ada);
    assert.equal(listed!.end!.reason, how === 'close' ? 'closed' : 'reset');
  });

test('after a crash a session has as many cells as ran', async () => {
  await using room = await opened();
  await room.send('work', 'a=1', { new: 'bash' });
  await room.send('work', 'a=2');
  const next = room.another();
  assert.equal(await next.recover(), 1);
  const [listed] = await next.list(ada);
  assert.equal(listed!.cells, 2);
  await next[Symbol.asyncDispose]();
});
