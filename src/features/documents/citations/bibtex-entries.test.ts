import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBibEntries, rewriteBibEntries } from './bibtex.ts';

test('entries are found with their keys and lines; strings, comments and any proxy in between are not', () => {
  const text =
    '% a@b.c\n@string{x = "y"}\n@Book { key:1 , title = {a \\} @b {c} "d"}}\nfree @text\n@misc{only}\n@misc{title = {x}}';
  assert.deepEqual(
    parseBibEntries(text).map(({ type, key, line, closed }) => [type, key, line, closed]),
    [
      ['Book', 'key:1', 3, true],
      ['misc', 'only', 5, true],
      ['misc', null, 6, true],
    ],
  );
});

test('whatever the text is, entries follow each other, and exchanging them for themselves changes nothing', () => {
  const piece = fc.constantFrom(
    '@book{',
    'a',
    ',',
    ' title = ',
    '{',
    '}',
    '"',
    '\\',
    '\n',
    '@',
    '@comment{',
    '=',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      const entries = parseBibEntries(text);
      for (const [at, { start, end, fieldsAt }] of entries.entries())
        assert.ok(
          start >= (entries[at - 1]?.end ?? 0) && start < fieldsAt && start < end && end <= text.length,
        );
      assert.equal(
        rewriteBibEntries(text, entries, (own) => own),
        text,
      );
    }),
    { numRuns: 500 },
  );
});
