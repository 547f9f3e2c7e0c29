import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { demandConsistent } from './consistent.testing.ts';
import { readMetadata } from './metadata.ts';
import { bytesOf, descriptor, readGraph, root } from './metadata.testing.ts';

const keywords = [
  '@id',
  '@type',
  '@value',
  '@list',
  '@set',
  '@reverse',
  '@graph',
  '@included',
  '@context',
  '@language',
];
const words = [
  'name',
  'about',
  'author',
  'hasPart',
  'license',
  'datePublished',
  'conformsTo',
  '__proto__',
  'constructor',
  '',
  'schema:name',
];
const ids = [
  './',
  '.',
  '',
  'a',
  './a',
  'a%20b',
  'a b',
  '%',
  '_:unnamed-1',
  '__proto__',
  'toString',
  'ro-crate-metadata.json',
  'x/ro-crate-metadata.json',
  'https://w3id.org/ro/crate/1.1',
  '\0',
  '\ud800',
  '2023',
  'Dataset',
];
const key = fc.oneof(fc.constantFrom(...keywords, ...words), fc.string({ unit: 'binary' }));
const leaf = fc.oneof(
  fc.constantFrom(...ids),
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);

/** JSON that looks like a crate as far as can be without being one. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(objectOf),
  ),
}));

/** As JSON.parse makes them, with `__proto__` as a key like others. */
function objectOf(entries: readonly (readonly [string, unknown])[]): unknown {
  return JSON.parse(
    `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
  );
}

function demandReadOrRefused(bytes: Uint8Array): void {
  try {
    demandConsistent(readMetadata(bytes));
  } catch (error) {
    if (!isWorkcrateError(error, 'metadata_invalid')) throw error;
    assert.ok(!error.message.includes('\0'));
  }
}

test('any JSON is a crate with consistent ids and references, or metadata_invalid', () => {
  const graph = fc.array(value, { maxLength: 8 });
  const document = fc.oneof(
    value,
    fc.json().map((text): unknown => JSON.parse(text)),
    fc.record({ '@context': value, '@graph': graph }),
  );
  fc.assert(
    fc.property(document, (document) => demandReadOrRefused(bytesOf(document))),
    { numRuns: 3000 },
  );
});

test('any bytes are a crate or metadata_invalid, and so is any damage to one', () => {
  const whole = bytesOf({ '@graph': [descriptor, { ...root, name: 'Zürichsee' }] });
  const damage = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  const damaged = fc.array(damage, { minLength: 1, maxLength: 4 }).map((changes) => {
    const bytes = Uint8Array.from(whole);
    for (const [at, byte] of changes) bytes[at] = byte;
    return bytes;
  });
  fc.assert(fc.property(fc.oneof(fc.uint8Array(), damaged), demandReadOrRefused), { numRuns: 2000 });
});

test('the same graph in another order says the same', () => {
  const person = (at: number): object => ({
    '@id': `#p${at}`,
    '@type': 'Person',
    name: `Person ${at}`,
    knows: { '@id': `#p${at + 1}` },
  });
  const author = [3, 1, 2].map((at) => ({ '@id': `#p${at}` }));
  const graph = [
    descriptor,
    { ...root, author },
    person(1),
    person(2),
    person(3),
    { '@id': 'part/', '@type': 'Dataset', name: 'Part' },
  ];
  const { entities: _, ...expected } = readGraph(graph);
  fc.assert(
    fc.property(fc.shuffledSubarray(graph, { minLength: graph.length }), (shuffled) => {
      const { entities, ...told } = readGraph(shuffled);
      assert.deepEqual(told, expected);
      assert.equal(entities.length, graph.length - 1);
    }),
  );
});
