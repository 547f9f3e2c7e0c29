import assert from 'node:assert/strict';
import { cpSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { auditDayMs } from './files.ts';
import { event, filesIn, noon, open, temporaryLog } from './log.testing.ts';
import { verifyAudit } from './verify.ts';

const head = 'audit-head.json';

/** Three days, and a restart on each. */
async function writeThreeDays(folder: string, key: string | null): Promise<void> {
  for (const day of [0, 0.1, 1, 1.1, 2, 2.1]) {
    await using audit = open(folder, { key, clock: () => noon + day * auditDayMs });
    for (const subject of ['a', 'b']) audit.note(event({ subject }));
  }
}

/** A copy of a log in which something was done. */
async function after(folder: string, key: string | null, harm: (copy: string) => void) {
  using copy = temporaryLog();
  cpSync(folder, copy.path, { recursive: true });
  harm(copy.path);
  return await verifyAudit(copy.path, key);
}

const textOf = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
const linesIn = (folder: string, file: string): string[] => textOf(folder, file).split(/(?<=\n)/);

for (const key of [null, 'a key'])
  test(`${key === null ? 'without' : 'with'} a key, any byte that was changed and any line that was removed, added or moved is found`, async () => {
    using folder = temporaryLog();
    await writeThreeDays(folder.path, key);
    assert.deepEqual((await verifyAudit(folder.path, key)).problems, []);
    const files = filesIn(folder.path);
    const foundAfter = async (file: string, changed: string | Buffer): Promise<void> => {
      const { ok } = await after(folder.path, key, (copy) => writeFileSync(join(copy, file), changed));
      assert.equal(ok, false);
    };
    const byte = fc.tuple(fc.constantFrom(...files, head), fc.nat(), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(byte, async ([file, at, by]) => {
        const bytes = readFileSync(join(folder.path, file));
        bytes[at % bytes.length]! ^= by;
        await foundAfter(file, bytes);
      }),
      { numRuns: 150 },
    );
    const kinds = fc.constantFrom('remove', 'swap', 'repeat', 'insert', 'cut');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...files), fc.nat(), kinds, async (file, nat, kind) => {
        const lines = linesIn(folder.path, file);
        const at = nat % lines.length;
        const other = (at + 1 + (nat % (lines.length - 1))) % lines.length;
        if (kind === 'remove') lines.splice(at, 1);
        if (kind === 'swap') [lines[at], lines[other]] = [lines[other]!, lines[at]!];
        if (kind === 'repeat') lines.splice(at + 1, 0, lines[at]!);
        if (kind === 'insert') lines.splice(nat % (lines.length + 1), 0, nat % 2 ? '{"forged":1}\n' : '\n');
        if (kind === 'cut') lines.length = at;
        await foundAfter(file, lines.join(''));
      }),
      { numRuns: 100 },
    );
  });

test('a file or a head that was removed, emptied, renamed or taken from another log is found', async () => {
  using folder = temporaryLog();
  using other = temporaryLog();
  await writeThreeDays(folder.path, null);
  await writeThreeDays(other.path, 'x');
  const [first, second, third] = filesIn(folder.path) as [string, string, string];
  const harms: Record<string, (copy: string) => void> = {
    'hole in the middle': (copy) => rmSync(join(copy, second)),
    'newest removed': (copy) => rmSync(join(copy, third)),
    'all removed': (copy) => filesIn(copy).forEach((file) => rmSync(join(copy, file))),
    'head removed': (copy) => rmSync(join(copy, head)),
    emptied: (copy) => truncateSync(join(copy, third), 0),
    renamed: (copy) => renameSync(join(copy, third), join(copy, 'audit-2026-05-09.jsonl')),
    swapped: (copy) => writeFileSync(join(copy, first), textOf(copy, second)),
    'of another log': (copy) => cpSync(join(other.path, second), join(copy, second)),
    'head of another log': (copy) => cpSync(join(other.path, head), join(copy, head)),
  };
  for (const [name, harm] of Object.entries(harms))
    assert.equal((await after(folder.path, null, harm)).ok, false, name);
  const beginning = await after(folder.path, null, (copy) => rmSync(join(copy, first)));
  assert.deepEqual([beginning.ok, beginning.notes.length], [true, 1]);
});

test('what was cut off, or lost its head, is still found when the server has gone on', async () => {
  const harms: ((folder: string) => void)[] = [
    (folder) => {
      const file = filesIn(folder).at(-1)!;
      writeFileSync(join(folder, file), linesIn(folder, file).slice(0, -1).join(''));
    },
    (folder) => {
      const file = filesIn(folder).at(-1)!;
      writeFileSync(join(folder, file), `${textOf(folder, file)}{"forged":1}\n`);
    },
    (folder) => rmSync(join(folder, filesIn(folder).at(-1)!)),
    (folder) => rmSync(join(folder, head)),
    (folder) => writeFileSync(join(folder, head), textOf(folder, head).replace(/"seq":\d+/, '"seq":1')),
  ];
  for (const harm of harms) {
    using folder = temporaryLog();
    await writeThreeDays(folder.path, 'k');
    harm(folder.path);
    {
      await using audit = open(folder.path, { key: 'k', clock: () => noon + 3 * auditDayMs });
      audit.note(event());
    }
    const { ok, problems } = await verifyAudit(folder.path, 'k');
    assert.equal(ok, false, String(harm));
    assert.ok(problems.length <= 2, JSON.stringify(problems));
  }
});

test('a file that is removed while the server writes is found', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path);
    audit.note(event());
    await audit.flush();
    rmSync(join(folder.path, filesIn(folder.path)[0]!));
    audit.note(event());
    await assert.rejects(audit.flush(), { code: 'storage_failed' });
    audit.note(event());
  }
  assert.equal((await verifyAudit(folder.path, null)).ok, false);
});

test('all files and the head removed while the server writes are found', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path, { key: 'k' });
    for (let n = 0; n < 60; n++) audit.note(event());
    await audit.flush();
    for (const file of [...filesIn(folder.path), head]) rmSync(join(folder.path, file));
    audit.note(event());
    await assert.rejects(audit.flush(), { code: 'storage_failed' });
    audit.note(event());
  }
  const { problems, lines } = await verifyAudit(folder.path, 'k');
  assert.deepEqual([problems.length, lines], [1, 3]);
  assert.match(problems[0]!.what, /^all files and audit-head\.json were missing when this was written$/);
});

test('lines that were moved to the file of the day before are found, also when the server has gone on', async () => {
  using folder = temporaryLog();
  await writeThreeDays(folder.path, 'k');
  const [, second, third] = filesIn(folder.path) as [string, string, string];
  writeFileSync(join(folder.path, second), textOf(folder.path, second) + textOf(folder.path, third));
  truncateSync(join(folder.path, third), 0);
  {
    await using audit = open(folder.path, { key: 'k', clock: () => noon + 3 * auditDayMs });
    audit.note(event());
  }
  const { problems } = await verifyAudit(folder.path, 'k');
  assert.deepEqual(
    problems.map(({ file, what }) => [file, what]),
    [[second, 'a file begins here within another: lines were moved']],
  );
});

test('where no line fits the key, that is one problem', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path, { key: 'theirs' });
    for (let n = 0; n < 300; n++) audit.note(event());
  }
  for (const [key, said] of [
    [null, /give it with --audit-key/],
    ['ours', /no line matches this key/],
  ] as const) {
    const { ok, problems, lines } = await verifyAudit(folder.path, key);
    assert.deepEqual([ok, lines, problems.map(({ file }) => file)], [false, 302, ['the log', head]]);
    assert.match(problems[0]!.what, said);
  }
});

test('lines in a row of which the same is true are one problem, and problems are bounded', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path);
    for (let n = 0; n < 500; n++) audit.note(event());
  }
  const file = filesIn(folder.path)[0]!;
  const changedWhere = (isChanged: (at: number) => boolean) => (copy: string) => {
    const lines = linesIn(copy, file).map((line, at) => (isChanged(at) ? line.replace('ada', 'eve') : line));
    writeFileSync(join(copy, file), lines.join(''));
  };
  const row = await after(
    folder.path,
    null,
    changedWhere((at) => at >= 10 && at < 300),
  );
  assert.deepEqual(
    row.problems.map(({ line, to }) => [line, to]),
    [[11, 300]],
  );
  const many = await after(
    folder.path,
    null,
    changedWhere((at) => at % 2 === 0),
  );
  assert.equal(many.problems.length, 100);
  const noLines = await after(folder.path, null, (copy) =>
    writeFileSync(join(copy, file), `${textOf(copy, file)}\n\n\n`),
  );
  assert.deepEqual(noLines.problems, [{ file, line: 503, to: 505, what: 'this is not a line of the log' }]);
});

test('no log is a problem, and so is a megabyte without an end', async () => {
  using folder = temporaryLog();
  assert.deepEqual(await verifyAudit(join(folder.path, 'none'), null), {
    ok: false,
    files: 0,
    lines: 0,
    first: null,
    last: null,
    problems: [{ file: head, line: null, what: 'there is no log' }],
    notes: [],
  });
  await writeThreeDays(folder.path, null);
  const file = filesIn(folder.path)[1]!;
  const { ok, lines } = await after(folder.path, null, (copy) =>
    writeFileSync(join(copy, file), `${'x'.repeat(3e6)}\n${textOf(copy, file)}`),
  );
  assert.deepEqual([ok, lines], [false, 21]);
});

test('files that expire while a log is read are no tampering', async () => {
  using folder = temporaryLog();
  for (const day of [0, 1, 2, 3, 4]) {
    await using audit = open(folder.path, { key: 'k', clock: () => noon + day * auditDayMs });
    audit.note(event());
  }
  // At every step of the reading.
  for (let steps = 0; steps < 40; steps++) {
    using copy = temporaryLog();
    cpSync(folder.path, copy.path, { recursive: true });
    const verifying = verifyAudit(copy.path, 'k');
    for (let step = 0; step < steps; step++) await setImmediate();
    for (const file of filesIn(copy.path).slice(0, 3)) rmSync(join(copy.path, file));
    assert.deepEqual((await verifying).problems, [], `after ${steps} steps`);
  }
});
