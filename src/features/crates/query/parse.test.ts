import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseSearchQuery } from './parse.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const word = (form: string, field: number | null = null) => ({ kind: 'word', form, field });
const times = <T>(times: number, clause: T) => ({ ...clause, times });

describe('query', () => {
  test('words, phrases, prefixes, fields, exclusions and filters are told apart', () => {
    const query = parseSearchQuery(
      'deep "salt water" ocean* title:fjords author:"Jane Doe" -river year:2019..2021 file:plot.py',
    );
    assert.deepEqual(query.wanted, [
      times(1, word('deep')),
      times(1, { kind: 'prefix', prefix: 'ocean', field: null }),
    ]);
    assert.deepEqual(query.required, [
      { kind: 'phrase', forms: ['salt', 'water'], field: null },
      word('fjords', 0),
      { kind: 'phrase', forms: ['jane', 'doe'], field: 2 },
      { kind: 'phrase', forms: ['plot', 'py'], field: 5 },
    ]);
    assert.deepEqual(query.excluded, [word('river')]);
    assert.deepEqual(query.filters, [{ facet: 2, wanted: '2019..2021', negated: false }]);
    assert.equal(query.text, 'deep salt water ocean* fjords Jane Doe plot.py');
  });

  test('Type.property:value is a condition on entities, an address or a sentence is not', () => {
    const [condition] = parseSearchQuery('Person.affiliation.name:"University of Oslo"').entities;
    assert.deepEqual(condition, {
      type: 'Person',
      path: ['affiliation', 'name'],
      value: 'University of Oslo',
      exact: false,
      negated: false,
    });
    for (const text of ['https://example.org/a.b:c', 'see Fig.2:left', 'note: this', 'e.g.:x'])
      assert.deepEqual(parseSearchQuery(text).entities, [], text);
  });

  test('in running text quotes and minus signs are punctuation, and that is said', () => {
    const prose =
      'Papers on systems that show "what you get" on a screen -dash editors and formatters for text';
    const { wanted, required, excluded, notes } = parseSearchQuery(`${prose} year:2019`);
    assert.deepEqual([required, excluded], [[], []]);
    assert.ok(wanted.some((clause) => clause.kind === 'word' && clause.form === 'dash'));
    assert.match(notes.join(), /quotes and minus signs/);
    assert.equal(parseSearchQuery('editors "what you get" -dash').required.length, 1);
  });

  test('stop words are left out unless there is nothing else', () => {
    assert.deepEqual(parseSearchQuery('the history of the fish').wanted, [
      times(1, word('history')),
      times(1, word('fish')),
    ]);
    assert.deepEqual(parseSearchQuery('to be').wanted, [times(1, word('to')), times(1, word('be'))]);
    assert.deepEqual(parseSearchQuery('the author:doe').wanted, []);
    assert.deepEqual(parseSearchQuery('"to be"').required, [
      { kind: 'phrase', forms: ['to', 'be'], field: null },
    ]);
  });

  test('AND and OR say what holds anyway, NOT is a minus, and what is repeated counts as often', () => {
    assert.deepEqual(parseSearchQuery('fish AND fish OR fishes').wanted, [times(3, word('fish'))]);
    assert.deepEqual(parseSearchQuery('fish NOT salt water').excluded, [word('salt')]);
  });

  test('too many words are cut, and that is said', () => {
    const many = parseSearchQuery(Array.from({ length: 500 }, (_, at) => `w${at}`).join(' '));
    assert.equal(many.wanted.length, 256);
    assert.match(many.notes.join(), /first 256 words/);
    assert.equal(many.text.split(' ').length, 256, 'by meaning too');
  });

  test('of conditions on entities the first four count, and that is said; as filters more are refused', () => {
    const conditions = Array.from({ length: 9 }, (_, at) => `-*.author.name:w${at}`);
    const { entities, notes } = parseSearchQuery(conditions.join(' '));
    assert.deepEqual(
      entities.map(({ value }) => value),
      ['w0', 'w1', 'w2', 'w3'],
    );
    assert.match(notes.join(), /Only the first 4 conditions such as Person\.name/);
    const paths = 'abcde'.split('').map((name) => [`Person.${name}`, 'x'] as const);
    assert.equal(parseSearchQuery('', paths.slice(1)).entities.length, 4);
    assert.throws(() => parseSearchQuery('', paths), { code: 'invalid_input' });
  });

  test('paths and filters are bounded', () => {
    const path = (steps: number) => `*${'.a'.repeat(steps)}:x`;
    assert.equal(parseSearchQuery(path(10)).entities.length, 1);
    assert.deepEqual(parseSearchQuery(path(11)).entities, []);
    for (const value of ['w'.repeat(10_001), 'a b '.repeat(2_000_000), 'word '.repeat(33)])
      assert.throws(() => parseSearchQuery('', [['title', value]]), { code: 'invalid_input' });
  });

  test('no text is an error, and the parts of a query are bounded', () => {
    const nasty = fc.array(
      fc.constantFrom(
        '"',
        ':',
        '-',
        '*',
        '(',
        '\0',
        'title',
        'year',
        'Person.name',
        '..',
        ' ',
        'é',
        '東',
        '\ud800',
        'AND',
      ),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          nasty.map((parts) => parts.join('')),
        ),
        (text) => {
          const { wanted, required, excluded, filters, entities } = parseSearchQuery(text);
          assert.ok([required, excluded, filters, entities].flat().length <= 32);
          assert.ok(wanted.length <= 256);
          assert.ok(entities.length <= 4);
        },
      ),
      { numRuns: 500 },
    );
    recordProof('B3:hostile-text-is-no-error');
  });
});
