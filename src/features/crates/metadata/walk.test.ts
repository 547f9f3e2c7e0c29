import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMetadataJson, readJsonLdContext } from './document.ts';
import { createMetadataIssues } from './graph.ts';
import {
  descriptor,
  entityOf,
  issuesOf,
  readGraph,
  readRootWith,
  root,
  valuesOf,
} from './metadata.testing.ts';
import { buildMetadataGraph } from './walk.ts';

test('values are taken in every form, as text', () => {
  const cases: [unknown, string[]][] = [
    ['a', ['a']],
    ['', []],
    [null, []],
    [{}, []],
    [[], []],
    [0, ['0']],
    [1.5, ['1.5']],
    [false, ['false']],
    [
      ['a', 2, null, true],
      ['a', '2', 'true'],
    ],
    [
      [['a', ['b']], 'c'],
      ['a', 'b', 'c'],
    ],
    [{ '@value': 'a', '@language': 'en' }, ['a']],
    [{ '@value': 7, '@type': 'xsd:int' }, ['7']],
    [{ '@value': null }, []],
    [{ '@value': { a: 1 } }, []],
    [{ '@list': ['a', { '@set': ['b'] }] }, ['a', 'b']],
    [{ '@id': 'https://example.org/x' }, ['https://example.org/x']],
    [{ '@id': '' }, []],
    [{ '@id': 5 }, ['5']],
    [{ '@id': null }, []],
    [{ '@id': './' }, ['<./>']],
    [{ '@id': '.' }, ['<./>']],
  ];
  for (const [value, expected] of cases)
    assert.deepEqual(
      valuesOf(readRootWith({ about: value }), './', 'about'),
      expected,
      JSON.stringify(value),
    );
});

test('a reference leads to its entity however the id is spelt', () => {
  const ids = ['a b.txt', 'c%20d.txt', './e', 'f', 'folder/', '100%', 'ü/ß', '%C3%A4'];
  const entities = ids.map((id) => ({ '@id': id, '@type': 'File' }));
  const cases: [string, string | null][] = [
    ['a%20b.txt', 'a b.txt'],
    ['./a b.txt', 'a b.txt'],
    ['c d.txt', 'c%20d.txt'],
    ['e', './e'],
    ['././f', 'f'],
    ['folder', 'folder/'],
    ['./folder', 'folder/'],
    ['100%', '100%'],
    ['%C3%BC/%C3%9F', 'ü/ß'],
    ['ä', '%C3%A4'],
    ['F', null],
    ['a', null],
  ];
  for (const [reference, id] of cases) {
    const crate = readRootWith({ hasPart: { '@id': reference } }, ...entities);
    assert.deepEqual(valuesOf(crate, './', 'hasPart'), [id === null ? reference : `<${id}>`]);
    assert.equal(issuesOf(crate)['reference_to_nothing'] ?? 0, id === null ? 1 : 0);
  }
});

test('an exact spelling goes before another', () => {
  const files = ['a%20b', 'a b'].map((id) => ({ '@id': id, '@type': 'File' }));
  const crate = readRootWith({ hasPart: files.map((file) => ({ '@id': file['@id'] })) }, ...files);
  assert.deepEqual(valuesOf(crate, './', 'hasPart'), ['<a%20b>', '<a b>']);
});

test('what is below @base is the same with and without it', () => {
  const context = ['https://w3id.org/ro/crate/1.1/context', { '@base': 'https://example.org/crate/' }];
  const file = {
    '@id': 'https://example.org/crate/a',
    '@type': 'File',
    isPartOf: { '@id': 'https://example.org/crate/' },
  };
  const crate = readGraph([descriptor, { ...root, hasPart: { '@id': 'a' } }, file], context);
  assert.deepEqual(valuesOf(crate, './', 'hasPart'), ['<https://example.org/crate/a>']);
  assert.deepEqual(valuesOf(crate, 'https://example.org/crate/a', 'isPartOf'), ['<./>']);
});

test('entities within others come into the list, with an id that nobody else has', () => {
  const crate = readRootWith(
    {
      author: {
        '@type': 'Person',
        name: 'Ada',
        affiliation: { '@id': '#uni', '@type': 'Organization', name: 'Uni' },
      },
    },
    { '@id': '_:unnamed-1', '@type': 'X', knows: [{ '@id': '#uni' }] },
    { '@type': 'Y' },
  );
  assert.deepEqual(crate.authors, ['Ada']);
  assert.deepEqual(valuesOf(crate, './', 'author'), ['<_:unnamed-3>']);
  assert.deepEqual(valuesOf(crate, '_:unnamed-3', 'affiliation'), ['<#uni>']);
  assert.deepEqual(valuesOf(crate, '_:unnamed-1', 'knows'), ['<#uni>']);
  assert.deepEqual(issuesOf(crate), { nested_entity: 2, id_missing: 2 });
});

test('a reference to what only stands within another entity, further on, leads there', () => {
  const crate = readRootWith(
    { author: { '@id': '#ada' } },
    { '@id': '#x', '@type': 'X', agent: { '@id': '#ada', name: 'Ada' } },
  );
  assert.deepEqual(crate.authors, ['Ada']);
});

test('entities of the same @id are merged', () => {
  const crate = readRootWith(
    {},
    { '@id': '#a', '@type': 'A', name: 'x' },
    { '@id': '#a', '@type': ['B', 'A'], name: 'y' },
  );
  assert.deepEqual(entityOf(crate, '#a').types, ['A', 'B']);
  assert.deepEqual(valuesOf(crate, '#a', 'name'), ['x', 'y']);
  assert.deepEqual(issuesOf(crate), { duplicate_id: 1 });
  assert.match(crate.issues[0]!.message, /For example: #a$/);
});

test('types may be missing, in lists, addresses, prefixed or no text at all', () => {
  const cases: [unknown, string[]][] = [
    ['Person', ['Person']],
    [
      ['File', 'File', 'ImageObject'],
      ['File', 'ImageObject'],
    ],
    ['http://schema.org/Person', ['Person']],
    ['https://schema.org/MediaObject', ['File']],
    ['schema:Person', ['Person']],
    ['bioschemas:ComputationalWorkflow', ['ComputationalWorkflow']],
    ['https://w3id.org/ro/terms/workflow-run#ParameterConnection', ['ParameterConnection']],
    ['edam:data_3495', ['data_3495']],
    ['https://example.org/Thing/', ['Thing']],
    ['A: b', ['A: b']],
    [{ '@id': 'schema:Person' }, ['Person']],
    [undefined, []],
    [null, []],
    [5, []],
    ['', []],
    ['@id', ['id']],
  ];
  for (const [type, expected] of cases)
    assert.deepEqual(entityOf(readRootWith({}, { '@id': '#a', '@type': type }), '#a').types, expected);
});

test('words that the context defines are called by what they stand for, and keywords may have other words', () => {
  const context = [
    'https://w3id.org/ro/crate/1.1/context',
    {
      id: '@id',
      type: '@type',
      autor: 'http://schema.org/author',
      organism: 'http://purl.obolibrary.org/obo/OBI_0100026',
    },
    { part: { '@id': 'schema:hasPart', '@type': '@id' } },
    null,
    5,
  ];
  const graph = [
    descriptor,
    { ...root, autor: { id: '#a' }, organism: 'fly', part: ['x.txt', '#a'], 'dct:title': 't' },
    { id: '#a', type: 'Person', name: 'Ada' },
  ];
  const crate = readGraph(graph, context);
  assert.deepEqual(crate.authors, ['Ada']);
  assert.deepEqual(valuesOf(crate, './', 'organism'), ['fly']);
  assert.deepEqual(valuesOf(crate, './', 'hasPart'), ['x.txt', '<#a>']);
  assert.deepEqual(valuesOf(crate, './', 'title'), ['t']);
  assert.equal(issuesOf(crate)['context_not_readable'], 1);
});

test('a context may be missing, a text, a list or an object', () => {
  for (const context of [null, 'https://w3id.org/ro/crate/1.1/context', [], {}, [{}, ['x']], 5])
    assert.equal(readGraph([descriptor, root], context).title, 'Lakes');
});

test('@reverse gives the property to the other entity, @included and @graph more entities', () => {
  const crate = readRootWith(
    {},
    { '@id': '#ada', '@type': 'Person', name: 'Ada', '@reverse': { author: [{ '@id': './' }], knows: 'x' } },
    {
      '@id': '#g',
      '@type': 'G',
      '@included': [{ '@id': '#i', '@type': 'I' }],
      '@graph': { '@id': '#j', '@type': 'J' },
    },
  );
  assert.deepEqual(crate.authors, ['Ada']);
  assert.deepEqual(
    crate.entities.map(({ id }) => id),
    ['./', '#ada', '#g', '#i', '#j'],
  );
  assert.deepEqual(issuesOf(crate), { reverse_not_readable: 1 });
});

test('entities that refer to themselves and to each other are read', () => {
  const crate = readRootWith(
    { isPartOf: { '@id': './' }, author: { '@id': '#a' } },
    { '@id': '#a', '@type': 'Person', knows: { '@id': '#b' } },
    { '@id': '#b', '@type': 'Person', knows: { '@id': '#a' } },
  );
  assert.deepEqual(valuesOf(crate, './', 'isPartOf'), ['<./>']);
  assert.deepEqual(valuesOf(crate, '#b', 'knows'), ['<#a>']);
});

test('nesting of any depth is read as far as it makes sense', () => {
  const depth = 20_000;
  for (const [before, after] of [
    ['[', ']'],
    ['{"a":', '}'],
    ['{"@list":[', ']}'],
    ['{"@reverse":{"a":', '}}'],
    ['{"@graph":[', ']}'],
    ['[{"a":', '}]'],
  ] as const) {
    const text = `{"@graph":[{"@id":"./","@type":"Dataset","name":"Lakes","x":${before.repeat(depth)}1${after.repeat(depth)}}]}`;
    const issues = createMetadataIssues();
    const document = parseMetadataJson(Buffer.from(text), issues) as { '@graph': unknown[] };
    const { nodes } = buildMetadataGraph(document['@graph'], readJsonLdContext(null, issues), issues);
    assert.ok(nodes.length < 100);
    assert.ok(
      issues.list().some(({ code }) => code === 'nested_too_deeply'),
      before,
    );
  }
});

test('ids that lead somewhere else are told and kept', () => {
  const ids = [
    '/home/ada/x',
    'file:///x',
    'C:\\x\\y',
    '../x',
    'a/../../x',
    'a b',
    'a..b',
    'https://example.org/a',
  ];
  const crate = readRootWith({}, ...ids.map((id) => ({ '@id': id, '@type': 'File' })));
  assert.deepEqual(
    crate.entities.slice(1).map(({ id }) => id),
    ids,
  );
  assert.deepEqual(issuesOf(crate), {
    id_absolute_path: 3,
    id_backslash: 1,
    id_outside: 2,
    id_with_space: 1,
  });
});

test('more bytes, values, entities or properties than memory is for are too_large', () => {
  const issues = createMetadataIssues();
  const few = { bytes: 1000, values: 10, entities: 10, properties: 20, names: 5 };
  const tooLarge = { code: 'too_large' };
  assert.throws(() => parseMetadataJson(Buffer.alloc(1001, ' '), issues, few), tooLarge);
  assert.throws(() => parseMetadataJson(Buffer.from(`[${'{},'.repeat(20)}0]`), issues, few), tooLarge);
  assert.doesNotThrow(() =>
    parseMetadataJson(Buffer.from(JSON.stringify([',[{\\",[{'.repeat(20)])), issues, few),
  );
  const entities = Array.from({ length: 11 }, (_, at) => ({ '@id': `#${at}` }));
  const terms = readJsonLdContext(null, issues);
  assert.throws(() => buildMetadataGraph(entities, terms, issues, few), tooLarge);
  const values = Array.from({ length: 21 }, (_, at) => (at % 2 === 0 ? at : { '@id': `#${at}` }));
  assert.throws(() => buildMetadataGraph([{ '@id': './', mentions: values }], terms, issues, few), tooLarge);
  assert.doesNotThrow(() =>
    buildMetadataGraph([{ '@id': './', mentions: values.slice(1) }], terms, issues, few),
  );
});
