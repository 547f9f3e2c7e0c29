import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paragraph, str } from './ast.testing.ts';
import type { PandocInline } from './ast.ts';
import { isParagraph, toInlineText, applyTypography, toWordInlines } from './text.ts';

function curled(...inlines: PandocInline[]): string {
  const [block] = applyTypography(paragraph(...inlines)).blocks;
  assert.ok(block !== undefined && isParagraph(block));
  return toInlineText(block.c);
}

const cases: [given: string, expected: string][] = [
  ['"one" and \'two\'', '“one” and ‘two’'],
  ['("one" or "two")', '(“one” or “two”)'],
  ["it's the '90s", 'it’s the ’90s'],
  ['"\'a\' b"', '“‘a’ b”'],
  ['1--2 and a---b', '1–2 and a—b'],
  ['-- "a"--"b"', '– “a”–“b”'],
  ['wait... no.... and ..', 'wait… no.... and ..'],
  ['run --flag now', 'run --flag now'],
  ['-----', '-----'],
  ['https://a.b/c--d?x="y"', 'https://a.b/c--d?x="y"'],
  ['5\'10"', '5’10”'],
  ['😀"a"', '😀”a”'],
];

for (const [given, expected] of cases)
  test(`${given} is set as ${expected}`, () => assert.equal(curled(...toWordInlines(given)), expected));

test('marks around emphasis open and close', () => {
  assert.equal(curled(str('"'), { t: 'Emph', c: [str('a')] }, str('"')), '“a”');
  assert.equal(curled({ t: 'Emph', c: [str('"a"')] }), '“a”');
});

test('code and maths stay as they are', () => {
  const code: PandocInline = { t: 'Code', c: [['', [], []], '"a" -- b'] };
  assert.equal(curled(code, { t: 'Math', c: [{ t: 'InlineMath' }, "f'"] }), '"a" -- bf\'');
});

// In quadratic time it would take minutes: the limit only keeps a failure from hanging the suite.
test('a word of a million marks takes no quadratic time', { timeout: 60_000 }, () => {
  for (const sign of ['"', "'", '-', '.', '"\'']) curled(str(sign.repeat(1_000_000 / sign.length)));
});
