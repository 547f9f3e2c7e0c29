import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseFreeFormDate } from './dates.ts';

test('dates in the form of ISO 8601 stay as they are', () => {
  for (const text of [
    '2023',
    '2023-05',
    '2023-05-01',
    '2024-02-29',
    '2022-01-04T13:00Z',
    '2025-12-02T08:39:54+00:00',
    '2022-02-17T09:30:15.975078',
    '2022-01-04T13:00:00+0100',
    '0099-12-31',
  ])
    assert.deepEqual(parseFreeFormDate(text), { iso: text, year: Number(text.slice(0, 4)), isIso: true });
});

test('dates in other forms are read as far as they are clear', () => {
  const cases: [string, string | null][] = [
    ['11/27/2023', '2023-11-27'],
    ['27/11/2023', '2023-11-27'],
    ['27.11.2023', '2023-11-27'],
    ['01.02.2023', '2023-02-01'],
    ['05/06/2023', '2023'],
    ['05/05/2023', '2023-05-05'],
    ['2023-5-1', '2023-05-01'],
    ['2023/05/01', '2023-05-01'],
    ['2023.5.1', '2023-05-01'],
    ['20230501', '2023-05-01'],
    [' 2023-05-01 ', '2023-05-01'],
    ['2020-06-25 17:03:04.098286', '2020-06-25T17:03:04.098286'],
    ['2020-06-25 17:03:04 UTC', '2020-06-25T17:03:04Z'],
    ['2023-05-01T99:99', '2023-05-01'],
    ['2023-02-30', '2023'],
    ['2023-13-01', '2023'],
    ['27 November 2023', '2023-11-27'],
    ['Nov. 27th, 2023', '2023-11-27'],
    ['Mon, 27 Nov 2023 10:00:00 GMT', '2023-11-27'],
    ['November 2023', '2023-11'],
    ['1701043200', '2023-11-27T00:00:00.000Z'],
    ['1701043200000', '2023-11-27T00:00:00.000Z'],
    ['2019-2023', '2019'],
    ['2019/2023', '2019'],
    ['ca. 1850', '1850'],
    ['UNPUBLISHED', null],
    ['', null],
    ['12', null],
    ['99999', null],
    ['May', null],
    ['x'.repeat(1000), null],
  ];
  for (const [text, iso] of cases) {
    const date = parseFreeFormDate(text);
    assert.equal(date?.iso ?? null, iso, text);
    if (date !== null) assert.equal(date.isIso, false, text);
  }
});

test('whatever is read is a date, and its year is the year', () => {
  const parts = fc.constantFrom(
    '2023',
    '5',
    '31',
    '02',
    '-',
    '/',
    '.',
    ' ',
    'T',
    ':',
    'May',
    '1701043200',
    'Z',
    '+01:00',
    '24',
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(parts, { maxLength: 9 }).map((list) => list.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const date = parseFreeFormDate(text);
      if (date === null) return;
      assert.match(date.iso, /^\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}\S*)?)?)?$/);
      assert.equal(date.year, Number(date.iso.slice(0, 4)));
      assert.ok(!Number.isNaN(Date.parse(date.iso.slice(0, 10))), date.iso);
    }),
    { numRuns: 2000 },
  );
});
