import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditDayMs } from './files.ts';
import { event, filesIn, keptLog, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { searchAudit } from './tools.ts';
import { verifyAudit } from './verify.ts';

/** What may stand where a file should. A pipe that is opened in the usual way waits for ever. */
const things: Readonly<Record<string, (path: string) => void>> = {
  pipe: (path) => void execFileSync('mkfifo', [path]),
  folder: (path) => mkdirSync(path),
  link: (path) => symlinkSync('/dev/zero', path),
};

for (const [name, make] of Object.entries(things)) {
  test(`with a ${name} among its files the log goes on, is searched, and verifying tells of it and of all else`, async () => {
    using folder = temporaryLog();
    {
      await using audit = open(folder.path);
      audit.note(event());
    }
    make(join(folder.path, 'audit-2026-05-01.jsonl'));
    make(join(folder.path, 'audit-2026-05-09.jsonl'));
    {
      await using audit = open(folder.path, { clock: () => noon + auditDayMs });
      audit.note(event({ subject: 'later' }));
    }
    const { problems, lines } = await verifyAudit(folder.path, null);
    assert.deepEqual(
      problems.map(({ file }) => file),
      ['audit-2026-05-01.jsonl', 'audit-2026-05-09.jsonl'],
    );
    assert.equal(lines, 6);
    const found = await searchAudit(folder.path, { limit: 1, user: 'ada' }, { key: null });
    assert.equal(found.lines[0]!.subject, 'later');
    const all = await searchAudit(folder.path, { limit: 50 }, { key: null });
    assert.deepEqual(all.passedOver, ['audit-2026-05-09.jsonl', 'audit-2026-05-01.jsonl']);
  });

  test(`a ${name} in place of the head, or of the file of today, stops no server and is told`, async () => {
    using folder = temporaryLog();
    const { log, events } = keptLog();
    const head = join(folder.path, 'audit-head.json');
    {
      await using audit = open(folder.path, { log });
      audit.note(event());
      await audit.flush();
      const today = join(folder.path, filesIn(folder.path)[0]!);
      renameSync(today, `${today}.moved`);
      rmSync(head);
      make(head);
      make(today);
      audit.note(event());
      await assert.rejects(audit.flush(), { code: 'storage_failed' });
      audit.note(event());
      await assert.rejects(audit.flush(), { code: 'storage_failed' });
    }
    assert.deepEqual(events.slice(0, 2), ['audit.settle_failed', 'audit.write_failed']);
    assert.equal((await verifyAudit(folder.path, null)).ok, false);
  });
}

test('a pipe where the next head is written is put aside', async () => {
  using folder = temporaryLog();
  things['pipe']!(join(folder.path, 'audit-head.json.new'));
  {
    await using audit = open(folder.path);
    audit.note(event());
  }
  assert.equal(linesOf(folder.path).length, 3);
  assert.equal((await verifyAudit(folder.path, null)).ok, true);
});
