import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Execution } from './fields.ts';
import { toJournalLine } from './journal.ts';
import { openRoom } from './room.testing.ts';
import { runRecord } from '../../server/run-record.ts';
import { pageShape, toExecutionPage } from './schema.ts';

const sample: Execution = {
  id: 'exec_0123456789ab',
  owner: 'ada',
  tool: 'execute_code',
  language: 'python',
  code: 'print("ä")\u0085',
  stdin: 'in\0',
  stdinBytes: 2,
  workingDir: '/workspace/a',
  reason: 'timeout',
  succeeded: false,
  exitCode: null,
  signal: 'SIGKILL',
  startedAt: 1777896000000,
  durationMs: 1500,
  endedAt: 1777896001501,
  stdout: 'out\n',
  stderr: 'err',
  stdoutBytes: 4,
  stderrBytes: 3,
  truncated: true,
  stdoutFile: 'file_1',
  stderrFile: null,
  results: [
    {
      kind: 'figure',
      text: 'Fig',
      cut: false,
      rows: null,
      columns: null,
      parts: [{ mime: 'image/png', size: 9, sha256: 'ef', fileId: 'file_3', problem: null }],
    },
  ],
  moreResults: 4,
  inputs: [
    { fileId: 'file_2', origin: null, name: 'a.csv', size: 3, sha256: 'ab' },
    { fileId: null, origin: { crate: 'c' }, name: 'b', size: 0, sha256: 'cd' },
  ],
  knownInputs: [
    { path: '/workspace/a/x', size: 2, sha256: 'ef', how: 'opened', madeBy: 'exec_0123456789aa' },
    { path: '/artifacts/y', size: 9, sha256: null, how: 'found', madeBy: null },
  ],
  inputsMayBeIncomplete: true,
  inputNotes: ['Why.'],
  libraries: { numpy: '1.24.2' },
  network: {
    hosts: [
      { host: 'example.org', port: 443, requests: 2, sentBytes: 10, receivedBytes: 20, secrets: ['key'] },
    ],
    refused: [{ host: 'other.org', port: null, why: 'host_not_allowed', count: 1 }],
    more: 3,
  },
  toolCalls: { count: 2, calls: [{ tool: 'search_index', outcome: 'ok', ms: 3 }] },
  toolCallBytes: 700,
  artifacts: { created: ['x.png'], modified: [], deleted: ['y'], complete: true, removed: null },
  temporaryFiles: { files: [{ path: '/tmp/t', size: 3 }], more: 1, complete: true },
  limits: {
    memoryBytes: 1,
    processes: 2,
    cpus: 3,
    fileBytes: 4,
    diskBytes: 5,
    tmpBytes: 6,
    graceMs: 8,
    timeoutMs: 7,
    sandbox: 'bubblewrap',
    runtime: 'Python 3.11.2',
    unenforced: ['cpu'],
  },
  sessionId: 'sess_0123456789ab',
  cell: 3,
  state: 'lost',
  background: 'asked',
  cancelledBy: null,
  script: 'plot@3',
  guard: [{ when: 'after', action: 'redact', rules: [{ id: 'aws-key', count: 2 }], reason: 'Why.' }],
  peakMemoryBytes: 77,
  traceId: 't1',
  resultFiles: {
    files: [
      {
        path: '/workspace/a/x.png',
        size: 9,
        sha256: 'ab',
        isNew: true,
        kept: { part: 0, at: 0 },
        gap: null,
      },
      { path: '/artifacts/z', size: 8, sha256: null, isNew: false, kept: null, gap: 'changed' },
    ],
    more: 2,
  },
  keptBytes: 8201,
  keptSince: 1777896001501,
};

const shownJson =
  String.raw`{"execution_id":"exec_0123456789ab","tool":"execute_code","language":"python",` +
  String.raw`"code":"print(\"ä\")@@","stdin_bytes":2,"working_dir":"/workspace/a","end_reason":"timeout",` +
  String.raw`"succeeded":false,"exit_code":null,"signal":"SIGKILL","timed_out":true,` +
  String.raw`"started_at":"2026-05-04T12:00:00.000Z","duration_ms":1500,"stdout":"out\n","stderr":"err",` +
  String.raw`"stdout_bytes":4,"stderr_bytes":3,"truncated":true,"stdout_file":"file_1","stderr_file":null,` +
  String.raw`"results":[{"kind":"figure","text":"Fig","cut":false,"rows":null,"columns":null,"parts":` +
  String.raw`[{"mime":"image/png","size":9,"file_id":"file_3","problem":null}]}],"more_results":4,` +
  String.raw`"artifacts":{"created":["x.png"],"modified":[],"deleted":["y"],"complete":true,"removed":null},"temporary_files":{"files":[{"path":"/tmp/t","size":3}],"more":1,"complete":true},` +
  String.raw`"inputs":[{"file_id":"file_2","origin":null,"name":"a.csv","size":3,"sha256":"ab"},` +
  String.raw`{"file_id":null,"origin":{"crate":"c"},"name":"b","size":0,"sha256":"cd"}],` +
  String.raw`"known_inputs":[{"path":"/workspace/a/x","size":2,"sha256":"ef","how":"opened","made_by":"exec_0123456789aa"},` +
  String.raw`{"path":"/artifacts/y","size":9,"sha256":null,"how":"found","made_by":null}],` +
  String.raw`"inputs_may_be_incomplete":true,"input_notes":["Why."],"libraries":{"numpy":"1.24.2"},` +
  String.raw`"network":{"hosts":[{"host":"example.org","port":443,"requests":2,"sent_bytes":10,"received_bytes":20,` +
  String.raw`"secrets":["key"]}],"refused":[{"host":"other.org","port":null,"why":"host_not_allowed","count":1}],"more":3},` +
  String.raw`"tool_calls":{"count":2,"calls":[{"tool":"search_index","outcome":"ok","ms":3}]},` +
  String.raw`"limits":{"timeout_ms":7,"memory_bytes":1,"processes":2,"cpus":3,"file_bytes":4,"disk_bytes":5,` +
  String.raw`"tmp_bytes":6,"sandbox":"bubblewrap","runtime":"Python 3.11.2","unenforced":["cpu"]},` +
  String.raw`"session_id":"sess_0123456789ab","cell":3,"state":"lost","background":"asked","cancelled_by":null,"script":"plot@3",` +
  String.raw`"guard":[{"when":"after","verdict":"redact","rules":[{"rule":"aws-key","count":2}],"reason":"Why."}],"peak_memory_bytes":77,"trace_id":"t1",` +
  String.raw`"result_files":{"files":[{"path":"/workspace/a/x.png","size":9,"sha256":"ab","note":null},` +
  String.raw`{"path":"/artifacts/z","size":8,"sha256":null,"note":"not hashed: it was being changed when the run ended"}],` +
  String.raw`"more":2}}`;

// Journals and databases of earlier releases have these bytes: what is written here is read in ten years.
describe('an execution in all its forms', () => {
  it('is a line of the journal', () => {
    const start = '{"user":"ada","ended_at":"2026-05-04T12:00:01.501Z",';
    assert.equal(
      toJournalLine(runRecord, sample, false),
      `${start}${shownJson.slice(1).replace('@@', String.raw`\u0085`)}\n`,
    );
    const brief =
      String.raw`{"user":"ada","ended_at":"2026-05-04T12:00:01.501Z","execution_id":"exec_0123456789ab",` +
      String.raw`"tool":"execute_code","language":"python","code":"","stdin_bytes":2,` +
      String.raw`"working_dir":"/workspace/a","end_reason":"timeout","succeeded":false,"exit_code":null,` +
      String.raw`"signal":"SIGKILL","timed_out":true,"started_at":"2026-05-04T12:00:00.000Z","duration_ms":1500,` +
      String.raw`"stdout":"","stderr":"","stdout_bytes":4,"stderr_bytes":3,"truncated":true,` +
      String.raw`"stdout_file":"file_1","stderr_file":null,"results":[],"more_results":4,"artifacts":{"created":[],"modified":[],"deleted":[],` +
      String.raw`"complete":false},"temporary_files":null,"inputs":[],"known_inputs":[],"inputs_may_be_incomplete":true,"input_notes":["Why."],"libraries":{},"network":null,"tool_calls":null,` +
      String.raw`"limits":{"timeout_ms":7,"memory_bytes":1,"processes":2,"cpus":3,` +
      String.raw`"file_bytes":4,"disk_bytes":5,"tmp_bytes":6,"sandbox":"bubblewrap","runtime":"Python 3.11.2",` +
      String.raw`"unenforced":["cpu"]},"session_id":"sess_0123456789ab","cell":3,"state":"lost","background":"asked","cancelled_by":null,"script":"plot@3",` +
      String.raw`"guard":[{"when":"after","verdict":"redact","rules":[{"rule":"aws-key","count":2}],"reason":"Why."}],"peak_memory_bytes":77,"trace_id":"t1","result_files":null,"code_bytes":13,` +
      String.raw`"code_sha256":"ab11716162a7dfbb2fc811f2ce985120835c38f6cba1f479d17dcd9834deab29"}`;
    assert.equal(toJournalLine(runRecord, sample, true), `${brief}\n`);
  });

  it('is the JSON of tools and routes, by their schema', () => {
    assert.equal(JSON.stringify(runRecord.show(sample)), shownJson.replace('@@', '\u0085'));
    const names =
      'execution_id tool language code stdin_bytes working_dir end_reason succeeded exit_code signal timed_out started_at duration_ms stdout stderr stdout_bytes stderr_bytes truncated stdout_file stderr_file results more_results temporary_files inputs known_inputs inputs_may_be_incomplete input_notes libraries network tool_calls session_id cell state background cancelled_by script guard peak_memory_bytes trace_id result_files artifacts limits';
    assert.equal(Object.keys(runRecord.shape.shape).join(' '), names);
    assert.deepEqual(runRecord.shape.parse(runRecord.show(sample)), runRecord.show(sample));
  });

  it('is an entry of a list', () => {
    const entry =
      String.raw`{"execution_id":"exec_0123456789ab","tool":"execute_code","language":"python",` +
      String.raw`"code":"print(\"ä\")@@","end_reason":"timeout","succeeded":false,"exit_code":null,` +
      String.raw`"started_at":"2026-05-04T12:00:00.000Z","duration_ms":1500}`;
    const page = toExecutionPage({ executions: [sample], next: null });
    assert.equal(JSON.stringify(page), `{"executions":[${entry.replace('@@', '\u0085')}],"next":null}`);
    const { element } = pageShape.shape.executions;
    assert.equal(
      Object.keys(element.shape).join(' '),
      'execution_id tool language code end_reason succeeded exit_code started_at duration_ms',
    );
    assert.match(element.shape.code.description!, /200 characters/);
  });

  it('is a row, at its start and at its end, and what is read of it is what was written', async () => {
    await using room = await openRoom({ sandbox: 'None here.' });
    const rows = () => room.database.query('SELECT * FROM executions');
    const inputs =
      '[{"fileId":"file_2","origin":null,"name":"a.csv","size":3,"sha256":"ab"},{"fileId":null,"origin":{"crate":"c"},"name":"b","size":0,"sha256":"cd"}]';
    const limits =
      '{"memoryBytes":1,"processes":2,"cpus":3,"fileBytes":4,"diskBytes":5,"tmpBytes":6,"graceMs":8,"timeoutMs":7,"sandbox":"bubblewrap","runtime":"Python 3.11.2","unenforced":["cpu"]}';
    const begun = {
      id: 'exec_0123456789ab',
      owner: 'ada',
      tool: 'execute_code',
      language: 'python',
      code: 'print("ä")\u0085',
      stdin: 'in\u2400',
      stdin_bytes: 2,
      working_dir: '/workspace/a',
      reason: 'running',
      succeeded: 0,
      started_at: 1777896000000,
      inputs,
      limits,
      session_id: 'sess_0123456789ab',
      cell: 3,
      background: 'asked',
      haystack: 'print("ä")\u0085\nout\n\nerr\nfig',
      server: 'srv',
    };
    await runRecord.insertRunning(room.database, sample, 'srv');
    const [first] = await rows();
    for (const [column, value] of Object.entries(begun)) assert.equal(first![column], value, column);
    assert.ok(await runRecord.updateEnded(room.database, sample));
    const [last] = await rows();
    assert.deepEqual(
      { ...last },
      {
        ...begun,
        reason: 'timeout',
        exit_code: null,
        signal: 'SIGKILL',
        duration_ms: 1500,
        stdout: 'out\n',
        stderr: 'err',
        stdout_bytes: 4,
        stderr_bytes: 3,
        truncated: 1,
        stdout_file: 'file_1',
        stderr_file: null,
        results:
          '[{"kind":"figure","text":"Fig","cut":false,"rows":null,"columns":null,"parts":[{"mime":"image/png","size":9,"sha256":"ef","fileId":"file_3","problem":null}]}]',
        more_results: 4,
        artifacts: '{"created":["x.png"],"modified":[],"deleted":["y"],"complete":true,"removed":null}',
        temporary_files: '{"files":[{"path":"/tmp/t","size":3}],"more":1,"complete":true}',
        state: 'lost',
        known_inputs:
          '[{"path":"/workspace/a/x","size":2,"sha256":"ef","how":"opened","madeBy":"exec_0123456789aa"},{"path":"/artifacts/y","size":9,"sha256":null,"how":"found","madeBy":null}]',
        inputs_may_be_incomplete: 1,
        input_notes: '["Why."]',
        libraries: '{"numpy":"1.24.2"}',
        network:
          '{"hosts":[{"host":"example.org","port":443,"requests":2,"sentBytes":10,"receivedBytes":20,"secrets":["key"]}],"refused":[{"host":"other.org","port":null,"why":"host_not_allowed","count":1}],"more":3}',
        tool_calls: '{"count":2,"calls":[{"tool":"search_index","outcome":"ok","ms":3}]}',
        tool_call_bytes: 700,
        ended_at: 1777896001501,
        cancelled_by: null,
        seen_at: null,
        epoch: 1,
        asked_at: null,
        cancel_at: null,
        cancel_by: null,
        script: 'plot@3',
        guard: '[{"when":"after","action":"redact","rules":[{"id":"aws-key","count":2}],"reason":"Why."}]',
        peak_memory_bytes: 77,
        trace_id: 't1',
        result_files:
          '{"files":[{"path":"/workspace/a/x.png","size":9,"sha256":"ab","isNew":true,"kept":{"part":0,"at":0},"gap":null},{"path":"/artifacts/z","size":8,"sha256":null,"isNew":false,"kept":null,"gap":"changed"}],"more":2}',
        kept_bytes: 8201,
        kept_since: 1777896001501,
      },
    );
    assert.deepEqual(runRecord.fromRow(last!), { ...sample, stdin: 'in\u2400' });
  });

  it('names each column once in the SQL that writes it', async () => {
    const asked: string[] = [];
    const database = {
      async query<T>(sql: string): Promise<T[]> {
        asked.push(sql.replaceAll(/\s+/g, ' '));
        return [];
      },
    };
    await runRecord.insertRunning(database, sample, 'srv');
    await runRecord.updateEnded(database, sample);
    assert.deepEqual(asked, [
      'INSERT INTO executions (id, owner, tool, language, code, stdin, stdin_bytes, working_dir, started_at, inputs, limits, session_id, cell, background, script, trace_id, haystack, server, seen_at, reason, succeeded) ' +
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 'running', 0) ON CONFLICT (id) DO NOTHING",
      'UPDATE executions SET reason = ?, succeeded = ?, exit_code = ?, signal = ?, duration_ms = ?, stdout = ?, stderr = ?, stdout_bytes = ?, stderr_bytes = ?, truncated = ?, stdout_file = ?, stderr_file = ?, results = ?, more_results = ?, artifacts = ?, temporary_files = ?, known_inputs = ?, inputs_may_be_incomplete = ?, input_notes = ?, libraries = ?, network = ?, tool_calls = ?, tool_call_bytes = ?, state = ?, cancelled_by = ?, guard = ?, peak_memory_bytes = ?, ended_at = ?, result_files = ?, kept_bytes = ?, kept_since = ?, haystack = ? ' +
        "WHERE id = ? AND (reason = 'running' OR (reason = ? AND ended_at = ?)) RETURNING id",
    ]);
  });

  it('lacks nothing where its row is of an earlier release', () => {
    const old = {
      results: '[]',
      artifacts: '{}',
      inputs: '[{"fileId":"f","name":"a","size":1,"sha256":"b"}]',
      limits: '{}',
      known_inputs: '[]',
      inputs_may_be_incomplete: 1,
      input_notes: '[]',
      libraries: '{}',
      network: 'null',
      guard: 'null',
      tool_calls: 'null',
      result_files: 'null',
      temporary_files: 'null',
    };
    const read = runRecord.fromRow(old as never);
    assert.deepEqual(read.artifacts, {
      created: [],
      modified: [],
      deleted: [],
      complete: true,
      removed: null,
    });
    assert.deepEqual([read.inputs[0]!.origin, read.limits.runtime], [null, null]);
  });
});
