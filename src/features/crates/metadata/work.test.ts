import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMetadataJson, readJsonLdContext } from './document.ts';
import { createMetadataIssues, type MetadataGraph, type GraphNode, type NodeProperty } from './graph.ts';
import { descriptor, entityOf, issuesOf, readGraph, readRootWith, root } from './metadata.testing.ts';
import { readMetadata } from './metadata.ts';
import { findDescriptor, findRootEntity, readRootEntity } from './root.ts';
import { buildMetadataGraph } from './walk.ts';

const fields = (
  'author creator keywords license identifier description conformsTo mainEntity ' +
  'about hasPart datePublished name cite-as'
).split(' ');

/** How many properties are looked at, where each look at an entity is taken to be one at all that it has. */
function workOn(given: readonly GraphNode[]): number {
  let work = 0;
  const nodes = given.map(({ id, types, properties }) => ({
    id,
    types,
    get properties(): NodeProperty[] {
      work += properties.length;
      return properties;
    },
  }));
  const places = new Map(given.map(({ id }, place) => [id, place]));
  const graph: MetadataGraph = { nodes, find: (id) => places.get(id.replace(/^(?:\.\/)+/, '')) ?? null };
  const issues = createMetadataIssues();
  const described = findDescriptor(graph, issues);
  readRootEntity(graph, findRootEntity(graph, described, issues), described, null, issues);
  return work;
}

function node(id: string, properties: NodeProperty[]): GraphNode {
  return { id, types: ['Dataset'], properties };
}

/** A root with so many references of each kind, all to one entity that has as many properties. */
const toOne = (size: number, name: string, valueAt: (at: number) => object): GraphNode[] => [
  node(
    'first',
    Array.from({ length: size }, (_, at) => ({ name, ...valueAt(at) }) as NodeProperty),
  ),
  node(
    '_:b',
    Array.from({ length: size }, (_, at) => ({ name: `p${at}`, text: 'x' })),
  ),
];

test('however often the root refers to an entity, the work grows with the size of the crate and no faster', () => {
  const ways: [string, (at: number) => object][] = [
    ['target', () => ({ target: 1 })],
    ['the same text', () => ({ text: '_:b' })],
    ['a text in many spellings', (at) => ({ text: `${'./'.repeat(at % 50)}_:b` })],
  ];
  for (const name of fields)
    for (const [way, valueAt] of ways) {
      const [small, large] = [1000, 2000].map((size) => workOn(toOne(size, name, valueAt)));
      assert.ok(large! <= 2.2 * small!, `${name} by ${way}: ${small} and ${large}`);
      assert.ok(large! <= 200 * 2000, `${name} by ${way}: ${large}`);
    }
});

test('many entities that could be the descriptor or the root are looked at a few times each', () => {
  for (const name of ['about', 'hasPart']) {
    const [small, large] = [500, 1000].map((size) =>
      workOn(
        Array.from({ length: size }, (_, at) =>
          node(`x/${at}/ro-crate-metadata.json`, [
            { name, target: (at + 1) % size },
            { name: 'conformsTo', target: 0 },
          ]),
        ),
      ),
    );
    assert.ok(large! <= 2.2 * small! && large! <= 50 * 1000, `${name}: ${small} and ${large}`);
  }
});

test('hundreds of thousands of references to one large entity are read', { timeout: 60_000 }, () => {
  const count = 20_000;
  const many = Array.from({ length: count }, () => ({ '@id': '#a' }));
  const large = Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, 'x']));
  const properties = Object.fromEntries(fields.slice(0, 7).map((name) => [name, many]));
  const crate = readRootWith(properties, { ...large, '@id': '#a', '@type': 'Person' });
  assert.deepEqual([crate.authors, crate.keywords, crate.identifiers], [['#a'], ['#a'], ['#a']]);
  assert.equal(issuesOf(crate)['several_licenses'], undefined);
});

test('an entity that stands there many times is merged once for each', { timeout: 60_000 }, () => {
  const count = 20_000;
  const types = Array.from({ length: 99 }, (_, at) => `${'T'.repeat(150)}${at}`);
  const again = Array.from({ length: count }, (_, at) => ({ '@id': '#a', '@type': types[at % 99], n: at }));
  const crate = readGraph([descriptor, root, ...again]);
  const { types: read, properties } = entityOf(crate, '#a');
  assert.deepEqual([read, properties.length], [types, count]);
});

test('lists end at their bound, and what is beyond it is told once', () => {
  const author = Array.from({ length: 200 }, (_, at) =>
    Array.from({ length: 100 }, (_, nr) => `${at}-${nr}`).join(';'),
  );
  const crate = readRootWith({ author });
  assert.deepEqual([crate.authors.length, issuesOf(crate)], [10_000, { too_many_values: 1 }]);
});

test('texts that consist of separators are read', { timeout: 60_000 }, () => {
  const long = 1_000_000;
  const slashes = '/'.repeat(long);
  const crate = readRootWith(
    { author: ';'.repeat(long), mentions: { '@id': './'.repeat(8 * long) }, [`a:${slashes}b`]: 'v' },
    { '@id': '#a', '@type': `a:b${slashes}` },
  );
  assert.deepEqual(entityOf(crate, '#a').types, ['b']);
  const last = entityOf(crate, './').properties.at(-1)!;
  assert.equal(last.name, 'b');
});

test('a name for each value fills no index: further names are passed over and told, those that matter are not', () => {
  const issues = createMetadataIssues();
  const terms = readJsonLdContext(null, issues, 5);
  const odd = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, at]));
  const author = 'http://schema.org/author';
  const tops = [
    odd,
    { '@id': './', '@type': ['Dataset', 'T'], name: 'Lakes', [author]: 'Ada', p1: 'x', p9: 'y' },
  ];
  const [first, second] = buildMetadataGraph(tops, terms, issues).nodes;
  assert.equal(first!.properties.length, 5);
  assert.deepEqual(second!.types, ['Dataset']);
  assert.deepEqual(
    second!.properties.map(({ name }) => name),
    ['name', 'author', 'p1'],
  );
  assert.ok(issues.list().some(({ code }) => code === 'too_many_names'));
});

test('at most 20,000 names are taken', () => {
  const entities = Array.from({ length: 15_000 }, (_, at) => ({
    '@id': `#${at}`,
    '@type': `T${at}`,
    [`p${at}`]: at,
  }));
  const crate = readRootWith({ author: 'Ada' }, ...entities);
  const names = crate.entities.flatMap(({ types, properties }) => [
    ...types,
    ...properties.map(({ name }) => name),
  ]);
  assert.ok(new Set(names).size <= 20_050);
  assert.deepEqual([crate.authors, crate.entities.length], [['Ada'], 15_001]);
});

test('values are counted before they are read, in any encoding', () => {
  const few = { bytes: 10_000, values: 100, entities: 10, properties: 100, names: 10 };
  const tooLarge = { code: 'too_large' };
  // In UTF-16 the sign ∀ has the byte of a quote in it.
  const text = `["\u{2200}"${',{}'.repeat(200)}]`;
  const swapped = Buffer.from(`\u{feff}${text}`, 'utf16le').swap16();
  for (const bytes of [Buffer.from(text), Buffer.from(`\u{feff}${text}`, 'utf16le'), swapped])
    assert.throws(() => parseMetadataJson(bytes, createMetadataIssues(), few), tooLarge);
});

test('more than 5 million values are too_large before any is read', () => {
  const bytes = Buffer.from(`[${'{},'.repeat(3_500_000)}0]`);
  assert.throws(() => readMetadata(bytes), { code: 'too_large' });
});
