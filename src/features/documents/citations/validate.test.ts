import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bibliography } from './bibliography.ts';
import { validateCitations } from './validate.ts';

const withKeys = (...keys: string[]): Bibliography => ({
  format: 'bibtex',
  references: keys.map((id) => ({ id })),
  duplicates: [],
  warnings: [],
});

const once = (...keys: string[]) => keys.map((key) => ({ key, count: 1 }));

test('keys without an entry are listed with keys that look like them, the likest first', () => {
  const bibliography = withKeys('doe2020', 'Doe2021', 'müller_2019', 'unlike');
  const found = validateCitations({
    cited: [{ key: 'Doe2020', count: 3 }, ...once('muller2019', 'unlike', 'nowhere')],
    bibliography: { ...bibliography, duplicates: ['unlike'] },
  });
  assert.deepEqual(found, {
    valid: false,
    missing: [
      { key: 'Doe2020', count: 3, suggestions: ['doe2020', 'Doe2021'] },
      { key: 'muller2019', count: 1, suggestions: ['müller_2019'] },
      { key: 'nowhere', count: 1, suggestions: [] },
    ],
    unused: ['doe2020', 'Doe2021', 'müller_2019'],
    duplicates: ['unlike'],
    cited: 4,
    entries: 4,
  });
});

test('without a bibliography every key is missing; a document that cites nothing is right', () => {
  assert.equal(validateCitations({ cited: once('a'), bibliography: null }).valid, false);
  assert.equal(validateCitations({ cited: [], bibliography: null }).valid, true);
});

test('a document that cites everything leaves nothing unused', () => {
  const found = validateCitations({ cited: once('*', 'a'), bibliography: withKeys('a', 'b') });
  assert.deepEqual([found.valid, found.unused, found.cited], [true, [], 1]);
});

test('lists are bounded, however many keys there are', () => {
  const many = Array.from({ length: 5000 }, (_, at) => `key-${at}`);
  const found = validateCitations({
    cited: once(...many.map((key) => `${key}-x`)),
    bibliography: withKeys(...many),
  });
  assert.deepEqual([found.missing.length, found.unused.length], [1000, 1000]);
  assert.deepEqual([found.cited, found.entries], [5000, 5000]);
});
