import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { foldCaseAndAccents, normalizeForIndex, stemWord, tokenizeWords } from './words.ts';

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

  test('what is indexed is folded, and texts are kept apart', () => {
    assert.equal(normalizeForIndex(['Döe', 'a-B', '東京大学']), 'doe \ue000 a-B \ue000 東京 京大 大学');
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (texts) => {
        const text = normalizeForIndex(texts);
        assert.ok(text.isWellFormed() && !text.includes('\0'));
      }),
    );
  });

  test('every word stands where it is said to', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const { stem, form, start, end } of tokenizeWords(text)) {
          assert.ok(start < end && end <= text.length && stem !== '');
          assert.equal(form, foldCaseAndAccents(text.slice(start, end)));
        }
      }),
    );
    assert.equal(stemWord('Experiments'), stemWord('experiment'));
  });
});
