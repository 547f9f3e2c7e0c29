import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { plainSandbox } from './plain-sandbox.testing.ts';
import { countTokens } from '../../../test/tokens.testing.ts';
import { ada, emptySnapshot, plenty } from './room.testing.ts';
import { openTools } from './tools.testing.ts';

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
    artifacts: { created: ['/artifacts/plot.svg'], modified: [], deleted: [], complete: true, removed: null },
    unenforced: [],
    hint: null,
    results: [],
    more_results: 0,
    full_stdout: null,
    full_stderr: null,
    background: null,
    output_next: null,
  });
  assert.equal(
    text,
    `out\n--- stderr ---\nerr\n[${id}: exit code 7 after ${ms} ms]\nCreated: /artifacts/plot.svg`,
  );
});

test('print(42) costs at most 35 tokens, and an error little more than its own words', async () => {
  await using tools = await openTools();
  const run = async (code: string) => (await tools.call('execute_code', { language: 'python', code })).text;
  const { text, data } = await tools.call('execute_code', { language: 'python', code: 'print(42)' });
  assert.ok(text.startsWith(`42\n[${data.execution_id}: exit code 0 after `), text);
  assert.ok(countTokens(text) <= 35, text);
  assert.ok(countTokens(await run('{}["key"]')) <= 80);
});

test('long output is cut, and all of it can be had by link', async () => {
  await using tools = await openTools();
  const code = 'import sys\nsys.stdout.write("é" * 30000)\nsys.stderr.write("x" * 10001)';
  const { data, text, result } = await tools.call('execute_code', { language: 'python', code });
  assert.equal(data.truncated, true);
  assert.equal(data.stdout, `${'é'.repeat(4000)}\n[... truncated 22000 chars ...]\n${'é'.repeat(4000)}`);
  assert.equal(data.full_stdout.filename, `${data.execution_id}.stdout.txt`);
  assert.deepEqual([data.full_stdout.size, data.full_stderr.size], [60_000, 10_001]);
  assert.match(text, new RegExp(`Full stdout: .*curl -fsSL (?:-OJ|-o \\S+) ${data.full_stdout.downloadUrl}`));
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
  assert.match(
    page.text,
    new RegExp(`needle[^]*\\nThere may be more: search_executions with after ${page.data.next}$`),
  );
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
  assert.doesNotMatch(plain.text, /on stdin/);
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
  await using tools = await openTools({
    changes: { snapshot: async () => emptySnapshot, difference: () => found },
  });
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
