import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMetadata } from './metadata.ts';
import {
  bytesOf,
  descriptor,
  issuesOf,
  readGraph,
  readRootWith,
  root,
  valuesOf,
} from './metadata.testing.ts';

const context = 'https://w3id.org/ro/crate/1.2/context';

test('a crate as the specification has it is read with no issue', () => {
  const ada = { '@id': '#ada', '@type': 'Person', name: 'Ada' };
  const crate = readRootWith({ author: { '@id': '#ada' }, keywords: ['lake', 'depth'] }, ada);
  assert.deepEqual(
    { ...crate, entities: crate.entities.map(({ id }) => id) },
    {
      title: 'Lakes',
      description: 'Depths of lakes',
      authors: ['Ada'],
      keywords: ['lake', 'depth'],
      license: { id: 'https://spdx.org/licenses/CC-BY-4.0', name: 'CC-BY-4.0' },
      published: '2023-05-01',
      year: 2023,
      identifiers: [],
      spec: '1.2',
      profiles: [],
      rootId: './',
      entities: ['./', '#ada'],
      issues: [],
    },
  );
  assert.deepEqual(crate.entities[0]!.properties.at(-3), { name: 'author', target: 1 });
});

test('what is no JSON or describes nothing is metadata_invalid', () => {
  const invalid = { name: 'WorkcrateError', code: 'metadata_invalid' };
  for (const text of [
    '',
    ' \n',
    '{',
    '{"@graph": [}',
    'null',
    '1',
    '"x"',
    '[]',
    '{}',
    '[[]]',
    '[1]',
    '{"a": 1}',
  ])
    assert.throws(() => readMetadata(Buffer.from(text)), invalid, text);
  assert.throws(
    () => readMetadata(Buffer.from('{"a": \0}')),
    (error: Error) => !error.message.includes('\0'),
  );
});

test('what is not flattened is: a list of entities, one entity with others in it, several graphs', () => {
  const nested = { ...descriptor, about: root };
  const expanded = [
    { ...descriptor, about: [{ '@id': './' }] },
    {
      '@id': './',
      '@type': ['http://schema.org/Dataset'],
      'http://schema.org/name': [{ '@value': 'Lakes' }],
    },
  ];
  const graphs = [{ '@context': context, '@graph': [descriptor] }, { '@graph': [root] }];
  for (const document of [{ '@context': context, ...nested }, expanded, graphs, { '@graph': nested }]) {
    const crate = readMetadata(bytesOf(document));
    assert.equal(crate.title, 'Lakes');
    assert.deepEqual([crate.rootId, crate.entities.length], ['./', 1]);
    assert.equal(issuesOf(crate)['no_graph'], 1);
    assert.equal(issuesOf(crate)['context_within'], undefined);
  }
});

test('a graph of nothing is a crate of nothing', () => {
  for (const graph of [[], [descriptor], [null, 1, 'x', []]]) {
    const crate = readGraph(graph);
    assert.deepEqual([crate.title, crate.rootId, crate.entities], ['Untitled crate', './', []]);
    assert.equal(issuesOf(crate)['root_missing'], 1);
  }
  assert.equal(issuesOf(readGraph([null, 1, 'x', []]))['not_an_entity'], 4);
});

test('the text may have a mark, be UTF-16, or Latin letters of old, or be damaged', () => {
  const text = JSON.stringify({
    '@context': context,
    '@graph': [descriptor, { ...root, name: 'Zürichsee', keywords: '~' }],
  });
  const swapped = Buffer.from(`\u{feff}${text}`, 'utf16le').swap16();
  const damaged = Buffer.from(text).map((byte) => (byte === 0x7e ? 0xff : byte));
  const cases: [Uint8Array, string, string | null][] = [
    [Buffer.from(text), 'Zürichsee', null],
    [Buffer.from(`\u{feff}${text}`), 'Zürichsee', 'byte_order_mark'],
    [Buffer.from(`\u{feff}${text}`, 'utf16le'), 'Zürichsee', 'not_utf8'],
    [Buffer.from(text, 'utf16le'), 'Zürichsee', 'not_utf8'],
    [swapped, 'Zürichsee', 'not_utf8'],
    [Buffer.from(text, 'latin1'), 'Zürichsee', 'not_utf8'],
    [damaged, 'Zürichsee', 'not_utf8'],
  ];
  for (const [bytes, title, issue] of cases) {
    const crate = readMetadata(bytes);
    assert.equal(crate.title, title);
    assert.deepEqual(Object.keys(issuesOf(crate)), issue === null ? [] : [issue]);
  }
});

test('NUL and half characters are replaced in texts, names, types and ids, and references still lead there', () => {
  const odd = { '@id': '#a\0b', '@type': 'T\0', name: 'x\ud800y', 'p\0': 'z' };
  const crate = readRootWith({ mentions: { '@id': '#a\0b' }, name: '\0' }, odd);
  assert.ok(JSON.stringify(crate).isWellFormed() && !/\\u0000|\\ud800/.test(JSON.stringify(crate)));
  assert.deepEqual(valuesOf(crate, './', 'mentions'), ['<#a\u{fffd}b>']);
  assert.ok(issuesOf(crate)['character_replaced']! >= 2);
});

test('names that JavaScript objects have of themselves are names like others', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const entities = names.map((name) => `{"@id":"${name}","@type":"${name}","${name}":{"@id":"${name}"}}`);
  const text = `{"@context":{"constructor":"@id","__proto__":"@type"},"@graph":[${entities.join(',')}]}`;
  const crate = readMetadata(Buffer.from(text.replace('{"constructor":"@id","__proto__":"@type"}', '{}')));
  assert.deepEqual(
    crate.entities.map(({ id, types }) => [id, ...types]),
    names.map((name) => [name, name]),
  );
  for (const name of names) assert.deepEqual(valuesOf(crate, name, name), [`<${name}>`]);
  assert.doesNotThrow(() => readMetadata(Buffer.from(text)));
});

test('what is too long is cut and told', () => {
  const long = 'x'.repeat(200_000);
  const crate = readRootWith(
    { name: long, [long]: 'v', mentions: [{ '@id': `#${long}` }, { '@id': `#${long}y` }] },
    { '@id': `#${long}`, '@type': long, name: 'first' },
    { '@id': `#${long}y`, '@type': 'T', name: 'second' },
  );
  assert.deepEqual([crate.title.length, crate.title.at(-1)], [1000, '…']);
  assert.ok(crate.entities.every(({ id }) => id.length <= 1000));
  const mentioned = crate.entities[0]!.properties.filter(({ name }) => name === 'mentions');
  assert.deepEqual(mentioned, [
    { name: 'mentions', target: 1 },
    { name: 'mentions', target: 2 },
  ]);
  const { id_too_long, name_too_long, text_too_long } = issuesOf(crate);
  assert.ok(id_too_long && name_too_long && text_too_long);
});

test('the descriptor is no entity of the crate, and references to it stay as text', () => {
  const crate = readGraph([
    root,
    { '@id': '#a', '@type': 'X', about: { '@id': 'ro-crate-metadata.json' } },
    descriptor,
    { '@id': '#b', '@type': 'X', knows: { '@id': '#a' } },
    { '@id': '#c', '@type': 'X', knows: { '@id': '#b' } },
  ]);
  assert.deepEqual(
    crate.entities.map(({ id }) => id),
    ['./', '#a', '#b', '#c'],
  );
  assert.deepEqual(valuesOf(crate, '#a', 'about'), ['ro-crate-metadata.json']);
  assert.deepEqual([valuesOf(crate, '#b', 'knows'), valuesOf(crate, '#c', 'knows')], [['<#a>'], ['<#b>']]);
});
