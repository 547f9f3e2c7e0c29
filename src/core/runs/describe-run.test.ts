import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeEnd, explainEnd, type DescribedEnd } from './describe-run.ts';

const end = { end_reason: 'exit', exit_code: null, signal: null, duration_ms: 1000 } as const;
const limits = { timeout_ms: 5000, memory_bytes: 1024 ** 3, processes: 64, disk_bytes: 2 * 1024 ** 3 };
const untouched = { removed: null };

test('why a run ended is said with its limits, and without them where an answer leaves them out', () => {
  const told: readonly (readonly [DescribedEnd, string | null])[] = [
    [{ ...end, exit_code: 1 }, null],
    [{ ...end, end_reason: 'running' }, null],
    [{ ...end, end_reason: 'timeout', limits }, 'Timed out after 1 s: its limit is 5 s.'],
    [{ ...end, end_reason: 'timeout', signal: 'SIGTERM' }, 'Timed out after 1 s (SIGTERM).'],
    [{ ...end, end_reason: 'oom', limits }, 'Killed after 1 s: it used more than its 1 GB of memory.'],
    [
      { ...end, end_reason: 'pids' },
      'Failed after 1 s: it tried to start more than its limit of processes and threads.',
    ],
    [
      { ...end, end_reason: 'cancelled', cancelled_by: 'operator', exit_code: 143 },
      'Cancelled after 1 s by an operator of the server (exit code 143).',
    ],
    [{ ...end, end_reason: 'cancelled' }, 'Cancelled after 1 s.'],
    [
      { ...end, end_reason: 'lost', duration_ms: null },
      'Lost: its server ended while it ran. Of its output is kept what it had printed until some seconds before.',
    ],
  ];
  for (const [one, words] of told) assert.equal(explainEnd(one, untouched), words);
  assert.equal(describeEnd({ ...end, exit_code: 1 }), 'exit code 1 after 1 s');
});

test('of a run that took too much of the disk it is said what was removed', () => {
  const full = { ...end, end_reason: 'disk' as const, limits };
  const removed = { files: 2, bytes: 1024, complete: false };
  assert.equal(
    explainEnd(full, { removed }),
    'Killed after 1 s: /workspace and /artifacts took more than their 2 GB together, or the disk of the server is nearly full. Removed, so that the disk is free again: 2 files that it had made (1 KB). Not all that it made was removed. Delete files before you write more.',
  );
});
