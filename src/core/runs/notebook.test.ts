import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Language, Report } from '../../ports/sandbox/sandbox.ts';
import { collectText } from '../../platform/streams.ts';
import { sampleExecution } from './execution.testing.ts';
import type { Execution } from './fields.ts';
import { writeNotebook } from './executions.ts';
import { png, reportFigure, reportResult } from './reports.testing.ts';
import { createResultCollector } from './results.ts';
import { ada, openRoom, type TestRoom } from './room.testing.ts';

const python = '/usr/bin/python3';
const check = `
import json, sys, nbformat
notebook = nbformat.reads(sys.stdin.read(), as_version=4)
nbformat.validate(notebook)
print(notebook.nbformat, notebook.nbformat_minor, len(notebook.cells))
`;
const noNbformat =
  spawnSync(python, ['-c', 'import nbformat']).status !== 0 &&
  'there is no nbformat: apt-get install python3-nbformat';

async function exportNotebook(
  { files }: TestRoom,
  executions: readonly Execution[],
  language: Language = 'python',
) {
  const text = await collectText(writeNotebook({ files, caller: ada, language }, executions));
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  return { text, notebook: JSON.parse(text) as any };
}

/** An execution with these results in stored files. */
async function withResults(room: TestRoom, reports: readonly Report[]) {
  const execution = sampleExecution(1, { code: 'plot()', stdout: 'drawn\n', cell: 7 });
  const log = { info() {}, error() {} } as never;
  const collector = createResultCollector({ files: room.files, keepOutputSeconds: 60, log }, execution);
  for (const report of reports) await collector.take(report);
  return { ...execution, ...collector.results() };
}

const failed = (given: Partial<Execution>): Execution => sampleExecution(1, { exitCode: 1, ...given });

const results = [
  reportResult({ text: '   a\n0  1', rows: 1, columns: 1 }, ['text/html', '<table>']),
  reportFigure(),
  reportResult({ kind: 'display', text: '{}' }, ['application/json', '{"a": [1]}']),
  reportResult({ kind: 'display', text: 'x', cut: true }, ['text/plain', 'xyz'], ['image/svg+xml', '<svg/>']),
  reportResult({ kind: 'display', text: 'raw' }, ['x/y', 'bytes'], ['application/json', '{']),
  reportResult(
    { kind: 'display', text: 'p' },
    ['application/vnd.plotly.v1+json', '[1, "a"]'],
    ['application/json', '[2]'],
  ),
];

test('a cell has its output, its results as bundles, and its count', async () => {
  await using room = await openRoom({ sandbox: 'None here.' });
  const { notebook } = await exportNotebook(room, [
    { ...(await withResults(room, results)), moreResults: 2 },
  ]);
  const [cell] = notebook.cells;
  assert.deepEqual([cell.source, cell.execution_count], ['plot()', 7]);
  assert.match(cell.id, /^exec_[0-9a-f]{12}$/);
  assert.deepEqual(cell.outputs, [
    { name: 'stdout', output_type: 'stream', text: 'drawn\n' },
    {
      output_type: 'execute_result',
      execution_count: 7,
      data: { 'text/html': '<table>', 'text/plain': '   a\n0  1' },
      metadata: {},
    },
    {
      output_type: 'display_data',
      data: { 'image/png': png.toString('base64'), 'text/plain': '<Figure size 640x480 with 1 Axes>' },
      metadata: {},
    },
    {
      output_type: 'display_data',
      data: { 'application/json': { a: [1] }, 'text/plain': '{}' },
      metadata: {},
    },
    { output_type: 'display_data', data: { 'text/plain': 'xyz', 'image/svg+xml': '<svg/>' }, metadata: {} },
    {
      output_type: 'display_data',
      data: {
        'text/plain':
          'raw\n[application/json, 1 bytes, is not in this notebook: it is not JSON]\n' +
          '[application/octet-stream, 5 bytes, is not in this notebook: its type is not known]',
      },
      metadata: {},
    },
    {
      output_type: 'display_data',
      data: { 'application/json': [2], 'application/vnd.plotly.v1+json': [1, 'a'], 'text/plain': 'p' },
      metadata: {},
    },
    { name: 'stderr', output_type: 'stream', text: '2 more results were only counted.\n' },
  ]);
});

test('what is gone or too large is named in the text', async () => {
  await using room = await openRoom({ sandbox: 'None here.' });
  const gone = await withResults(room, [reportFigure()]);
  await room.files.remove(ada, gone.results[0]!.parts[0]!.fileId!);
  const [part] = (await withResults(room, [reportFigure()])).results[0]!.parts;
  const large = { ...gone, results: [{ ...gone.results[0]!, parts: [{ ...part!, size: 33 * 1024 ** 2 }] }] };
  const lost = {
    ...gone,
    results: [{ ...gone.results[0]!, parts: [{ ...part!, fileId: null, problem: 'Full.' }] }],
  };
  const { notebook } = await exportNotebook(room, [gone, large, lost]);
  const texts = [0, 1, 2].map((n) => notebook.cells[n].outputs[1].data['text/plain'].split('\n')[1]);
  assert.deepEqual(texts, [
    '[image/png, 17 bytes, is not in this notebook: its file has expired]',
    `[image/png, 33 MB, is not in this notebook: it is too large, its file_id is ${part!.fileId}]`,
    '[image/png, 17 bytes, is not in this notebook: it could not be stored: Full.]',
  ]);
  // The caller's own files alone.
  const own = await withResults(room, [reportFigure()]);
  const stolen = await collectText(
    writeNotebook({ files: room.files, caller: { user: 'bob' }, language: 'python' }, [own]),
  );
  assert.ok(!stolen.includes(png.toString('base64')));
});

test('an error has its name, its message and its traceback', async () => {
  await using room = await openRoom({ sandbox: 'None here.' });
  const traceback =
    'Traceback (most recent call last):\n  File "main.py", line 1, in <module>\n    1 / 0\nZeroDivisionError: division by zero';
  const error = async (given: Partial<Execution>) => {
    const { notebook } = await exportNotebook(room, [failed(given)]);
    const { outputs } = notebook.cells[0];
    return { ...outputs.at(-1), printed: outputs.slice(0, -1).map(({ text }: { text: string }) => text) };
  };
  assert.deepEqual(await error({ stderr: `warned\n${traceback}\n` }), {
    output_type: 'error',
    ename: 'ZeroDivisionError',
    evalue: 'division by zero',
    traceback: traceback.split('\n'),
    printed: ['warned\n'],
  });
  const own = await error({ stderr: 'Traceback (most recent call last):\n  File "x"\nmod.Odd\n' });
  assert.deepEqual([own.ename, own.evalue], ['mod.Odd', '']);
  const long = await error({
    stderr: 'Traceback (most recent call last):\n  File "x"\nValueError: a\nb: c\n',
  });
  assert.deepEqual([long.ename, long.evalue, long.traceback.length], ['ValueError', 'a', 4]);
  const node = await error({
    language: 'node',
    stderr: 'Uncaught ReferenceError: x is not defined\n    at a',
  });
  assert.deepEqual([node.ename, node.evalue], ['ReferenceError', 'x is not defined']);
  const bash = await error({ language: 'bash', stderr: 'no such file\n', exitCode: 2 });
  assert.equal(bash.ename, 'exit');
  assert.match(bash.evalue, /^\[exec_\w+: exit code 2 after 5 ms\]$/);
  const late = await error({ reason: 'timeout', exitCode: null });
  assert.match(late.evalue, /timed out after 5 ms/);
});

test('the real nbformat accepts it, for every language', { skip: noNbformat }, async () => {
  await using room = await openRoom({ sandbox: 'None here.' });
  const cells = [
    await withResults(room, results),
    failed({ stderr: 'Traceback (most recent call last):\n  File "x"\nKeyError: \ud800' }),
    sampleExecution(1, { code: 'print("\ud800 ä \u2028")', stdout: '\0\u001b[31m' }),
    sampleExecution(1, { reason: 'running' }),
  ];
  const languages = {
    python: ['python3', '3.11.2'],
    node: ['javascript', '26.1.0'],
    bash: ['bash', '5.2.15'],
  };
  for (const [language, [kernel, version]] of Object.entries(languages)) {
    const limits = { ...cells[0]!.limits, runtime: `Such as ${version}(1)-release` };
    const { text, notebook } = await exportNotebook(
      room,
      cells.map((cell) => ({ ...cell, limits })),
      language as Language,
    );
    const { kernelspec, language_info } = notebook.metadata;
    assert.deepEqual([kernelspec.name, language_info.version], [kernel, version]);
    const { stdout, stderr } = spawnSync(python, ['-W', 'error', '-c', check], {
      input: text,
      encoding: 'utf8',
    });
    assert.equal(stdout, '4 5 4\n', stderr);
  }
  const { text } = await exportNotebook(room, []);
  const empty = spawnSync(python, ['-W', 'error', '-c', check], { input: text, encoding: 'utf8' });
  assert.equal(empty.stdout, '4 5 0\n', empty.stderr);
});
