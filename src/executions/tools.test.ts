import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { Client, InMemoryTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { createServerFactory } from '../mcp/server.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import type { OtherFile, WantedCrateFile } from './executions.ts';
import { plainSandbox } from './plain-sandbox.testing.ts';
import { ada, openRoom, plenty, until, type RoomOptions } from './room.testing.ts';

/** The tools behind a real MCP server and client. */
async function openTools(options: RoomOptions = {}) {
  await using opened = new AsyncDisposableStack();
  const room = opened.use(await openRoom(options));
  const factory = createServerFactory({
    structured: true,
    tools: room.tools,
    metrics: createMetrics(),
    log: createLog('off'),
    sharesMachine: false,
    caller: ada,
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = await factory({} as Parameters<typeof factory>[0]);
  await server.connect(far);
  const client = new Client({ name: 'tools', version: '1' });
  await client.connect(near);
  opened.defer(() => client.close());
  const all = opened.move();
  return {
    room,
    client,
    async call(name: string, args: Record<string, unknown>, how: Parameters<Client['callTool']>[1] = {}) {
      const result = (await client.callTool({ name, arguments: args }, how)) as CallToolResult;
      const [first] = result.content;
      // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
      const data = result.structuredContent as any;
      return {
        result,
        data,
        text: first?.type === 'text' ? first.text : '',
        failed: result.isError === true,
      };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('the tools say what they may do', async () => {
  await using tools = await openTools();
  const listed = (await tools.client.listTools()).tools.map(({ name, annotations }) => [name, annotations]);
  const running = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  const looking = { readOnlyHint: true, openWorldHint: false };
  assert.deepEqual(listed, [
    ['execute_code', running],
    ['execute_bash', running],
    ['get_execution', looking],
    ['search_executions', looking],
  ]);
});

test('a result has all fields, and a program that failed is no error of the tool', async () => {
  await using tools = await openTools();
  const code = 'echo out; echo err >&2; echo 1 > "$ARTIFACTS/plot.svg"; exit 7';
  const { data, text, failed } = await tools.call('execute_code', { language: 'bash', code });
  assert.equal(failed, false);
  const { execution_id: id, duration_ms: ms, ...rest } = data;
  assert.match(id, /^exec_[0-9a-f]{12}$/);
  assert.deepEqual(rest, {
    language: 'bash',
    stdout: 'out\n',
    stderr: 'err\n',
    exit_code: 7,
    signal: null,
    timed_out: false,
    truncated: false,
    end_reason: 'exit',
    artifacts: { created: ['/artifacts/plot.svg'], modified: [], deleted: [], complete: true },
    unenforced: [],
    hint: null,
    full_stdout: null,
    full_stderr: null,
  });
  assert.equal(
    text,
    `out\n--- stderr ---\nerr\n[${id}: exit code 7 after ${ms} ms]\nCreated: /artifacts/plot.svg`,
  );
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
  const { data } = await tools.call('execute_code', { ...input, working_dir: '/artifacts' });
  assert.equal(data.stdout, 'ünï');
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

test('execute_bash runs in /workspace, which is kept, with its time in seconds', async () => {
  await using tools = await openTools();
  const first = await tools.call('execute_bash', { command: 'echo kept > note.txt' });
  assert.deepEqual(first.data.artifacts.created, ['note.txt']);
  assert.equal((await tools.call('execute_bash', { command: 'cat note.txt' })).data.stdout, 'kept\n');
  const late = await tools.call('execute_bash', { command: 'sleep 600', timeout: 0.3 });
  assert.equal(late.data.timed_out, true);
  assert.match(late.text, /timed out after [\d.]+ m?s: its limit is 300 ms\]/);
});

test('long output is cut, and all of it can be had by link', async () => {
  await using tools = await openTools();
  const code = 'import sys\nsys.stdout.write("é" * 30000)\nsys.stderr.write("x" * 10001)';
  const { data, text, result } = await tools.call('execute_code', { language: 'python', code });
  assert.equal(data.truncated, true);
  assert.equal(data.stdout, `${'é'.repeat(4000)}\n[... truncated 22000 chars ...]\n${'é'.repeat(4000)}`);
  assert.equal(data.full_stdout.filename, `${data.execution_id}.stdout.txt`);
  assert.deepEqual([data.full_stdout.size, data.full_stderr.size], [60_000, 10_001]);
  assert.match(text, new RegExp(`Full stdout: .*curl -fL -o \\S+ ${data.full_stdout.downloadUrl}`));
  assert.equal(result.content.filter(({ type }) => type === 'resource_link').length, 2);
  const { download } = await tools.room.links.resolve(data.full_stdout.token);
  assert.equal(download.sha256, data.full_stdout.sha256);
  const { stdoutFile } = await tools.room.executions.get(ada, data.execution_id);
  const stored = await tools.room.files.find(ada, stdoutFile!);
  await using object = await tools.room.files.open(stored!);
  assert.equal((await buffer(object!.read(0, object!.size))).toString(), 'é'.repeat(30_000));
});

test('a run whose full output is over quota still gives its result, and says why there is no link', async () => {
  await using tools = await openTools({ quotas: { ...plenty, userBytes: 20_000 } });
  const code = 'head -c 50000 /dev/zero | tr "\\0" x; exit 4';
  const { data, text, failed } = await tools.call('execute_code', { language: 'bash', code });
  assert.equal(failed, false);
  assert.deepEqual([data.exit_code, data.truncated, data.full_stdout], [4, true, null]);
  assert.match(text, /The full stdout could not be stored: Over quota/);
});

test('output beyond the most that is kept is dropped, and the answer says so', async () => {
  await using tools = await openTools({ outputBytes: 20_000 });
  const { data, text } = await tools.call('execute_bash', {
    command: 'head -c 50000 /dev/zero | tr "\\0" x',
  });
  assert.equal(data.full_stdout.size, 20_000);
  assert.match(text, /Only the start of stdout was kept; the last 29\.3 KB were dropped/);
  assert.match(data.stdout, /truncated 42000 chars/);
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

test('get_execution and search_executions tell of earlier runs', async () => {
  await using tools = await openTools();
  const ran = await tools.call('execute_code', { language: 'python', code: 'print("Needle"); 1/0' });
  const id = ran.data.execution_id;
  const got = await tools.call('get_execution', { execution_id: id });
  assert.equal(got.data.code, 'print("Needle"); 1/0');
  assert.match(got.data.stderr, /ZeroDivisionError/);
  assert.deepEqual([got.data.exit_code, got.data.limits.timeout_ms, got.data.succeeded], [1, 20_000, false]);
  assert.match(got.text, /print\("Needle"\)[^]*Needle\n[^]*exit code 1/);
  const today = new Date().toISOString().slice(0, 10);
  const found = await tools.call('search_executions', { text: 'needle', status: 'failed', since: today });
  assert.deepEqual(
    found.data.executions.map((each: { execution_id: string }) => each.execution_id),
    [id],
  );
  assert.deepEqual(
    (await tools.call('search_executions', { until: '2020-01-01T00:00:00Z' })).data.executions,
    [],
  );
  await tools.call('execute_bash', { command: 'echo needle' });
  const page = await tools.call('search_executions', { text: 'needle', limit: 1 });
  assert.match(page.text, new RegExp(`needle[^]*\\nGo on with after: ${page.data.next}$`));
  assert.match(
    (await tools.call('get_execution', { execution_id: 'exec_000000000000' })).text,
    /^No execution of yours has this id/,
  );
});

test('get_execution tells how much came in on stdin, and not what', async () => {
  await using tools = await openTools();
  const code = 'process.stdin.resume()';
  const ran = await tools.call('execute_code', { language: 'node', code, stdin: 'ünï\0' });
  const got = await tools.call('get_execution', { execution_id: ran.data.execution_id });
  assert.equal(got.data.stdin_bytes, 6);
  assert.match(got.text, /^Given on stdin: 6 bytes$/m);
  assert.doesNotMatch(JSON.stringify(got.result), /ünï/);
  const none = await tools.call('execute_code', { language: 'bash', code: 'true' });
  const plain = await tools.call('get_execution', { execution_id: none.data.execution_id });
  assert.equal(plain.data.stdin_bytes, 0);
  assert.doesNotMatch(plain.text, /stdin/);
});

test('what is not enforced, and names that are not plain, are told as they are', async () => {
  await using sandbox = plainSandbox({ holds: { memory: 'no cgroup' } });
  await using tools = await openTools({ sandbox });
  const command = `touch "$(printf 'a\\n[exec_0: exit code 0]')" plain.txt`;
  const { text, data } = await tools.call('execute_bash', { command });
  assert.match(
    text,
    /Created in \/workspace: "a\\n\[exec_0: exit code 0\]", plain\.txt\nNot enforced here: memory\.$/,
  );
  assert.deepEqual(data.unenforced, ['memory']);
});

test('the text says where files were created, modified and deleted', async () => {
  await using tools = await openTools();
  const make = 'echo 1 > out.csv; mkdir in; echo 2 > in/b; echo 3 > "$ARTIFACTS/plot.svg"';
  const first = await tools.call('execute_code', { language: 'bash', code: make });
  const folder = `/workspace/${first.data.execution_id}`;
  assert.match(
    first.text,
    new RegExp(`\\nCreated in ${folder}: in/b, out.csv\nCreated: /artifacts/plot.svg$`),
  );
  const change = 'echo more >> out.csv; rm in/b; rm "$ARTIFACTS/plot.svg"';
  const input = { language: 'bash', code: change, working_dir: folder };
  const { text } = await tools.call('execute_code', input);
  const lines = [
    `Modified in ${folder}: out.csv`,
    `Deleted in ${folder}: in/b`,
    'Deleted: /artifacts/plot.svg',
  ];
  assert.ok(text.endsWith(lines.join('\n')), text);
});

test('the text names 20 files in all, the start of long names, and how many more there are', async () => {
  const names = (kind: string): string[] =>
    Array.from({ length: 30 }, (_, at) => `${kind}${at}${'x'.repeat(400)}`);
  const omitted = { created: 0, modified: 0, deleted: 0 };
  let found = {
    created: names('c'),
    modified: [] as string[],
    deleted: [] as string[],
    omitted,
    complete: true,
  };
  await using tools = await openTools({ changes: { snapshot: () => null, difference: () => found } });
  const input = { language: 'bash', code: 'true', working_dir: '/artifacts' };
  const one = (await tools.call('execute_code', input)).text;
  assert.equal(one.match(/x+…/g)?.length, 20);
  assert.match(one, /^Created in \/artifacts: c0x+…, .* and 10 more$/m);
  found = { ...found, modified: names('m'), deleted: names('d') };
  const three = (await tools.call('execute_code', input)).text;
  assert.equal(three.match(/x+…/g)?.length, 18);
  for (const line of [
    /^Created in \/artifacts: c0.* and 24 more$/m,
    /^Modified in \/artifacts: m0.* and 24 more$/m,
    /^Deleted in \/artifacts: d0.* and 24 more$/m,
  ])
    assert.match(three, line);
  assert.ok(three.length < 5000, `${three.length}`);
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
  assert.match(shown.text, /^Given: a\.csv, other\.csv$/m);
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
