import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { auditDayMs } from './files.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import { event, filesIn, forged, noon, open, temporaryLog } from './log.testing.ts';
import { formatFoundPage, searchAudit, type AuditQuery } from './tools.ts';

describe('searching the audit log', () => {
  const folder = temporaryLog();
  const perDay = 2000;
  before(async () => {
    for (const day of [0, 1, 2]) {
      await using audit = open(folder.path, { clock: () => noon + day * auditDayMs });
      for (let n = 0; n < perDay; n++) audit.note(event({ subject: `docs/${day}/${n} ${'x'.repeat(200)}` }));
      const tried = event({ user: 'eve', subject: '../Ünder', result: 'path_refused', client: null });
      audit.violation(tried, 'parent', new Error('no'));
    }
  });
  after(() => folder[Symbol.dispose]());

  const search = (query: Partial<AuditQuery>, more = {}) => {
    const options = { key: null, signal: AbortSignal.timeout(60_000), ...more };
    return searchAudit(folder.path, { limit: 10, ...query }, options);
  };
  const subjects = async (query: Partial<AuditQuery>) =>
    (await search(query)).lines.map(({ subject }) => subject?.split(' ')[0]);

  it('gives the newest first, through all days', async () => {
    assert.deepEqual(await subjects({ limit: 3 }), ['../Ünder', 'docs/2/1999', 'docs/2/1998']);
    const { lines, next } = await search({ user: 'eve' });
    assert.deepEqual(
      lines.map(({ time, details, intact }) => [time.slice(0, 10), details!['kind'], intact]),
      ['2026-05-06', '2026-05-05', '2026-05-04'].map((day) => [day, 'parent', true]),
    );
    assert.equal(next, null);
  });

  it('by text in any case, operation, result, level and time', async () => {
    assert.deepEqual(await subjects({ text: 'DOCS/1/1234 ' }), ['docs/1/1234']);
    assert.equal((await subjects({ text: 'ünder' })).length, 3);
    assert.equal((await subjects({ result: 'failed' })).length, 3);
    assert.equal((await subjects({ result: 'path_refused', level: 'warning' })).length, 3);
    assert.equal((await subjects({ operation: 'audit.file' })).length, 3);
    assert.deepEqual(await subjects({ operation: 'audit' }), []);
    const second = { since: noon + auditDayMs, until: noon + 2 * auditDayMs };
    assert.deepEqual(await subjects({ ...second, limit: 2 }), ['../Ünder', 'docs/1/1999']);
    assert.equal((await search({ ...second, limit: 10_000 })).lines.length, perDay + 3);
  });

  it('pages give every line once, also where a page ends early for the bytes it has read', async () => {
    for (const mostBytes of [Infinity, 1000]) {
      const seen: number[] = [];
      let before: string | undefined;
      do {
        const page = await search({ limit: 700, before }, { mostBytes });
        seen.push(...page.lines.map(({ seq }) => seq));
        before = page.next ?? undefined;
      } while (before !== undefined);
      assert.equal(seen.length, 3 * (perDay + 3));
      assert.ok(seen.every((seq, at) => seq === seen.length - at));
    }
  });

  it('what is no place of a page is refused', async () => {
    for (const before of ['7', '2026-05-04', '../x:1', '2026-05-04.0:5'])
      await assert.rejects(search({ before }), { code: 'invalid_input' });
  });

  it('by the names of details and the level, and not by the number of a line', async () => {
    using own = temporaryLog();
    {
      await using audit = open(own.path, { key: 'k' });
      for (let n = 0; n < 31; n++) audit.violation(event({ subject: '../x' }), 'parent', new Error('no'));
    }
    const countOf = async (text: string): Promise<number> =>
      (await searchAudit(own.path, { text, limit: 100 }, { key: 'k' })).lines.length;
    assert.deepEqual([await countOf('Folded'), await countOf('warning')], [1, 31]);
    const { lines } = await searchAudit(own.path, { text: '29', limit: 100 }, { key: 'k' });
    assert.ok(lines.every(({ details }) => JSON.stringify(details).includes('29')));
  });

  it('a signal that has fired ends it', async () => {
    await assert.rejects(search({}, { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  });

  it('passes over what is no line, and marks what was changed', async () => {
    const path = join(folder.path, filesIn(folder.path).at(-1)!);
    writeFileSync(path, readFileSync(path, 'utf8').replace('docs/2/1999', 'docs/2/none'));
    appendFileSync(path, `{"seq":1}\n${'y'.repeat(1e6)}\n{"seq":99,"time":"torn`);
    const { lines } = await search({ limit: 3 });
    assert.deepEqual(
      lines.map(({ subject, intact }) => [subject!.split(' ')[0], intact]),
      [
        ['../Ünder', true],
        ['docs/2/none', false],
        ['docs/2/1998', true],
      ],
    );
  });
});

describe('a log that somebody has written to', () => {
  const hostile: Readonly<Record<string, unknown>>[] = [
    { level: 5 },
    { level: '\u001b[2J' },
    { time: '2026-05-04 (\u001b[2J\n)' },
    { subject: undefined },
    { user: undefined },
    { details: null },
    { details: { a: { b: 1 } } },
    { operation: { a: 1 } },
    { more: 1 },
  ];

  it('shows no line that is not of the form of one, and nothing that a terminal acts on', async () => {
    using folder = temporaryLog();
    {
      await using audit = open(folder.path, { key: 'k' });
      audit.note(event());
    }
    const [file] = filesIn(folder.path);
    for (const given of hostile) appendFileSync(join(folder.path, file!), forged(given));
    const said = { user: '\u009b2J', subject: '\u202e\n', details: { '\u001b[2J': '\u2028' } };
    appendFileSync(join(folder.path, file!), forged(said));
    const page = await searchAudit(folder.path, { limit: 50 }, { key: 'k' });
    assert.deepEqual(
      page.lines.map(({ intact }) => intact),
      [false, true, true, true],
    );
    const shown = formatFoundPage(page, String);
    assert.doesNotMatch(shown.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    assert.equal(shown.split('\n').length, 4);
    assert.doesNotMatch(toPlainJson(page), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('pages give every line once, whatever number a line has', async () => {
    using folder = temporaryLog();
    {
      await using audit = open(folder.path, { key: 'k' });
      for (let n = 0; n < 5; n++) audit.note(event());
    }
    const [file] = filesIn(folder.path);
    for (const seq of [0, 3, 900_000_000_000_000]) appendFileSync(join(folder.path, file!), forged({ seq }));
    const seen: number[] = [];
    for (let before: string | undefined, more = true; more;) {
      const page = await searchAudit(folder.path, { limit: 1, before }, { key: 'k' });
      seen.push(...page.lines.map(({ seq }) => seq));
      before = page.next ?? undefined;
      more = page.next !== null;
    }
    assert.deepEqual(seen, [900_000_000_000_000, 3, 0, 7, 6, 5, 4, 3, 2, 1]);
  });
});
