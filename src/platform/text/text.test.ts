import assert from 'node:assert/strict';
import { it } from 'node:test';
import { escapeControls, formatBytes, formatDuration, quoteName } from './text.ts';

it('sizes have the unit in which they are short', () => {
  for (const [bytes, text] of [
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1024, '1 KB'],
    [1536, '1.5 KB'],
    [200 * 1024, '200 KB'],
    [1024 ** 3, '1 GB'],
    [1.5 * 1024 ** 3, '1.5 GB'],
    [5000 * 1024 ** 4, '5000 TB'],
  ] as const)
    assert.equal(formatBytes(bytes), text);
});

it('times have at most two units, of which the smaller is left out where it is zero', () => {
  for (const [ms, text] of [
    [0, '0 ms'],
    [791, '791 ms'],
    [1000, '1 s'],
    [1249, '1.2 s'],
    [30_012, '30 s'],
    [59_960, '1 min'],
    [303_000, '5 min 3 s'],
    [7_500_000, '2 h 5 min'],
  ] as const)
    assert.equal(formatDuration(ms), text);
});

it('a name is quoted unless it is plain, so that none can pass for words of ours', () => {
  for (const plain of ['plot.png', '/artifacts/a.csv', 'Zürich_2026-11.csv', '-rf', '数据.txt'])
    assert.equal(quoteName(plain), plain);
  for (const [name, quoted] of [
    ['', '""'],
    ['a and 3 more', '"a and 3 more"'],
    ['a, 5 bytes', '"a, 5 bytes"'],
    ['a\nDone.', String.raw`"a\nDone."`],
    [' a', '" a"'],
    ['a ', '"a "'],
    ['say "x"', String.raw`"say \"x\""`],
    ['a\u2028b\u202e', String.raw`"a\u2028b\u202e"`],
    ['$(id)', '"$(id)"'],
  ] as const)
    assert.equal(quoteName(name), quoted);
});

it('in a message with fixed words, text of others stays as it is but for what ends a line or acts on a terminal', () => {
  assert.equal(escapeControls('a\\b\'c"d ü'), 'a\\b\'c"d ü');
  assert.equal(escapeControls('a\nb\u001b[2K\u2028c'), String.raw`a\u000ab\u001b[2K\u2028c`);
});
