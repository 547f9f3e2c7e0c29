import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { foldCaseAndAccents, stemWord, tokenizeWords } from './words.ts';

const stems = (text: string): string[] => Array.from(tokenizeWords(text), ({ stem }) => stem);

describe('words', () => {
  test('case, accents and English endings make no difference', () => {
    assert.deepEqual(stems('Running runs, RUN!'), ['run', 'run', 'run']);
    assert.deepEqual(stems('Döe doe DO\u0308E'), ['doe', 'doe', 'doe']);
    assert.deepEqual(stems('x1s covid-19 results_2021.csv'), ['x1s', 'covid', '19', 'result', '2021', 'csv']);
  });

  test('scripts without spaces are found by pairs of letters', () => {
    assert.deepEqual(stems('東京大学'), ['東京', '京大', '大学']);
    assert.deepEqual(stems('東'), ['東']);
  });

  test('every word stands where it is said to', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const { stem, form, start, end } of tokenizeWords(text)) {
          assert.ok(start < end && end <= text.length && stem !== '');
          assert.equal(form, foldCaseAndAccents(text.slice(start, end)).slice(0, 64));
        }
      }),
    );
    assert.equal(stemWord('Experiments'), stemWord('experiment'));
  });
});
