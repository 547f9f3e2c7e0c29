import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { foldCaseAndAccents, stemWord, tokenizeWords, WordNumbers } from './words.ts';

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

  test('numbers stand for the words that tokenizing gives', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.lorem({ maxCount: 40 }));
    const numbers = new WordNumbers();
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        for (const one of texts) {
          const found: unknown[] = [];
          numbers.each(one, (number) => found.push({ ...numbers.words[number] }));
          assert.deepEqual(
            found,
            Array.from(tokenizeWords(one), ({ stem, form }) => ({ stem, form })),
          );
        }
      }),
    );
  });
});
