import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { OtherFile, WantedCrateFile } from './executions.ts';
import { ada, until } from './room.testing.ts';
import { openTools } from './tools.testing.ts';

test('the tools say what they may do', async () => {
  await using tools = await openTools();
  const listed = (await tools.client.listTools()).tools.map(({ name, annotations }) => [name, annotations]);
  const running = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };
  const looking = { readOnlyHint: true, openWorldHint: false };
  assert.deepEqual(listed, [
    ['execute_code', running],
    ['execute_bash', running],
    ['get_execution', looking],
    ['cancel_execution', { ...running, idempotentHint: true }],
    ['search_executions', looking],
  ]);
});

test('bad input is a schema error, nothing runs and nothing is recorded', async () => {
  await using tools = await openTools();
  const bad: Record<string, unknown>[] = [
    {},
    { language: 'ruby', code: '1' },
    { language: 'bash' },
    { language: 'bash', code: '' },
    { language: 'bash', code: 7 },
    { language: 'bash', code: 'x'.repeat(1024 ** 2 + 1) },
    { language: 'bash', code: '東'.repeat(400_000) },
    { language: 'bash', code: '1', timeout_ms: 0 },
    { language: 'bash', code: '1', timeout_ms: -1 },
    { language: 'bash', code: '1', timeout_ms: 1.5 },
    { language: 'bash', code: '1', timeout_ms: '5' },
    { language: 'bash', code: '1', working_dir: '' },
    { language: 'bash', code: '1', stdin: 'x'.repeat(2 * 1024 ** 2 + 1) },
    { language: 'bash', code: '1', stdin: 'é'.repeat(1024 ** 2 + 1) },
    { language: 'bash', code: '1', nonsense: true },
  ];
  for (const input of bad) {
    const refused = await tools.call('execute_code', input).then(
      ({ failed }) => failed,
      () => true,
    );
    assert.ok(refused, JSON.stringify(input).slice(0, 100));
  }
  for (const input of [
    {},
    { command: '' },
    { command: 'true', timeout: 0 },
    { command: 'true', timeout: 'x' },
    { command: 'true', timeout_ms: 0 },
    { command: 'true', timeout_ms: 1000, timeout: 1 },
  ]) {
    const refused = await tools.call('execute_bash', input).then(
      ({ failed }) => failed,
      () => true,
    );
    assert.ok(refused, JSON.stringify(input));
  }
  assert.deepEqual((await tools.room.executions.search(ada, { limit: 5 })).executions, []);
});

test('stdin, working_dir and a time beyond the most are taken, a session is not found', async () => {
  await using tools = await openTools();
  const input = {
    language: 'node',
    code: 'process.stdin.pipe(process.stdout)',
    stdin: 'ünï',
    timeout_ms: 1e12,
  };
  const { data, text } = await tools.call('execute_code', { ...input, working_dir: '/artifacts' });
  assert.equal(data.stdout, 'ünï');
  assert.match(text, /^Its limit was 30 s, the most that there is here, not \S/m);
  const brief = await tools.call('execute_code', { ...input, timeout_ms: 30_000 });
  assert.doesNotMatch(brief.text, /Its limit was/);
  const { limits, workingDir } = await tools.room.executions.get(ada, data.execution_id);
  assert.deepEqual([limits.timeoutMs, workingDir], [30_000, '/artifacts']);
  const session = await tools.call('execute_code', { language: 'bash', code: 'true', session_id: 's' });
  assert.match(session.text, /Leave session_id out/);
});

test('2 MB of stdin reach the program, and whoever has more is told of files', async () => {
  await using tools = await openTools();
  const stdin = 'x'.repeat(2 * 1024 ** 2);
  const code = 'let n = 0; process.stdin.on("data", (d) => (n += d.length)).on("end", () => console.log(n))';
  const { data } = await tools.call('execute_code', { language: 'node', code, stdin });
  assert.equal(data.stdout, `${stdin.length}\n`);
  const more = await tools.call('execute_code', { language: 'node', code, stdin: `${stdin}x` });
  assert.match(more.text, /stdin may have at most 2 MB.*request_upload.*files/);
});

test('execute_bash runs in /workspace, which is kept, with its time in ms or seconds', async () => {
  await using tools = await openTools();
  const first = await tools.call('execute_bash', { command: 'echo kept > note.txt' });
  assert.deepEqual(first.data.artifacts.created, ['note.txt']);
  assert.equal((await tools.call('execute_bash', { command: 'cat note.txt' })).data.stdout, 'kept\n');
  for (const time of [{ timeout: 0.3 }, { timeout_ms: 300 }]) {
    const { data } = await tools.call('execute_bash', { command: 'sleep 600', ...time });
    assert.deepEqual([data.timed_out, data.end_reason], [true, 'timeout']);
  }
  const late = await tools.call('execute_bash', { command: 'sleep 600', timeout: 0.3 });
  assert.equal(late.data.timed_out, true);
  assert.match(late.text, /timed out after [\d.]+ m?s: its limit is 300 ms \(SIG\w+\)\]/);
});

test('output comes as progress while the program runs', async () => {
  await using tools = await openTools();
  const { workspace } = await tools.room.places.of('ada');
  const go = join(workspace, 'go');
  const told: { progress: number; message?: string | undefined }[] = [];
  const first = Promise.withResolvers<void>();
  const command = `echo first; while [ ! -e go ]; do sleep 0.02; done; seq 1 2000; sleep 0.4; echo last`;
  const calling = tools.call(
    'execute_bash',
    { command },
    {
      onprogress: (progress) => {
        told.push(progress);
        first.resolve();
      },
    },
  );
  await first.promise;
  assert.equal(told[0]?.message, 'first\n');
  assert.ok(!existsSync(go));
  await tools.call('execute_bash', { command: 'touch go' });
  const { data } = await calling;
  assert.ok(told.length >= 2);
  assert.ok(told.every(({ message = '' }) => message.length <= 2000));
  assert.ok(told.slice(1).every(({ progress }, at) => progress > told[at]!.progress));
  assert.equal(data.exit_code, 0);
});

test('cancellation by the client ends the run', async () => {
  await using tools = await openTools();
  const cancel = new AbortController();
  const started = Promise.withResolvers<void>();
  const calling = tools.call(
    'execute_bash',
    { command: 'echo partly; sleep 100' },
    { signal: cancel.signal, onprogress: () => started.resolve() },
  );
  await started.promise;
  cancel.abort();
  await assert.rejects(calling);
  await until(async () => {
    const { executions } = await tools.room.executions.search(ada, { limit: 1 });
    return executions[0]?.reason !== 'running';
  });
  const { executions } = await tools.room.executions.search(ada, { limit: 1 });
  const { reason, stdout } = await tools.room.executions.get(ada, executions[0]!.id);
  assert.deepEqual([reason, stdout], ['cancelled', 'partly\n']);
});

test('a refused working_dir is an error with its code', async () => {
  await using tools = await openTools();
  const input = { language: 'bash', code: 'true', working_dir: '~/.ssh' };
  const { failed, result } = await tools.call('execute_code', input);
  assert.equal(failed, true);
  assert.deepEqual(result._meta?.['workcrate/error'], { code: 'path_refused', kind: 'protected' });
});

const crateId = `crate_${'0'.repeat(24)}`;

test('files of crates are put into the working directory, and get_execution tells where they came from', async () => {
  const asked: WantedCrateFile[] = [];
  const crateFiles = async (_context: unknown, wanted: readonly WantedCrateFile[]): Promise<OtherFile[]> => {
    asked.push(...wanted);
    return wanted.map(({ crateId: crate_id, path, name }) => ({
      name,
      origin: { crate_id, path },
      size: path.length,
      open: async function* () {
        yield Buffer.from(path);
      },
    }));
  };
  await using tools = await openTools({ crateFiles });
  const crate_files = [
    { crate_id: crateId, path: 'data/deep/a.csv' },
    { crate_id: crateId, path: 'data/b.csv', as: 'other.csv' },
  ];
  const { data } = await tools.call('execute_code', {
    language: 'bash',
    code: 'cat a.csv other.csv',
    crate_files,
  });
  assert.equal(data.stdout, 'data/deep/a.csvdata/b.csv');
  assert.deepEqual(
    asked.map(({ path, name }) => [path, name]),
    [
      ['data/deep/a.csv', 'a.csv'],
      ['data/b.csv', 'other.csv'],
    ],
  );
  const shown = await tools.call('get_execution', { execution_id: data.execution_id });
  const { inputs, limits } = shown.data;
  assert.deepEqual(inputs[1], {
    file_id: null,
    origin: { crate_id: crateId, path: 'data/b.csv' },
    name: 'other.csv',
    size: 10,
    sha256: createHash('sha256').update('data/b.csv').digest('hex'),
  });
  const from = `crate_id ${crateId}, path data/b\\.csv, sha256 ${inputs[1].sha256}`;
  assert.match(shown.text, new RegExp(`^Given: other\\.csv, 10 bytes, from ${from}$`, 'm'));
  assert.equal(limits.runtime, 'bash 1.0');
  const bash = await tools.call('execute_bash', { command: 'cat a.csv', crate_files: [crate_files[0]] });
  assert.equal(bash.data.stdout, 'data/deep/a.csv');
});

test('without crates there are no files of crates, and no more than 100 may be asked for', async () => {
  await using tools = await openTools();
  const one = { crate_id: crateId, path: 'a' };
  const none = await tools.call('execute_bash', { command: 'true', crate_files: [one] });
  assert.match(none.text, /no crates/);
  assert.equal((await tools.call('execute_bash', { command: 'true', crate_files: [] })).failed, false);
  for (const crate_files of [Array.from({ length: 101 }, () => one), [{ ...one, crate_id: 'x' }], [{}]])
    assert.equal((await tools.call('execute_bash', { command: 'true', crate_files })).failed, true);
});
