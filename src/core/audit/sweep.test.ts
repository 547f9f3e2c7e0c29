import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditDayMs, sweepAudit } from './files.ts';
import { event, filesIn, noon, open, temporaryLog } from './log.testing.ts';
import type { AuditOptions } from './open.ts';
import { searchAudit } from './tools.ts';
import { verifyAudit } from './verify.ts';

const days = ['04', '05', '06'].map((day) => `audit-2026-05-${day}.jsonl`);

/** One line at noon of each day, counted from the first, by one server. */
async function writeOn(
  folder: string,
  at: readonly number[],
  retentionDays = 90,
  more: Pick<AuditOptions, 'trustedTime'> = {},
): Promise<void> {
  let now = noon;
  await using audit = open(folder, { clock: () => now, key: 'k', retentionDays, ...more });
  for (const day of at) {
    now = noon + day * auditDayMs;
    audit.note(event({ subject: `day ${day}` }));
    await audit.flush();
  }
}

test('a clock that was ten years ahead for a day costs no line, and there is a file for each day again', async () => {
  using folder = temporaryLog();
  await writeOn(folder.path, [0, 1, 2, 3650, 3, 4]);
  const files = [...days, 'audit-2036-05-01.jsonl', 'audit-2026-05-07.1.jsonl', 'audit-2026-05-08.1.jsonl'];
  assert.deepEqual(filesIn(folder.path).toSorted(), files.toSorted());
  const { ok, notes, lines } = await verifyAudit(folder.path, 'k');
  assert.deepEqual([ok, notes, lines], [true, [], 13]);
  const found = await searchAudit(folder.path, { text: 'day', limit: 10 }, { key: 'k' });
  assert.deepEqual(
    found.lines.map(({ subject }) => subject),
    [4, 3, 3650, 2, 1, 0].map((day) => `day ${day}`),
  );
});

test('a clock that is ahead on two days costs no line as long as it is not trusted', async () => {
  using folder = temporaryLog();
  const trustedTime = async (now: number): Promise<number> => Math.min(now, noon + 2 * auditDayMs);
  await writeOn(folder.path, [0, 1, 2, 100, 101], 30, { trustedTime });
  assert.equal(filesIn(folder.path).length, 5);
  await writeOn(folder.path, [102], 30);
  assert.equal(filesIn(folder.path).length, 3, 'without the doubt they go');
});

test('the day of a clock that was ahead expires with the days around it, and the server goes on after a restart', async () => {
  using folder = temporaryLog();
  await writeOn(folder.path, [0, 1, 2, 3650], 2);
  await writeOn(folder.path, [3, 4], 2);
  assert.equal(filesIn(folder.path).length, 4);
  await writeOn(folder.path, [5, 6], 2);
  assert.deepEqual(
    filesIn(folder.path),
    ['08.1', '09.1', '10.1'].map((day) => `audit-2026-05-${day}.jsonl`),
  );
  assert.equal((await verifyAudit(folder.path, 'k')).ok, true);
});

test('a clock that is far back for a while costs no line either', async () => {
  using folder = temporaryLog();
  await writeOn(folder.path, [0, 1, 2, -20_000, 3, 4], 90);
  assert.equal(filesIn(folder.path).length, 6);
  const { ok, notes } = await verifyAudit(folder.path, 'k');
  assert.deepEqual([ok, notes], [true, []]);
});

test('without lines of a later day nothing is removed, whatever the clock says', async () => {
  using folder = temporaryLog();
  await writeOn(folder.path, [0, 1, 2]);
  assert.equal(await sweepAudit(folder.path, noon + 1000 * auditDayMs, 2), 0);
  assert.equal(await sweepAudit(folder.path, noon + 1000 * auditDayMs, 1), 1);
});

test('a line that was written after the clock was a day ahead is found by its own time', async () => {
  using folder = temporaryLog();
  await writeOn(folder.path, [0, 1, 0.1]);
  assert.deepEqual(filesIn(folder.path), days.slice(0, 2));
  const first = { since: Date.parse('2026-05-04'), until: Date.parse('2026-05-05'), text: 'day', limit: 10 };
  const { lines } = await searchAudit(folder.path, first, { key: 'k' });
  assert.deepEqual(
    lines.map(({ subject }) => subject),
    ['day 0.1', 'day 0'],
  );
});
