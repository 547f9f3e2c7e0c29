/** Every outcome of the tools that run code and look up what was run. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { processesWith } from '../../processes.testing.ts';
import { upload } from '../../server.testing.ts';
import { showResults } from './results.testing.ts';
import type { Call, Stage } from './stage.testing.ts';

/** Runs that end in each way that a run can end. */
const endings: readonly (readonly [reason: string, language: string, code: string, timeoutMs?: number])[] = [
  ['exit', 'python', 'import sys\nprint(40 + 2)\nprint("a warning", file=sys.stderr)'],
  ['exit', 'node', 'console.log("from node"); process.exitCode = 3'],
  ['signal', 'bash', 'echo before; kill -SEGV $$'],
  ['timeout', 'bash', 'echo begun; sleep 600', 1500],
  ['oom', 'python', 'keep = [bytearray(b"x") * (8 << 20) for _ in range(64)]'],
  [
    'pids',
    'python',
    'import os, time\nfor n in range(200):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)',
  ],
];

export async function showRuns(stage: Stage): Promise<void> {
  const { call, refuse } = stage;
  await call('search_executions', {});
  await Promise.all(endings.map((ending) => showEnding(call, ending)));
  await showCancelled(stage);
  await showLost(call);
  await showBackground(stage);
  await showChanges(call);
  await showTemporary(call);
  await showOpened(call);
  await showLongOutput(call);
  await showInputs(stage);
  await showResults(call);
  await showNetwork(stage);
  await showToolCalls(call);
  const missing = await call('execute_code', { language: 'python', code: 'import nosuchpackage' });
  assert.notEqual(missing.data.hint, null);
  const { next } = (await call('search_executions', { limit: 3 })).data;
  await call('search_executions', { limit: 100, after: next });
  await call('search_executions', { text: 'nothing has this in it' });
  await refuse('search_executions', { limit: 0 });
  await refuse('get_execution', { execution_id: 'exec_000000000000' });
  await refuse('execute_code', { language: 'bash', code: 'id', working_dir: '/etc' });
  await refuse('execute_bash', { command: '' });
  // Last, since nothing can be written after it.
  const fill = 'for i in {1..40}; do head -c 4000000 /dev/zero > /workspace/f$i; sleep 0.05; done';
  for (let tries = 1; ; tries++) {
    const { removed } = await showEnding(call, ['disk', 'bash', fill]);
    await call('execute_bash', { command: 'rm -f /workspace/f*' });
    if (removed.files > 0) break;
    // What was made before another run ended well stays, and some of those above may just have ended.
    assert.ok(tries < 3, 'nothing was removed');
  }
  await call('search_executions', { status: 'disk' });
}

/** Code calls tools, with each outcome that a call can have but one: who is cancelled is told nothing. */
async function showToolCalls(call: Call): Promise<void> {
  const code = `from mcp import _workcrate
for tool, given in [('list_files', {}), ('list_files', {'limit': 'many'}), ('share_file', {})]:
    try: _workcrate.call(tool, given)
    except _workcrate.ToolError: pass`;
  const { data } = await call('execute_code', { language: 'python', code, tools: ['list_files'] });
  const { data: shown } = await call('get_execution', { execution_id: data.execution_id });
  assert.equal(shown.tool_calls.count, 3);
}

/** A run speaks to a host, and to more that are refused than are named. */
async function showNetwork({ call, refuse }: Stage): Promise<void> {
  const code = `import urllib.request
for host in ['site.test'] + ['other%d.test' % number for number in range(60)]:
    try: urllib.request.urlopen('http://%s/' % host, timeout=20).read()
    except OSError: pass`;
  const { data } = await call('execute_code', { language: 'python', code });
  await call('get_execution', { execution_id: data.execution_id });
  await call('execute_code', { language: 'python', code, session_id: 'speaks' });
  await call('execute_bash', { command: `python3 - <<'END'\n${code}\nEND` });
  await refuse('execute_code', { language: 'python', code, network: ['elsewhere.test'] });
}

async function showEnding(call: Call, [reason, language, code, timeout_ms]: (typeof endings)[number]) {
  const input = { language, code, ...(timeout_ms === undefined ? {} : { timeout_ms }) };
  const { data, text } = await call('execute_code', input);
  assert.equal(data.end_reason, reason, text);
  await call('get_execution', { execution_id: data.execution_id });
  return data.artifacts;
}

/** Its sandbox is killed from outside; before that, it is still running. */
async function showLost(call: Call): Promise<void> {
  const running = call('execute_code', { language: 'bash', code: 'sleep 87654; echo never' });
  await eventually(() => processesWith('87654').length > 0);
  const { data } = await call('search_executions', { text: 'sleep 87654' });
  const { execution_id } = data.executions[0];
  await call('get_execution', { execution_id });
  for (const pid of findAncestors(processesWith('87654')[0]!, 'bwrap')) process.kill(pid, 'SIGKILL');
  assert.equal((await running).data.end_reason, 'lost');
  await call('get_execution', { execution_id });
}

/** The processes above one that run this program. */
function findAncestors(pid: string, program: string): number[] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const parent = /^PPid:\t(\d+)$/m.exec(status)![1]!;
  const above = parent === '0' || parent === String(process.pid) ? [] : findAncestors(parent, program);
  return status.startsWith(`Name:\t${program}\n`) ? [...above, Number(pid)] : above;
}

/** Nobody hears the answer, but the record of the run says it. */
async function showCancelled({ server, connect, call }: Stage): Promise<void> {
  await using other = await connect({});
  const stop = new AbortController();
  const request = { name: 'execute_bash', arguments: { command: 'sleep 76543' } };
  const calling = other.client.callTool(request, { signal: stop.signal }).catch(() => null);
  await eventually(() => processesWith('76543').length > 0);
  stop.abort();
  await calling;
  await eventually(async () => {
    const { data } = await server.call('search_executions', { text: 'sleep 76543', status: 'cancelled' });
    return data.executions.length > 0;
  });
  const { executions } = (await call('search_executions', { text: 'sleep 76543' })).data;
  await call('get_execution', { execution_id: executions[0].execution_id });
}

/** It leaves files where nothing is kept, more than are named and more than are looked at. */
async function showTemporary(call: Call): Promise<void> {
  for (const [count, named] of [
    [1, 1],
    [30, 20],
    [2500, 20],
  ] as const) {
    const code = `for n in $(seq ${count}); do echo $n > /tmp/left$n.txt; done`;
    const { data } = await call('execute_code', { language: 'bash', code, working_dir: '/tmp/project' });
    assert.equal(data.temporary_files.files.length, named);
    await call('get_execution', { execution_id: data.execution_id });
  }
}

/** It is followed while it runs, and ended. */
async function showBackground({ call, refuse }: Stage): Promise<void> {
  const command = 'echo 123 characters; echo more >&2; sleep 600';
  const { data } = await call('execute_bash', { command, background: true });
  const { execution_id } = data;
  const follow = async (output_from: number) =>
    (await call('get_execution', { execution_id, output_from })).data.output.end;
  await eventually(async () => (await follow(0)) > 15);
  await call('get_execution', { execution_id, wait_ms: 1 });
  await call('cancel_execution', { execution_id });
  await call('cancel_execution', { execution_id });
  await call('get_execution', { execution_id });
  await call('get_execution', { execution_id, output_from: 4 });
  await refuse('cancel_execution', { execution_id: 'exec_000000000000' });
  await refuse('get_execution', { execution_id, wait_ms: 50_001 });
  const late = 'echo soon; until [ -e told ]; do sleep 0.05; done';
  const other = await call('execute_code', { language: 'bash', code: late, background: true });
  await call('cancel_execution', { execution_id: other.data.execution_id });
}

async function showChanges(call: Call): Promise<void> {
  await call('execute_bash', {
    command: 'mkdir -p shared; touch shared/old; echo first > shared/changed; echo x > /artifacts/table.csv',
  });
  const command = 'cd shared; touch new; echo more > changed; rm old; rm /artifacts/table.csv';
  const { data } = await call('execute_bash', { command });
  await call('get_execution', { execution_id: data.execution_id });
  const many = 'mkdir many; cd many; for i in {1..1100}; do : > $i; done; echo hidden > .a';
  const { execution_id } = (await call('execute_code', { language: 'bash', code: many })).data;
  await call('get_execution', { execution_id });
}

/** A file that an earlier run made, opened in another folder, and a library with a version. */
async function showOpened(call: Call): Promise<void> {
  const command = 'mkdir -p read/shown_lib-1.2.dist-info; touch read/shown_lib.py; echo 1,2 > read/a.csv';
  await call('execute_bash', { command });
  const folder = '/workspace/read';
  const code = `import sys; sys.path.append("${folder}"); import shown_lib; open("${folder}/a.csv").read()`;
  const { data } = await call('execute_code', { language: 'python', code });
  await call('get_execution', { execution_id: data.execution_id });
}

async function showLongOutput(call: Call): Promise<void> {
  const code = 'import sys\nprint("out " * 5000)\nprint("err " * 5000, file=sys.stderr)';
  const { data } = await call('execute_code', { language: 'python', code });
  await call('get_execution', { execution_id: data.execution_id });
}

async function showInputs({ server, call }: Stage): Promise<void> {
  const file_id = await upload(server, 'given.txt', 'given');
  await call('guide_cache_file', { path: 'docs/from-client.txt', content: 'client' });
  const { uploadUrl } = (await call('read_client_file', { path: 'docs/sent.txt' })).data.offer;
  await fetch(uploadUrl, { method: 'PUT', body: 'sent' });
  const client_files = [{ path: 'docs/from-client.txt' }, { path: 'docs/sent.txt' }];
  const input = { files: [file_id], client_files };
  const code = 'cat given.txt from-client.txt sent.txt -';
  const { data } = await call('execute_code', { language: 'bash', code, stdin: 'typed\n', ...input });
  await call('get_execution', { execution_id: data.execution_id });
}
