import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createZoteroCache } from './client.ts';
import { toBibtexEntry, sanitizeCsl } from './items.ts';

test('whatever JSON the library gives, a reference is plain, bounded JSON or none', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (given) => {
      const made = sanitizeCsl({ ...given, type: 'book' }, 'id');
      assert.deepEqual([made?.id, made?.type], ['id', 'book']);
      // As a key: a text may say what it likes.
      assert.doesNotMatch(JSON.stringify(made), /\\u00[01]|"__proto__":/);
    }),
    { numRuns: 200 },
  );
  for (const none of [null, 1, 'text', '[]', [], {}, { items: [] }, { type: 1 }, '{"type":'])
    assert.equal(sanitizeCsl(none, 'id'), null);
});

test('an object, a list, their text and a list of items are all taken', () => {
  const one = { type: 'book', title: 'T' };
  for (const given of [one, [one], { items: [one] }, JSON.stringify(one), JSON.stringify([one])])
    assert.deepEqual(sanitizeCsl(given, 'x'), { ...one, id: 'x' });
});

test('a note keeps all but the line of the citation key', () => {
  const note = 'Citation Key: x\nOriginal work from 1950';
  assert.equal(sanitizeCsl({ type: 'book', note }, 'x')!['note'], 'Original work from 1950');
});

test('a BibTeX entry gets the key that is cited, and one that BibTeX cannot take becomes that of the item', () => {
  const text = '@book{doe_2020,\n title = {T},\n}';
  assert.deepEqual(toBibtexEntry(text, 'doe:20', 'AAAA1111'), {
    id: 'doe:20',
    text: '@book{doe:20,\n title = {T},\n}',
  });
  assert.equal(toBibtexEntry(text, 'a}, b', 'AAAA1111')!.id, 'AAAA1111');
  for (const none of [null, 7, '', 'text', '@book{', `@book{x,${'y'.repeat(200_000)}`])
    assert.equal(toBibtexEntry(none, 'a', 'AAAA1111'), null);
});

test('memory forgets what was not asked for longest, and takes nothing that would fill it', () => {
  const memory = createZoteroCache({ mostEntries: 3, mostBytes: 1000 });
  const answer = (text: string) => ({ text, version: 1, total: 1 });
  for (const url of ['a', 'b', 'c']) memory.set(url, answer(url));
  memory.get('a');
  memory.set('d', answer('d'));
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((url) => memory.get(url)?.text ?? null),
    ['a', null, 'c', 'd'],
  );
  memory.set('a', answer('x'.repeat(400)));
  assert.equal(memory.get('a'), null);
  for (const url of ['e', 'f', 'g', 'h', 'i']) memory.set(url, answer('x'.repeat(110)));
  assert.equal(memory.get('d'), null);
});
