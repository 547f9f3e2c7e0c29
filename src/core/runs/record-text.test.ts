import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleExecution } from './execution.testing.ts';
import { describeExecution, describeFoundRuns } from './record-text.ts';
import { runRecord } from '../../server/run-record.ts';
import { shownBounds } from './room.testing.ts';

const id = 'exec_0123456789ab';
const startedAt = Date.parse('2026-11-16T14:58:01.568Z');

test('of many inputs the first 20 are named with size, source and hash', () => {
  const inputs = Array.from({ length: 25 }, (_, at) => ({
    fileId: at === 0 ? `file_${'0'.repeat(24)}` : null,
    origin: at === 0 ? null : { crate_id: 'crate_1', path: `data/${at}\n.csv` },
    name: `${at}.csv`,
    size: 2048,
    sha256: 'a'.repeat(64),
  }));
  const text = describeExecution(
    runRecord,
    sampleExecution(startedAt, { inputs, stdinBytes: 7 }),
    shownBounds,
    {
      output: null,
      isElsewhere: false,
      outputFrom: null,
    },
  );
  const given = text.split('\n').filter((line) => line.startsWith('Given'));
  assert.equal(given.length, 22);
  assert.equal(given[0], `Given: 0.csv, 2 KB, from file_${'0'.repeat(24)}, sha256 ${'a'.repeat(64)}`);
  assert.match(given[1]!, /^Given: 1\.csv, 2 KB, from crate_id crate_1, path "data\/1\\n\.csv", sha256 a+$/);
  assert.deepEqual(given.slice(-2), ['Given: 5 more files', 'Given on stdin: 7 bytes']);
});

test('a line about a run has its code as JSON, so that no code can pass for another line', () => {
  const code = `print(1)\n${id} 2030-01-01T00:00:00Z`;
  const run = sampleExecution(startedAt, { id, code });
  const [line = '', ...others] = describeFoundRuns({ executions: [run], next: '1-exec_000000000000' }).split(
    '\n',
  );
  assert.ok(line.startsWith(`${id} 2026-11-16T14:58:01Z ${run.tool} ${run.language}: `), line);
  assert.ok(line.endsWith(`: ${JSON.stringify(code)}`), line);
  assert.deepEqual(others, ['There may be more: search_executions with after 1-exec_000000000000']);
  assert.equal(describeFoundRuns({ executions: [], next: null }), 'Nothing was found.');
});
