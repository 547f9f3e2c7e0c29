import assert from 'node:assert/strict';
import { test } from 'node:test';
import { descriptor, issuesOf, readGraph, readRootWith } from './metadata.testing.ts';

const ada = { '@id': '#ada', '@type': 'Person', name: 'Ada' };
const bob = { '@id': 'https://orcid.org/0', '@type': 'Person', givenName: 'Bob', familyName: 'Ross' };
const folder = { '@id': 'data/', '@type': 'Dataset', name: 'Folder' };
const nameless = { '@id': '#nobody', '@type': 'Person' };

test('what a root should have and lacks is told, and there is always a title', () => {
  const bare = readGraph([descriptor, { '@id': './', '@type': 'Dataset' }]);
  assert.deepEqual(
    [bare.title, bare.description, bare.authors, bare.license, bare.published, bare.year],
    ['Untitled crate', '', [], null, null, null],
  );
  assert.deepEqual(issuesOf(bare), {
    root_without_name: 1,
    root_without_description: 1,
    root_without_license: 1,
    root_without_date: 1,
  });
});

test('a title is found in other places where there is no name', () => {
  const cases: [object, string][] = [
    [{ name: ['  Two\n lines ', 'x'] }, 'Two lines'],
    [{ name: { '@value': 'See', '@language': 'de' } }, 'See'],
    [{ name: 5 }, '5'],
    [{ name: ' ', headline: 'Head' }, 'Head'],
    [{ name: null, alternateName: 'Other' }, 'Other'],
    [{ name: [], mainEntity: { '@id': '#ada' } }, 'Ada'],
    [{ name: {} }, 'Untitled crate'],
  ];
  for (const [properties, title] of cases) assert.equal(readRootWith(properties, ada).title, title);
  const named = { '@id': 'https://example.org/lakes', '@type': 'Dataset' };
  assert.equal(readGraph([{ ...descriptor, about: { '@id': named['@id'] } }, named]).title, named['@id']);
});

test('a description may be a list, or stand under another name', () => {
  assert.equal(readRootWith({ description: ['a', ' ', 'b'] }).description, 'a\n\nb');
  assert.equal(readRootWith({ description: '', abstract: 'short' }).description, 'short');
});

test('authors are texts, objects, references or lists of them; creators where there are none', () => {
  const cases: [object, string[]][] = [
    [{ author: 'Ada' }, ['Ada']],
    [{ author: 'Lovelace, A.; Ross, B.' }, ['Lovelace, A.', 'Ross, B.']],
    [{ author: { '@id': '#ada' } }, ['Ada']],
    [
      { author: [{ '@id': '#ada' }, { '@id': bob['@id'] }, 'Cleo', { '@id': '#ada' }] },
      ['Ada', 'Bob Ross', 'Cleo'],
    ],
    [{ author: { '@type': 'Person', name: 'Dan' } }, ['Dan']],
    [{ author: '#ada' }, ['Ada']],
    [{ author: bob['@id'] }, ['Bob Ross']],
    [{ author: { '@list': [{ '@id': '#ada' }] } }, ['Ada']],
    [{ 'schema:author': 'Ada' }, ['Ada']],
    [{ author: { '@id': '#nobody' } }, ['#nobody']],
    [{ author: { '@id': 'https://orcid.org/1' } }, ['https://orcid.org/1']],
    [{ creator: { '@id': '#ada' } }, ['Ada']],
    [{ creator: 'Cleo', author: 'Ada' }, ['Ada']],
    [{ contributor: 'Cleo', agent: 'Dan', publisher: 'Eve' }, []],
    [{ author: [null, '', ' ', {}] }, []],
    [{ author: 'data' }, ['data']],
  ];
  for (const [properties, authors] of cases)
    assert.deepEqual(
      readRootWith(properties, ada, bob, nameless, folder).authors,
      authors,
      JSON.stringify(properties),
    );
  assert.equal(issuesOf(readRootWith({ author: { '@id': '#nobody' } }, nameless))['author_without_name'], 1);
});

test('keywords are a text with commas, a list, or terms', () => {
  const term = { '@id': '#t', '@type': 'DefinedTerm', name: 'Limnology' };
  const cases: [unknown, string[]][] = [
    ['lake, depth,, ', ['lake', 'depth']],
    ['lake; depth', ['lake', 'depth']],
    [['lake, depth'], ['lake', 'depth']],
    [
      ['lakes, deep', 'rivers', 'rivers'],
      ['lakes, deep', 'rivers'],
    ],
    [
      [{ '@id': '#t' }, 'x'],
      ['Limnology', 'x'],
    ],
    [undefined, []],
  ];
  for (const [keywords, expected] of cases)
    assert.deepEqual(readRootWith({ keywords }, term).keywords, expected, JSON.stringify(keywords));
});

test('a license is a text, an address, a reference or an object', () => {
  const known = { '@id': 'https://example.org/l', '@type': 'CreativeWork', name: 'House rules' };
  const cases: [unknown, { id: string | null; name: string | null } | null][] = [
    ['MIT', { id: null, name: 'MIT' }],
    ['https://spdx.org/licenses/MIT.html', { id: 'https://spdx.org/licenses/MIT.html', name: 'MIT' }],
    [
      { '@id': 'https://creativecommons.org/licenses/by-sa/4.0/' },
      { id: 'https://creativecommons.org/licenses/by-sa/4.0/', name: 'CC-BY-SA-4.0' },
    ],
    [
      { '@id': 'https://creativecommons.org/publicdomain/zero/1.0/' },
      { id: 'https://creativecommons.org/publicdomain/zero/1.0/', name: 'CC0-1.0' },
    ],
    [{ '@id': 'https://example.org/other' }, { id: 'https://example.org/other', name: null }],
    [{ '@id': known['@id'] }, { id: known['@id'], name: 'House rules' }],
    [known['@id'], { id: known['@id'], name: 'House rules' }],
    [
      { '@type': 'CreativeWork', name: 'Mine', url: 'https://example.org/mine' },
      { id: 'https://example.org/mine', name: 'Mine' },
    ],
    [
      { '@type': 'CreativeWork', name: 'Mine' },
      { id: null, name: 'Mine' },
    ],
    [['MIT', 'GPL-3.0'], { id: null, name: 'MIT' }],
    ['', null],
    [null, null],
  ];
  for (const [license, expected] of cases)
    assert.deepEqual(readRootWith({ license }, known).license, expected, JSON.stringify(license));
  assert.deepEqual(issuesOf(readRootWith({ license: ['MIT', 'GPL-3.0'] })), { several_licenses: 1 });
});

test('dates that are odd are told; of several the first that can be read is taken', () => {
  const cases: [unknown, string | null, Record<string, number>][] = [
    ['2023', '2023', {}],
    [2023, '2023', {}],
    [1701043200000, '2023-11-27T00:00:00.000Z', { date_not_iso: 1 }],
    ['11/27/2023', '2023-11-27', { date_not_iso: 1 }],
    ['UNPUBLISHED', null, { date_not_readable: 1 }],
    [['soon', '2023-05-01', '2024'], '2023-05-01', { several_dates: 1 }],
    [{ '@value': '2023-05-01', '@type': 'xsd:date' }, '2023-05-01', {}],
    [null, null, { root_without_date: 1 }],
  ];
  for (const [datePublished, published, issues] of cases) {
    const crate = readRootWith({ datePublished });
    assert.deepEqual(
      [crate.published, crate.year, issuesOf(crate)],
      [published, published === null ? null : Number(published.slice(0, 4)), issues],
    );
  }
});

test('identifiers are texts, addresses or entities with a value, and the @id of a root on the web', () => {
  const doi = { '@id': 'https://doi.org/10.1/x', '@type': 'PropertyValue', value: 'doi:10.1/x' };
  const identifier = ['10.1/y', { '@id': doi['@id'] }, { '@id': 'https://doi.org/10.1/z' }, '10.1/y'];
  assert.deepEqual(readRootWith({ identifier }, doi).identifiers, [
    '10.1/y',
    'doi:10.1/x',
    'https://doi.org/10.1/z',
  ]);
  const web = { '@id': 'https://example.org/lakes', '@type': 'Dataset', 'cite-as': 'https://doi.org/10.1/c' };
  const crate = readGraph([{ ...descriptor, about: { '@id': web['@id'] } }, web]);
  assert.deepEqual(crate.identifiers, ['https://doi.org/10.1/c', web['@id']]);
});
