import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Sandbox } from '../../ports/sandbox/sandbox.ts';
import type { Changes } from './executions.ts';
import { unknownInputs, unknownResults } from '../../features/provenance/record.ts';
import { plainSandbox } from './plain-sandbox.testing.ts';
import { ada, emptySnapshot, openRoom, until, watching } from './room.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const programs = {
  python: 'import sys; print("out", sys.stdin.read()); print("err", file=sys.stderr); sys.exit(3)',
  node: 'process.stdin.on("data", (d) => console.log("out", String(d))); console.error("err"); process.exitCode = 3',
  bash: 'echo out $(cat); echo err >&2; exit 3',
} as const;

for (const [language, code] of Object.entries(programs) as [keyof typeof programs, string][]) {
  test(`${language}: output, exit code and record of a run`, async () => {
    await using room = await openRoom();
    const { execution } = await room.run({ language, code, stdin: 'in' });
    assert.match(execution.id, /^exec_[0-9a-f]{12}$/);
    assert.deepEqual(
      { ...execution, id: '', durationMs: 0, startedAt: 0, endedAt: 0, limits: null },
      {
        id: '',
        owner: 'ada',
        tool: 'execute_code',
        language,
        code,
        stdin: 'in',
        stdinBytes: 2,
        workingDir: `/workspace/${execution.id}`,
        reason: 'exit',
        succeeded: false,
        exitCode: 3,
        signal: null,
        startedAt: 0,
        durationMs: 0,
        endedAt: 0,
        stdout: 'out in\n',
        stderr: 'err\n',
        stdoutBytes: 7,
        stderrBytes: 4,
        truncated: false,
        stdoutFile: null,
        stderrFile: null,
        results: [],
        moreResults: 0,
        inputs: [],
        ...unknownInputs,
        ...unknownResults,
        resultFiles: { files: [], more: 0 },
        inputsMayBeIncomplete: false,
        artifacts: { created: [], modified: [], deleted: [], complete: true, removed: null },
        temporaryFiles: null,
        network: null,
        toolCalls: null,
        toolCallBytes: 0,
        background: null,
        cancelledBy: null,
        limits: null,
        sessionId: null,
        cell: null,
        state: null,
        script: null,
        guard: null,
        peakMemoryBytes: null,
        traceId: null,
      },
    );
    assert.deepEqual(await room.executions.get(ada, execution.id), execution);
  });
}

test('a signal, a timeout and a limit of the time that is clamped', async () => {
  await using room = await openRoom();
  const killed = await room.run({ code: 'kill -SEGV $$' });
  assert.deepEqual([killed.execution.reason, killed.execution.signal], ['signal', 'SIGSEGV']);
  await using hasty = await openRoom({ maxTimeoutMs: 300 });
  const late = await hasty.run({ code: 'sleep 600', timeoutMs: 99_999 });
  assert.deepEqual([late.execution.reason, late.execution.limits.timeoutMs], ['timeout', 300]);
  recordProof('D4:clamped');
});

test('what was said before the time was up is there', async () => {
  await using room = await openRoom();
  // The second is for a machine that is too busy to have begun by then.
  for (const timeoutMs of [300, 20_000]) {
    const { execution } = await room.run({ code: 'echo before; sleep 600', timeoutMs });
    assert.equal(execution.reason, 'timeout');
    if (execution.stdout === 'before\n') return;
  }
  assert.fail('it was not there');
});

test('the folder of a run is its own, is kept if anything is in it, and else removed', async () => {
  await using room = await openRoom();
  const { workspace } = await room.places.of('ada');
  const [empty, full] = [await room.run({ code: 'pwd' }), await room.run({ code: 'echo 1 > made.txt' })];
  assert.equal(empty.execution.stdout, `${join(workspace, empty.execution.id)}\n`);
  assert.deepEqual(readdirSync(workspace), [full.execution.id]);
  assert.deepEqual(full.execution.artifacts.created, ['made.txt']);
});

test('two runs in one working_dir do not collide, and leave no script behind', async () => {
  await using room = await openRoom();
  const code = 'echo $0 > $RANDOM$RANDOM.txt; sleep 0.1; ls | wc -l';
  const runs = await Promise.all([1, 2].map(() => room.run({ code, workingDir: 'shared' })));
  assert.deepEqual(
    runs.map(({ execution }) => execution.exitCode),
    [0, 0],
  );
  const { workspace } = await room.places.of('ada');
  assert.equal(readdirSync(join(workspace, 'shared')).length, 2);
});

test('where runs have a uid, what the server makes for them is theirs', { skip: notRoot() }, async () => {
  await using room = await openRoom({ uids: { from: 200_000, to: 200_010 } });
  for (const folder of [room.data, join(room.data, 'places')]) chmodSync(folder, 0o755);
  const { workspace } = await room.places.of('ada');
  await room.run({ code: 'true', workingDir: 'a/b/c' });
  for (const below of ['.', 'a', 'a/b', 'a/b/c'])
    assert.equal(statSync(join(workspace, below)).uid, 200_000, below);
  const { execution } = await room.run({ code: 'touch x' });
  assert.equal(statSync(join(workspace, execution.id)).uid, 200_000);
});

test('files of the working folder are named from there, those of /artifacts by their path', async () => {
  await using room = await openRoom();
  const first = await room.run({
    code: 'mkdir -p a; echo 1 > a/x; echo 1 > $ARTIFACTS/p.svg',
    workingDir: 'w',
  });
  assert.deepEqual(first.execution.artifacts.created, ['a/x', '/artifacts/p.svg']);
  const second = await room.run({ code: 'echo 22 > a/x; rm $ARTIFACTS/p.svg; echo 1 > b', workingDir: 'w' });
  assert.deepEqual(second.execution.artifacts, {
    created: ['b'],
    modified: ['a/x'],
    deleted: ['/artifacts/p.svg'],
    complete: true,
    removed: null,
  });
  const third = await room.run({ code: 'echo 1 > q.svg', workingDir: '/artifacts' });
  assert.deepEqual(third.execution.artifacts.created, ['q.svg']);
});

test('a run that puts a link in the place of its folder learns nothing of where that leads', async () => {
  await using room = await openRoom();
  const code = 'cd ..; rmdir "$OLDPWD"; ln -s /etc "$OLDPWD"; rm -rf $ARTIFACTS/*; ln -s /etc $ARTIFACTS/etc';
  const { execution } = await room.run({ code });
  assert.equal(execution.exitCode, 0);
  assert.deepEqual(execution.artifacts.created, []);
});

test('limits that a backend does not hold are named', async () => {
  await using sandbox = plainSandbox({ holds: { memory: 'no cgroup', network: 'no namespace' } });
  await using room = await openRoom({ sandbox });
  const { execution } = await room.run({});
  assert.deepEqual(execution.limits.unenforced, ['network', 'memory']);
});

test('a run that the client cancels is killed, and its record says so', async () => {
  await using room = await openRoom();
  const cancel = new AbortController();
  const request = {
    tool: 't',
    language: 'bash',
    stdin: '',
    workingDir: null,
    timeoutMs: null,
    files: [],
  } as const;
  const { workspace } = await room.places.of('ada');
  const code = 'echo partly; echo $$ > ../pid; sleep 100 & wait';
  const running = room.executions.run(ada, { ...request, code }, watching(cancel.signal));
  await until(() => existsSync(join(workspace, 'pid')));
  cancel.abort();
  const { execution } = await running;
  assert.deepEqual([execution.reason, execution.succeeded], ['cancelled', false]);
  assert.equal((await room.executions.get(ada, execution.id)).reason, 'cancelled');
  await assert.rejects(room.executions.run(ada, { ...request, code }, watching(cancel.signal)), /abort/i);
});

test('a run that cannot be started is recorded as refused, and its folder is gone', async () => {
  const refuse = new WorkcrateError('sandbox_busy', 'Too many runs wait. Try again later.');
  await using sandbox = plainSandbox({ refuse });
  await using room = await openRoom({ sandbox });
  await assert.rejects(room.run({}), { code: 'sandbox_busy' });
  const { executions } = await room.executions.search(ada, { limit: 10 });
  assert.deepEqual(
    executions.map(({ reason }) => reason),
    ['refused'],
  );
  const { workspace } = await room.places.of('ada');
  assert.deepEqual(readdirSync(workspace), []);
});

test('a run that cannot be recorded is ended', async () => {
  await using room = await openRoom();
  await room.database.query('DROP TABLE executions');
  await assert.rejects(room.run({ code: 'sleep 100' }), { code: 'database_failed' });
});

test('a run whose sandbox breaks under it is lost, and is ended', async () => {
  await using plain = plainSandbox();
  const start: Sandbox['start'] = async (request) => {
    const run = await plain.start(request);
    return { ...run, stdout: broken(run.stdout) };
  };
  await using room = await openRoom({ sandbox: { ...plain, start } });
  await assert.rejects(room.run({ code: 'echo 1; exec sleep 100' }), /pipe is gone/);
  const { executions } = await room.executions.search(ada, { limit: 10 });
  const lost = await Promise.all(executions.map(({ id }) => room.executions.get(ada, id)));
  assert.deepEqual(
    lost.map(({ reason, artifacts }) => [reason, artifacts.complete]),
    [['lost', false]],
  );
  assert.equal(plain.occupancy().running, 0);
});

async function* broken(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    throw new Error('The pipe is gone.');
  }
}

test('a run that is cancelled while it waits for its turn is recorded as cancelled', async () => {
  await using plain = plainSandbox();
  const start: Sandbox['start'] = ({ signal }) =>
    new Promise((_, reject) => {
      const cancelled = (): void => reject(new WorkcrateError('cancelled', 'Cancelled.'));
      signal.addEventListener('abort', cancelled);
    });
  await using room = await openRoom({ sandbox: { ...plain, start } });
  const cancel = new AbortController();
  const request = {
    tool: 't',
    language: 'bash',
    code: 'x',
    stdin: '',
    workingDir: null,
    timeoutMs: null,
    files: [],
  } as const;
  const running = room.executions.run(ada, request, watching(cancel.signal));
  setTimeout(() => cancel.abort(), 20);
  await assert.rejects(running, { code: 'cancelled' });
  const { executions } = await room.executions.search(ada, { limit: 10 });
  assert.deepEqual(
    executions.map(({ reason }) => reason),
    ['cancelled'],
  );
});

test('what is under way when the server ends is cancelled and recorded', async () => {
  await using room = await openRoom();
  const { workspace } = await room.places.of('ada');
  const running = room.run({ code: 'touch started; sleep 100', workingDir: '/workspace' });
  await until(() => existsSync(join(workspace, 'started')));
  await room.executions[Symbol.asyncDispose]();
  const { execution } = await running;
  assert.equal((await room.executions.get(ada, execution.id)).reason, 'cancelled');
});

test('a journal that cannot be written costs nobody the result', async () => {
  await using room = await openRoom();
  writeFileSync(join(room.data, 'logs'), 'in the way');
  const { execution } = await room.run({ code: 'echo kept' });
  assert.equal((await room.executions.get(ada, execution.id)).stdout, 'kept\n');
  assert.ok(room.log.some(({ event }) => event === 'execution.not_in_journal'));
});

test('long names do not fill the record: 64 KB of them are listed, and it says that there are more', async () => {
  const long = (kind: string): string[] =>
    Array.from({ length: 900 }, (_, at) => `${kind}${at}-${'\x01é'.repeat(100)}`);
  const names = { created: ['first', ...long('c')], modified: long('m'), deleted: long('d') };
  const omitted = { created: 0, modified: 0, deleted: 0 };
  const changes: Changes = {
    snapshot: async () => emptySnapshot,
    difference: () => ({ ...names, omitted, complete: true }),
  };
  await using room = await openRoom({ changes });
  const { execution } = await room.run({ workingDir: '/artifacts' });
  const { created, modified, deleted, complete } = execution.artifacts;
  const bytes = Buffer.byteLength(JSON.stringify([created, modified, deleted]));
  assert.ok(created[0] === 'first' && bytes > 32 * 1024 && bytes < 66 * 1024, `${bytes}`);
  assert.equal(complete, false);
  assert.deepEqual((await room.executions.get(ada, execution.id)).artifacts, execution.artifacts);
});

test('names that take less than 64 KB are all listed', async () => {
  const names = Array.from({ length: 900 }, (_, at) => `plain-${at}`);
  const omitted = { created: 0, modified: 0, deleted: 0 };
  const found = { created: names, modified: names, deleted: names, omitted, complete: true };
  await using room = await openRoom({
    changes: { snapshot: async () => emptySnapshot, difference: () => found },
  });
  const { execution } = await room.run({ workingDir: '/artifacts' });
  assert.deepEqual(execution.artifacts, {
    created: names,
    modified: names,
    deleted: names,
    complete: true,
    removed: null,
  });
});

test('files that cannot be compared cost nobody the result', async () => {
  let looks = 0;
  const changes: Changes = {
    snapshot: async () => {
      if (++looks > 2) throw new Error('too many folders');
      return emptySnapshot;
    },
    difference: () => assert.fail(),
  };
  await using room = await openRoom({ changes });
  const { execution } = await room.run({ code: 'echo kept' });
  assert.deepEqual([execution.stdout, execution.artifacts.complete], ['kept\n', false]);
});

test('without a sandbox nothing runs, and the answer says what would help', async () => {
  await using room = await openRoom({ sandbox: 'Install bubblewrap.' });
  await assert.rejects(room.run({}), { code: 'sandbox_unavailable', message: /Install bubblewrap/ });
  await using sandbox = plainSandbox();
  await using other = await openRoom({ sandbox: { ...sandbox, languages: ['bash'] } });
  await assert.rejects(other.run({ language: 'python' }), { code: 'sandbox_unavailable', message: /bash/ });
});

test('the log tells of each run and holds neither code nor output', async () => {
  await using room = await openRoom();
  const { execution } = await room.run({ code: 'echo se"cr"et' });
  const ended = room.log.filter(({ event }) => event === 'execution.ended');
  assert.deepEqual(
    ended.map(({ id, user, language, reason }) => [id, user, language, reason]),
    [[execution.id, 'ada', 'bash', 'exit']],
  );
  assert.doesNotMatch(JSON.stringify(room.log), /secret|cr"/);
});

test('what leads through a link is refused and noted, and nothing runs', async () => {
  await using room = await openRoom();
  const { workspace } = await room.places.of('ada');
  mkdirSync(join(workspace, 'inner'));
  symlinkSync('/etc', join(workspace, 'out'));
  symlinkSync('../../..', join(workspace, 'up'));
  symlinkSync('inner', join(workspace, 'in'));
  for (const workingDir of [
    'out',
    '/workspace/out',
    '/workspace/out/ssl',
    'up',
    'up/logs',
    '/workspace/in',
    '/etc',
    '~/.ssh',
  ]) {
    await assert.rejects(room.run({ workingDir }), { code: 'path_refused' }, workingDir);
    assert.equal(room.log.at(-1)?.['event'], 'security.path_refused');
  }
  assert.deepEqual((await room.executions.search(ada, { limit: 10 })).executions, []);
  const { execution } = await room.run({ workingDir: '/workspace/inner', code: 'pwd' });
  assert.equal(execution.workingDir, '/workspace/inner');
});

function notRoot(): string | false {
  return process.getuid?.() === 0 ? false : 'only root can give folders away';
}

test('how much of an output is shown is a setting, also where most of it is passed over', async () => {
  await using room = await openRoom({ outputBounds: { most: 100, head: 10, tail: 20 } });
  const short = await room.run({ code: 'printf "%0100d" 0' });
  assert.deepEqual([short.execution.stdout.length, short.execution.truncated], [100, false]);
  for (const count of [101, 300_000]) {
    const code = `head -c ${count} /dev/zero | tr '\\0' x`;
    const { execution, spooled } = await room.run({ code });
    const cut = `${'x'.repeat(10)}\n[... truncated ${count - 30} chars ...]\n${'x'.repeat(20)}`;
    assert.deepEqual([execution.stdout, execution.truncated], [cut, true]);
    assert.equal(spooled.stdout?.file?.size, count);
    assert.equal((await room.executions.get(ada, execution.id)).stdout, cut);
  }
});
