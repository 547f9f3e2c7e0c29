import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditDayMs } from './files.ts';
import { event, filesIn, forged, linesOf, noon, open, temporaryLog } from './log.testing.ts';
import { verifyAudit } from './verify.ts';

const crashed = 'an incomplete line: the server crashed';

async function write(folder: string, day = 0): Promise<void> {
  await using audit = open(folder, { key: 'k', clock: () => noon + day * auditDayMs });
  audit.note(event());
}

const lastFile = (folder: string): string => join(folder, filesIn(folder).at(-1)!);
const whatOf = (remarks: readonly { what: string }[]): string[] => remarks.map(({ what }) => what);

test('two crashes in a row, within a file or across two, are told and are no tampering', async () => {
  for (const day of [0, 1]) {
    using folder = temporaryLog();
    await write(folder.path);
    appendFileSync(lastFile(folder.path), '{"seq":4,"time":"2026-05');
    const before = day === 0 ? readFileSync(lastFile(folder.path)).length : 0;
    const head = readFileSync(join(folder.path, 'audit-head.json'));
    await write(folder.path, day);
    truncateSync(lastFile(folder.path), before + 60);
    writeFileSync(join(folder.path, 'audit-head.json'), head);
    assert.deepEqual((await verifyAudit(folder.path, 'k')).problems, []);
    await write(folder.path, day);
    await write(folder.path, day + 1);
    const { problems, notes } = await verifyAudit(folder.path, 'k');
    assert.deepEqual([problems, whatOf(notes)], [[], [crashed]]);
  }
});

test('however many zeros a loss of power has left, they are told and are no tampering', async () => {
  for (const zeros of [1000, 300_000, 600_000, 5_000_000]) {
    using folder = temporaryLog();
    await write(folder.path);
    appendFileSync(lastFile(folder.path), Buffer.alloc(zeros));
    assert.deepEqual((await verifyAudit(folder.path, 'k')).problems, []);
    await write(folder.path);
    await write(folder.path);
    const { problems, notes, lines } = await verifyAudit(folder.path, 'k');
    assert.deepEqual([problems, whatOf(notes), lines], [[], [crashed], 7], `${zeros}`);
  }
});

test('what a crash has left cannot be removed or changed unseen', async () => {
  for (const instead of ['', '{"seq":4,"time":"2027']) {
    using folder = temporaryLog();
    await write(folder.path);
    const torn = '{"seq":4,"time":"2026';
    appendFileSync(lastFile(folder.path), torn);
    await write(folder.path);
    const text = readFileSync(lastFile(folder.path), 'utf8');
    const changed = instead === '' ? text.replace(`${torn}\n`, '') : text.replace(torn, instead);
    writeFileSync(lastFile(folder.path), changed);
    assert.equal((await verifyAudit(folder.path, 'k')).problems.length, 1);
  }
});

test('a forged line is not gone on from, whatever number it has', async () => {
  for (const seq of [4, 9_999_999_999_999_998]) {
    using folder = temporaryLog();
    await write(folder.path);
    appendFileSync(lastFile(folder.path), forged({ seq }));
    await write(folder.path);
    assert.deepEqual(
      linesOf(folder.path)
        .slice(4)
        .map((line) => line.seq),
      [4, 5],
    );
    assert.equal((await verifyAudit(folder.path, 'k')).ok, false);
  }
});
