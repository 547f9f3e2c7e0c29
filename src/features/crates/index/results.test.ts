import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseSearchQuery } from '../query/parse.ts';
import { selectMarked, snippetOf, startOf } from './results.ts';

const marked = (query: string) => {
  const { wanted, required } = parseSearchQuery(query);
  return selectMarked([...wanted, ...required]);
};

describe('snippets', () => {
  test('the words are marked as they are written, in the stretch that holds most of them', () => {
    const text = `First salt. ${'Something else. '.repeat(40)}Here are Salts and waters together. ${'More. '.repeat(40)}`;
    const snippet = snippetOf([text], marked('salt water'));
    assert.match(snippet, /Here are \*\*Salts\*\* and \*\*waters\*\* together\./);
    assert.ok(snippet.startsWith('…') && snippet.endsWith('…') && snippet.length < 300);
  });

  test('without a match it is the start of the text', () => {
    assert.equal(snippetOf(['Some text'], marked('other')), 'Some text');
    assert.equal(snippetOf([], marked('other')), '');
  });

  test('any text gives a short snippet that is part of it, without half characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 2000 }),
        fc.string({ maxLength: 10 }),
        (text, query) => {
          const snippet = snippetOf([text], marked(query));
          assert.ok(snippet.length < 1000 && (snippet.isWellFormed() || !text.isWellFormed()));
          assert.ok(startOf(text, 50).length <= 51);
        },
      ),
    );
  });
});
