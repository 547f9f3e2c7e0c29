import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noAuditUser, type AuditEvent } from './audit.ts';
import { event, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { verifyAudit } from './verify.ts';
import { createFolding } from './violations.ts';

const refused = (given: Partial<AuditEvent> = {}): AuditEvent =>
  event({ subject: '../x', result: 'path_refused', ...given });

test('a flood of violations is thirty lines a minute of each kind, and one that tells how many more came', async () => {
  using folder = temporaryLog();
  let now = noon;
  {
    await using audit = open(folder.path, { level: 'warning', clock: () => now });
    const flood = (user: string, count: number): number[] =>
      Array.from({ length: count }, (_, at) =>
        audit.violation(refused({ user, subject: `../${at}` }), 'parent', new Error('no')),
      );
    assert.equal(flood('eve', 1000).at(-1), 999);
    flood('ada', 1);
    now += 60_000;
    flood('eve', 2);
  }
  const lines = linesOf(folder.path).slice(2);
  const shown = lines.map(({ user, subject, details }) => [
    user,
    subject,
    details!['repeats'],
    details!['folded'],
  ]);
  assert.deepEqual(shown, [
    ...Array.from({ length: 30 }, (_, at) => ['eve', `../${at}`, at, undefined]),
    ['ada', '../0', 0, undefined],
    ['eve', '../999', 999, 970],
    ['eve', '../0', 1000, undefined],
    ['eve', '../1', 1001, undefined],
  ]);
  assert.equal((await verifyAudit(folder.path, null)).ok, true);
});

test('a user who varies what is refused has a hundred lines a minute, and a hundred more that fold the rest', () => {
  const noted: AuditEvent[] = [];
  const { take, tell } = createFolding(
    (one) => noted.push(one),
    () => noon,
  );
  for (let n = 0; n < 5000; n++) take(refused({ operation: `tool ${n % 1000}` }), `kind ${n % 1000}`);
  assert.equal(noted.length, 100);
  tell();
  tell();
  const folds = noted.slice(100);
  assert.equal(folds.length, 101);
  assert.equal(
    folds.reduce((sum, { details }) => sum + Number(details!['folded']), 0),
    4900,
  );
  assert.deepEqual(folds.at(-1)!.details, { folded: 4500, kind: 'others' });
});

test('what was folded is told within a minute, also where nothing more comes', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const noted: AuditEvent[] = [];
  const { take } = createFolding(
    (one) => noted.push(one),
    () => noon,
  );
  for (let n = 0; n < 32; n++) take(refused(), 'parent');
  assert.equal(noted.length, 30);
  t.mock.timers.tick(60_000);
  assert.deepEqual([noted.length, noted.at(-1)!.details!['folded']], [31, 2]);
});

test('a flood of invented tokens hides no link that is known, and neither does another link', () => {
  const noted: AuditEvent[] = [];
  const { take, tell } = createFolding(
    (one) => noted.push(one),
    () => noon,
  );
  const tried = (subject: string, owner: string | null = null): void =>
    take(
      refused({ user: noAuditUser, operation: 'download', subject, ...(owner && { details: { owner } }) }),
      owner === null ? 'unknown_token' : 'revoked_link',
    );
  const linesAbout = (subject: string): number => noted.filter((one) => one.subject === subject).length;
  for (let n = 0; n < 500; n++) tried(`invented ${n}`);
  tried('of ada', 'ada');
  for (let n = 0; n < 500; n++) tried(`own ${n % 10}`, 'eve');
  tried('of eve', 'eve');
  tried('of bob', 'bob');
  assert.deepEqual(['of ada', 'of eve', 'of bob'].map(linesAbout), [1, 0, 1]);
  tell();
  assert.equal(linesAbout('of eve'), 1);
  assert.ok(noted.length <= 30 + 1 + 100 + 11 + 1 + 1, `${noted.length}`);
});

test('what is remembered of violations is no longer than lines, and is given back when their minute is over', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = noon;
  const noted: AuditEvent[] = [];
  const folding = createFolding(
    (one) => noted.push(one),
    () => now,
  );
  const long = refused({ subject: 'x '.repeat(50_000) });
  for (let n = 0; n < 31; n++) folding.take(long, 'parent');
  folding.take(refused({ user: 'once' }), 'parent');
  assert.equal(folding.remembered(), 2);
  now += 60_000;
  t.mock.timers.tick(60_000);
  assert.equal(folding.remembered(), 0);
  const { subject, details } = noted.at(-1)!;
  assert.deepEqual(
    [subject!.length < 4100, details!['folded'], details!['subject_bytes']],
    [true, 1, 100_000],
  );
});

test('users are bounded: the one who is forgotten is told first', () => {
  const noted: AuditEvent[] = [];
  const { take } = createFolding(
    (one) => noted.push(one),
    () => noon,
  );
  for (let n = 0; n < 31; n++) take(refused({ user: 'first' }), 'parent');
  for (let n = 0; n < 10_000; n++) take(refused({ user: `user ${n}` }), 'parent');
  assert.equal(noted.filter(({ details }) => details?.['folded'] === 1).length, 1);
});
