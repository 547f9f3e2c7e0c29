import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { WorkcrateError } from '../../platform/errors.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { auditDayMs, sweepAudit } from './files.ts';
import { event, filesIn, keptLog, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { verifyAudit } from './verify.ts';

const fileName = 'audit-2026-05-04.jsonl';

test('an operation is one line: operation, path, time, result and client, for the owner of the files alone', async () => {
  using folder = temporaryLog();
  const path = join(folder.path, 'audit');
  {
    await using audit = open(path);
    audit.note(event({ details: { rung: 'upload' } }));
  }
  const [file, opened, line] = linesOf(path);
  assert.deepEqual([file!.operation, file!.details!['file']], ['audit.file', fileName]);
  assert.deepEqual([opened!.operation, opened!.details], ['audit.opened', { head: 'none' }]);
  const { prev, hash, ...told } = line!;
  assert.deepEqual(told, {
    seq: 3,
    time: '2026-05-04T12:00:00.000Z',
    ...event({ details: { rung: 'upload' } }),
  });
  assert.deepEqual([prev, hash.length], [opened!.hash, 64]);
  const modes = ['', fileName, 'audit-head.json'].map((name) => statSync(join(path, name)).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o600, 0o600]);
  recordProof('E8:line-with-operation-path-time-result-client');
});

test('a violation is a warning with its kind, where it was refused and how often it was tried before', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path, { level: 'warning' });
    audit.note(event());
    const { level: _, ...tried } = event({ subject: '../../etc/passwd', result: 'path_refused' });
    const refused = (): Error => new WorkcrateError('path_refused', 'x\n    at (file:///src/forged.ts:1:1)');
    const counts = [0, 1, 2].map(() => audit.violation(tried, 'parent', refused()));
    assert.deepEqual([...counts, audit.violation(tried, 'null byte', refused())], [0, 1, 2, 0]);
    const twice = refused();
    audit.violation({ ...tried, user: 'eve' }, 'parent', twice);
    audit.violation({ ...tried, operation: 'other' }, 'parent', twice);
  }
  const lines = linesOf(folder.path).filter(({ operation }) => operation === 'read_client_file');
  assert.deepEqual(
    lines.map(({ level, user, details }) => [level, user, details!['kind'], details!['repeats']]),
    [
      ['warning', 'ada', 'parent', 0],
      ['warning', 'ada', 'parent', 1],
      ['warning', 'ada', 'parent', 2],
      ['warning', 'ada', 'null byte', 0],
      ['warning', 'eve', 'parent', 0],
    ],
  );
  assert.match(
    String(lines[0]!.details!['where']),
    /^src\/core\/audit\/open\.test\.ts:\d+( < src\/[\w/.-]+:\d+)*$/,
  );
  assert.equal(linesOf(folder.path).length, 7);
  recordProof('E8:violation-with-kind-stack-and-repeats');
});

test('no subject, user or client can forge a line, act on a terminal or make a line too long', async () => {
  using folder = temporaryLog();
  const hostile = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\n', '\u001b[2J', '\u202e', '\ud800', '"}\n{"seq":1'),
      ),
    )
    .map((parts) => parts.join(''));
  const given: string[] = [];
  {
    await using audit = open(folder.path);
    fc.assert(
      fc.property(hostile, (text) => {
        given.push(text);
        audit.note(event({ subject: text, user: text, client: text, details: { [text]: text } }));
      }),
      { numRuns: 100 },
    );
    audit.note(event({ subject: 'ü'.repeat(2 ** 19), operation: '\u0000'.repeat(1e6) }));
  }
  const text = readFileSync(join(folder.path, fileName), 'utf8');
  assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e]/u);
  const lines = linesOf(folder.path).slice(2);
  assert.deepEqual(
    lines.slice(0, -1).map(({ subject }) => subject),
    given,
  );
  const { subject, details, operation } = lines.at(-1)!;
  assert.deepEqual(details, { subject_bytes: 2 ** 20 });
  assert.match(subject!, /^ü{2046}…$/);
  assert.ok(operation.length <= 200);
  assert.equal((await verifyAudit(folder.path, null)).ok, true);
});

test('each day has a file that goes on from the one before, also after a restart and with the clock set back', async () => {
  using folder = temporaryLog();
  let now = noon;
  const clock = () => now;
  {
    await using audit = open(folder.path, { clock });
    audit.note(event());
    now += auditDayMs;
    audit.note(event());
  }
  now += auditDayMs;
  {
    await using audit = open(folder.path, { clock });
    audit.note(event());
    await audit.flush();
    now -= auditDayMs;
    audit.note(event({ subject: 'back' }));
  }
  assert.deepEqual(filesIn(folder.path), [fileName, 'audit-2026-05-05.jsonl', 'audit-2026-05-06.jsonl']);
  assert.equal(linesOf(folder.path).at(-1)!.subject, 'back');
  const { ok, files, lines, first, last, notes } = await verifyAudit(folder.path, null);
  assert.deepEqual([ok, files, lines, first!.seq, last!.seq, notes], [true, 3, 9, 1, 9, []]);
});

test('days beyond the retention are removed as whole files, and the rest is told to begin later', async () => {
  using folder = temporaryLog();
  let now = noon;
  for (const day of [0, 1, 2, 3]) {
    now = noon + day * auditDayMs;
    await using audit = open(folder.path, { clock: () => now, retentionDays: 2 });
    audit.note(event());
  }
  assert.equal(filesIn(folder.path).length, 3);
  const { ok, first, notes } = await verifyAudit(folder.path, null);
  assert.deepEqual([ok, first!.seq], [true, 4]);
  assert.match(notes[0]!.what, /begins at seq 4/);
  assert.equal(await sweepAudit(folder.path, now, 1), 1);
  assert.equal((await verifyAudit(folder.path, null)).ok, true);
});

test('a second process on the same log is refused', async () => {
  using folder = temporaryLog();
  await using audit = open(folder.path);
  audit.note(event());
  assert.throws(() => open(folder.path), { code: 'data_in_use' });
});

const WRITER = `
  import { open, event } from './log.testing.ts';
  const audit = open(process.argv[1], { key: 'k' });
  const write = () => { for (let n = 0; n < 500; n++) audit.note(event({ subject: 'x'.repeat(4000) })); setImmediate(write); };
  write();
  audit.flush().then(() => console.log('on disk'));`;

test('a writer that is killed leaves a log that verifies, and that goes on', async () => {
  using folder = temporaryLog();
  const child = spawn(process.execPath, ['--input-type=module', '--eval', WRITER, '--', folder.path], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  const killed = await verifyAudit(folder.path, 'k');
  assert.deepEqual(killed.problems, []);
  assert.ok(killed.lines >= 500);
  {
    await using audit = open(folder.path, { key: 'k' });
    audit.note(event());
  }
  const { problems, last } = await verifyAudit(folder.path, 'k');
  assert.deepEqual(problems, []);
  assert.equal(last!.seq, killed.last!.seq + 2);
});

test('a line that a crash has torn stays as evidence, the same day and the next', async () => {
  for (const later of [0, auditDayMs]) {
    using folder = temporaryLog();
    {
      await using audit = open(folder.path);
      audit.note(event());
    }
    appendFileSync(join(folder.path, fileName), '{"seq":4,"time":"2026-05');
    assert.match((await verifyAudit(folder.path, null)).notes[0]!.what, /incomplete/);
    for (const _ of [1, 2]) {
      await using audit = open(folder.path, { clock: () => noon + later });
      audit.note(event());
    }
    const { ok, notes, lines } = await verifyAudit(folder.path, null);
    assert.deepEqual([ok, lines], [true, later === 0 ? 7 : 8]);
    assert.deepEqual(notes, [{ file: fileName, line: 4, what: 'an incomplete line: the server crashed' }]);
  }
});

test('a line is in the file at once, and on disk once it is synced', async () => {
  using folder = temporaryLog();
  await using audit = open(folder.path);
  audit.note(event({ subject: 'first' }));
  assert.equal(linesOf(folder.path).at(-1)!.subject, 'first');
  await Promise.all([audit.synced(), audit.synced()]);
  const head = JSON.parse(readFileSync(join(folder.path, 'audit-head.json'), 'utf8')) as { seq: number };
  assert.equal(head.seq, 3, 'the first sync of a file brings its name and the head to disk as well');
  audit.note(event({ subject: 'second' }));
  await audit.synced();
  assert.equal(linesOf(folder.path).at(-1)!.subject, 'second');
});

test('a sync that fails is told, and whoever waits for it goes on', async () => {
  using folder = temporaryLog();
  const { log, events } = keptLog();
  await using audit = open(folder.path, { log });
  mkdirSync(join(folder.path, fileName));
  audit.note(event());
  await audit.synced();
  assert.deepEqual(events, ['audit.write_failed']);
  rmdirSync(join(folder.path, fileName));
});

test('while nothing can be written, no number of other lines pushes out a violation, and what was lost is counted', async () => {
  using folder = temporaryLog();
  const told: [string, unknown][] = [];
  const keep = (name: string, facts?: Readonly<Record<string, unknown>>): void =>
    void told.push([name, facts?.['lost'] ?? facts?.['lines']]);
  mkdirSync(join(folder.path, fileName));
  {
    await using audit = open(folder.path, { log: { debug: keep, info: keep, warn: keep, error: keep } });
    audit.note(event());
    await assert.rejects(audit.flush(), { code: 'storage_failed' });
    for (let n = 0; n < 15_000; n++) audit.note(event({ user: 'mallory' }));
    audit.violation(event({ user: 'eve', result: 'path_refused' }), 'parent', new Error('no'));
    rmdirSync(join(folder.path, fileName));
  }
  const lines = linesOf(folder.path);
  assert.equal(lines.filter(({ user }) => user === 'eve').length, 1);
  assert.deepEqual(lines.find(({ operation }) => operation === 'audit.lost')!.details, { lines: 5001 });
  assert.equal(lines.length, 2 + 10_000 + 2);
  assert.deepEqual(told, [
    ['audit.write_failed', undefined],
    ['audit.lines_lost', undefined],
    ['audit.write_resumed', 5001],
  ]);
});

test('a link in place of the file is not followed, and is told', async () => {
  using folder = temporaryLog();
  const { log, events } = keptLog();
  symlinkSync(join(folder.path, 'elsewhere'), join(folder.path, fileName));
  {
    await using audit = open(folder.path, { log });
    audit.note(event());
    await assert.rejects(audit.flush(), { code: 'storage_failed' });
  }
  assert.deepEqual(events, ['audit.write_failed', 'audit.lines_lost']);
});

const UNSHARE = [
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=1500k none "$0" && exec "$@"',
];

const FILL = `
  import { rmSync, writeFileSync } from 'node:fs';
  import { open, event, keptLog, linesOf } from './log.testing.ts';
  import { verifyAudit } from './verify.ts';
  const folder = process.argv[1];
  const { log, events } = keptLog();
  const audit = open(folder, { log });
  await audit.flush();
  writeFileSync(folder + '/ballast', Buffer.alloc(600_000));
  for (let n = 0; n < 300; n++) audit.note(event({ subject: 'x'.repeat(4000) }));
  const code = await audit.flush().then(() => null, (error) => error.code);
  const full = await verifyAudit(folder, null);
  rmSync(folder + '/ballast');
  for (let n = 0; n < 10; n++) audit.note(event({ subject: 'after' }));
  await audit[Symbol.asyncDispose]();
  const after = await verifyAudit(folder, null);
  console.log(JSON.stringify({ code, full, after, events }));`;

test('a full disk is told, leaves no torn line, and lines go on when there is space', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-audit-'));
  t.after(() => rmdirSync(folder));
  if (spawnSync('unshare', [...UNSHARE, folder, 'true']).status !== 0)
    return t.skip('no tmpfs can be mounted here: unshare --map-root-user --mount is refused');
  const node = [process.execPath, '--input-type=module', '--eval', FILL, '--', folder];
  const child = spawnSync('unshare', [...UNSHARE, folder, ...node], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(child.status, 0, child.stderr);
  const { code, full, after, events } = JSON.parse(child.stdout);
  assert.equal(code, 'storage_full');
  assert.deepEqual([full.problems, full.notes, after.problems, after.notes], [[], [], [], []]);
  assert.ok(after.lines > full.lines);
  assert.equal(events[0], 'audit.write_failed');
});
