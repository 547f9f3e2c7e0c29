import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { sampleExecution } from './execution.testing.ts';
import { noDifference } from './difference.ts';
import { type Execution } from './fields.ts';
import { runRecord } from '../../server/run-record.ts';
import { toJournalLine, createJournal } from './journal.ts';

const day = 86_400_000;
const noon = Date.parse('2026-05-04T12:00:00Z');

type Line = ReturnType<typeof runRecord.show>;

const execution = (given: Partial<Execution> = {}): Execution =>
  sampleExecution(noon, { id: 'exec_000000000000', ...given });

function folder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-journal-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\n',
        '\r\n',
        '\u2028',
        '\u2029',
        '\u0085',
        '\ud800',
        '\0',
        '\u001b[2J',
        '{"id":"forged"}',
      ),
    ),
  )
  .map((parts) => parts.join(''));

test('no code, output or file name can forge a line', async () => {
  using logs = folder();
  const path = join(logs.path, 'executions-2026-05-04.jsonl');
  let lines = 0;
  await using journal = createJournal(
    runRecord,
    logs.path,
    () => noon,
    () => {},
  );
  await fc.assert(
    fc.asyncProperty(hostile, hostile, hostile, async (code, stdout, name) => {
      const artifacts = { ...noDifference, created: [name] };
      await journal.append(execution({ code, stdout, stderr: code, artifacts }));
      const text = readFileSync(path, 'utf8');
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Zp}]/u);
      const all = text.trimEnd().split('\n');
      assert.equal(all.length, ++lines);
      const last = JSON.parse(all.at(-1)!) as Line;
      assert.deepEqual([last.code, last.stdout, last.artifacts.created], [code, stdout, [name]]);
    }),
    { numRuns: 100 },
  );
});

test('a line tells how much came in on stdin, and does not hold it', async () => {
  using logs = folder();
  await using journal = createJournal(
    runRecord,
    logs.path,
    () => noon,
    () => {},
  );
  await journal.append(execution({ stdin: 'sécret'.repeat(1000) }));
  const line = readFileSync(join(logs.path, 'executions-2026-05-04.jsonl'), 'utf8');
  assert.doesNotMatch(line, /cret/);
  assert.equal((JSON.parse(line) as Line).stdin_bytes, 7000);
});

test('lines stand in the order in which they came, in a file that only the owner may read', async () => {
  using logs = folder();
  await using journal = createJournal(
    runRecord,
    join(logs.path, 'logs'),
    () => noon,
    () => {},
  );
  const ids = Array.from({ length: 200 }, (_, n) => `exec_${n.toString(16).padStart(12, '0')}`);
  await Promise.all(ids.map((id) => journal.append(execution({ id }))));
  const path = join(logs.path, 'logs', 'executions-2026-05-04.jsonl');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as Line).execution_id),
    ids,
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(logs.path, 'logs')).mode & 0o777, 0o700);
});

test('each day (UTC) has its file, and those of days long gone are removed', async () => {
  using logs = folder();
  let now = Date.parse('2026-05-04T23:59:59.999Z');
  await using journal = createJournal(
    runRecord,
    logs.path,
    () => now,
    () => {},
  );
  await journal.append(execution({ endedAt: now }));
  now += 1;
  await journal.append(execution({ endedAt: now }));
  appendFileSync(join(logs.path, 'executions-notes.txt'), 'kept');
  const first = ['executions-2026-05-04.jsonl', 'executions-2026-05-05.jsonl', 'executions-notes.txt'];
  assert.deepEqual(readdirSync(logs.path).sort(), first);
  const sweep = (before: number) => journal.sweep({ successes: before, failures: before });
  assert.equal(await sweep(Date.parse('2026-05-05') - 1), 0);
  assert.equal(await sweep(Date.parse('2026-05-05')), 1);
  assert.equal(await sweep(Date.parse('2026-05-05') + 2 * day), 0, 'the file of today stays');
  now += day;
  await journal.append(execution({ endedAt: now }));
  assert.equal(await sweep(Date.parse('2026-05-06')), 1);
  assert.deepEqual(readdirSync(logs.path).sort(), ['executions-2026-05-06.jsonl', 'executions-notes.txt']);
});

test('a line that a crash has torn stays by itself', async () => {
  using logs = folder();
  const path = join(logs.path, 'executions-2026-05-04.jsonl');
  appendFileSync(path, '{"id":"exec_torn');
  await using journal = createJournal(
    runRecord,
    logs.path,
    () => noon,
    () => {},
  );
  await journal.append(execution({}));
  await journal.append(execution({}));
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, 3);
  assert.equal((JSON.parse(lines[1]!) as Line).execution_id, 'exec_000000000000');
});

test('what a loss of power left in place of lines is removed before the first line, and nothing else', async () => {
  const whole = (id: string): string => toJournalLine(runRecord, execution({ id }), false);
  const [one, two, three] = ['exec_00000000000a', 'exec_00000000000b', 'exec_00000000000c'].map(whole);
  const nothing = '\0'.repeat(9000);
  const cases: readonly [name: string, left: string, kept: string][] = [
    ['a line without its end', `${one}${two!.slice(0, 90)}`, one!],
    ['a whole line without its newline', `${one}${two!.trimEnd()}`, one!],
    ['NUL bytes at the end', `${one}${two}${nothing}`, one! + two!],
    ['NUL bytes and a line that an earlier start wrote behind them', `${one}${nothing}\n${two}`, one! + two!],
    ['a line with a hole', `${one}${two!.slice(0, 50)}${nothing}${two!.slice(60)}${three}`, one! + three!],
    ['a torn line in the middle', `${one}${two!.slice(0, 50)}\n${three}`, one! + three!],
    ['an empty line', `${one}\n${three}`, one! + three!],
    ['nothing but NUL bytes', nothing, ''],
    ['whole lines, one of another version', `{"of":"another"}\n${one}`, `{"of":"another"}\n${one}`],
    ['nothing', '', ''],
  ];
  for (const [name, left, kept] of cases) {
    using logs = folder();
    const files = ['executions-2026-05-03.jsonl', 'executions-2026-05-04.jsonl'];
    for (const file of files) writeFileSync(join(logs.path, file), left);
    await using journal = createJournal(
      runRecord,
      logs.path,
      () => noon,
      () => {},
    );
    assert.equal(await journal.removeTorn(), left === kept ? 0 : 2, name);
    assert.deepEqual(readdirSync(logs.path).toSorted(), files);
    for (const file of files) assert.equal(readFileSync(join(logs.path, file), 'utf8'), kept, name);
    await journal.append(execution({ id: 'exec_00000000000d' }));
    const lines = readFileSync(join(logs.path, files[1]!), 'utf8').split('\n').slice(0, -1);
    for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), name);
  }
});
