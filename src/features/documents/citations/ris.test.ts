import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { readRis } from './ris.ts';

const broken: [what: string, text: string, line: number, message: RegExp][] = [
  ['a line that is no field', 'TY  - JOUR\nAU Doe, J\nER  - ', 2, /not a RIS field/],
  ['a record that does not end', 'TY  - JOUR\nAU  - Doe, J\nTI  - T', 1, /does not end/],
  [
    'a record that begins in another',
    'TY  - JOUR\nER  - \nTY  - JOUR\nTY  - JOUR\nER  - ',
    3,
    /does not end/,
  ],
  ['an unknown type', 'TY  - JOOR\nER  - ', 1, /`JOOR` is not a RIS type/],
  ['a field outside of a record', 'TY  - JOUR\nER  - \nAU  - Doe, J', 3, /outside/],
];

for (const [what, text, line, message] of broken)
  test(`RIS with ${what} is refused, and the line is named`, () =>
    assert.throws(
      () => readRis(text),
      (error) =>
        isWorkcrateError(error, 'document_invalid') &&
        error.details['line'] === line &&
        message.test(error.message),
    ));

test('what is made up for a key is never the ID of another record', () => {
  const record = (...lines: string[]) => ['TY  - BOOK', ...lines, 'ER  - ', ''].join('\n');
  const text =
    record('AU  - Doe, J', 'PY  - 2020') +
    record('ID  - Doe_2020') +
    record('ID  - Doe_2020a') +
    record('TI  - The title') +
    record();
  assert.deepEqual(
    readRis(text).map(({ id }) => id),
    ['Doe_2020b', 'Doe_2020', 'Doe_2020a', 'The', 'record_5'],
  );
});

test('any text is read or refused with a line', () => {
  const piece = fc.constantFrom(
    'TY  - JOUR',
    'TY  - BOOK',
    'ER  - ',
    'AU  - Doe, J',
    'PY  - 20/2',
    'DA  -',
    'ID  - x',
    'AB  - a',
    'b',
    '',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 12 }), (lines) => {
      try {
        for (const { id } of readRis(lines.join('\n'))) assert.notEqual(id, '');
      } catch (error) {
        assert.ok(isWorkcrateError(error, 'document_invalid') && typeof error.details['line'] === 'number');
      }
    }),
    { numRuns: 300 },
  );
});
