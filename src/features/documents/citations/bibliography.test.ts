import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { WorkcrateError } from '../../../platform/errors.ts';
import { readBibliography, type BibliographyFormat } from './bibliography.ts';
import { never, openTestPandoc } from './pandoc.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

const read = (text: string, format: BibliographyFormat | null = null, language = 'en') =>
  readBibliography(pandoc, text, format, never, language);

function refusedWith(pattern: RegExp, line: number | null) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof WorkcrateError);
    assert.equal(error.code, 'document_invalid');
    assert.match(error.message, pattern);
    assert.equal(error.details['line'] ?? null, line);
    return true;
  };
}

test('BibTeX with strings, a crossref, comments and accents of LaTeX is read', async () => {
  const { format, references, duplicates } = await read(String.raw`
@string{jm = "Journal of Measures"}
@comment{not {this} one}
@article{small, author = {M{\"u}ller, J{\"o}rg and {World Health Organization}}, title = {Caf\'e {\ss} {DNA}},
  journal = jm # " B", year = 2020, month = mar, pages = {1--9}}
@inproceedings{talk, crossref = {proc}, title = {A talk}}
@proceedings{proc, title = {Proceedings}, booktitle = {Proceedings}, year = 1999}`);
  assert.equal(format, 'bibtex');
  assert.deepEqual(duplicates, []);
  assert.deepEqual(references[0], {
    id: 'small',
    type: 'article-journal',
    author: [{ family: 'Müller', given: 'Jörg' }, { literal: 'World Health Organization' }],
    title: 'Café ß DNA',
    'container-title': 'Journal of Measures B',
    issued: { 'date-parts': [[2020, 3]] },
    page: '1-9',
  });
  assert.deepEqual(references[1]!['issued'], { 'date-parts': [[1999]] });
  assert.equal(references[1]!['container-title'], 'Proceedings');
  recordProof('C13:bibtex');
});

test('BibLaTeX is told from BibTeX by its types and fields', async () => {
  const { format, references } = await read(
    '@online{page, title = {A page}, date = {2020-01-02}, url = {https://example.org/a_b}, urldate = {2021-02-03}}',
  );
  assert.equal(format, 'biblatex');
  assert.equal(references[0]!['type'], 'webpage');
  assert.deepEqual(references[0]!['accessed'], { 'date-parts': [[2021, 2, 3]] });
  recordProof('C13:biblatex');
});

test('a file that a field wants to have included is not read', async () => {
  const { references } = await read(String.raw`@book{a, title = {Before \input{/etc/passwd} after}}`);
  assert.match(String(references[0]!['title']), /^Before\s+after$/);
});

test('titles keep their capitals in a document that is not English, unless the entry says it is', async () => {
  const text =
    '@book{a, title = {Die Grundlagen der Arithmetik}}\n@book{b, langid = {english}, title = {The Foundations of It}}';
  const { references } = await read(text, 'biblatex', 'de-CH');
  assert.deepEqual(
    references.map(({ title }) => title),
    ['Die Grundlagen der Arithmetik', 'The foundations of it'],
  );
});

const broken: [what: string, text: string, line: number | null, message: RegExp][] = [
  [
    'an entry that is not closed',
    '@book{a,\n title={x}}\n@book{b,\n title={y\n\n@book{c, title={z}}',
    3,
    /`b`.*not closed/,
  ],
  [
    'an entry at the end that is not closed',
    '@book{a,\n title={x}}\n@book{b,\n title={y\n}\n',
    3,
    /`b`.*not closed/,
  ],
  ['a comma that is missing', '@book{a,\n title={x}\n year={2020}\n}', 3, /entry `a`.*Pandoc says/s],
  ['a key that is missing', '\n@article{title={x}, year=2020}', 2, /has no key/],
  ['an empty key', '@article{,\n title={x}}', 1, /has no key/],
  ['entries in a circle', '@book{a, crossref={b}}\n@book{b, crossref={a}}', 1, /refers to itself/],
  ['nothing', ' \n', null, /empty/],
  ['a text of another kind', 'Hello', 1, /neither BibTeX/],
  ['comments alone', '@comment{x}', null, /no entries/],
  ['JSON that is none', '[{"id":"a",\n"type":"book" "title":"T"}]', 2, /not JSON at column 15/],
  ['JSON that ends early', '[{"id":"a",\n', 2, /not JSON/],
  ['CSL JSON without an id', '[{"id":"a,{","type":"book"},\n{"type":"book"}]', 2, /entry 2 has no `id`/],
  ['CSL JSON without a type', '\n[{"id":"a"}]', 2, /`a`\) has no `type`/],
  [
    'a date of another shape',
    '[{"id":"a","type":"book","issued":{"date-parts":[["x"]]}}]',
    null,
    /entry `a`.*form/,
  ],
  [
    'CSL JSON that is deeper than anything',
    `[{"id":"a","type":"b","x":${'['.repeat(9999)}${']'.repeat(9999)}}]`,
    1,
    /too deeply/,
  ],
  ['an empty list', '[]', null, /no entries/],
  ['YAML that is none', 'references:\n- id: a\n type: b', 3, /not YAML/],
  [
    'YAML that grows',
    `a: &a [x]\nb: &b [${'*a,'.repeat(60)}]\nreferences: [${'*b,'.repeat(60)}]`,
    null,
    /aliases/,
  ],
];

for (const [what, text, line, message] of broken)
  test(`${what} is refused${line === null ? '' : ', and the line is named'}`, () =>
    assert.rejects(read(text), refusedWith(message, line)));

test('too many entries are refused before anything is converted', () =>
  assert.rejects(read('@misc{a,}\n'.repeat(20_001)), refusedWith(/20001 entries/, null)));

test('of entries with one key the last counts, and the key is named', async () => {
  const { references, duplicates, warnings } = await read(
    '@book{a, title={One}}\n@book{a, title={Two}}\n@book{b, title={B}}',
  );
  assert.deepEqual(
    references.map(({ id, title }) => [id, title]),
    [
      ['a', 'Two'],
      ['b', 'B'],
    ],
  );
  assert.deepEqual(duplicates, ['a']);
  assert.deepEqual(warnings, ['Several entries have the key `a`: the last one is used.']);
});

test('CSL JSON is read as a list, as Zotero gives it, or one entry alone', async () => {
  for (const text of [
    '[{"id":1,"type":"book"}]',
    '{"items":[{"id":1,"type":"book"}]}',
    '{"id":1,"type":"book","volume":null}',
  ])
    assert.deepEqual((await read(text)).references, [{ id: '1', type: 'book' }]);
  recordProof('C13:csl-json');
});

test('CSL YAML is read with its dates, names and the markup of its titles', async () => {
  const { format, references } = await read(String.raw`---
references:
- id: a_b
  type: book
  title: The *E. coli* of H~2~O \*
  author: [{family: Doe, given: Jane}, WHO]
  issued: 2020-03-04
  DOI: 10.1/a_*b*
- id: 2
  type: book
  issued: [{year: 2020, month: 3}]
...
`);
  assert.equal(format, 'cslyaml');
  assert.deepEqual(references, [
    {
      id: 'a_b',
      type: 'book',
      title: 'The <i>E. coli</i> of H<sub>2</sub>O *',
      author: [{ family: 'Doe', given: 'Jane' }, { literal: 'WHO' }],
      issued: { 'date-parts': [[2020, 3, 4]] },
      DOI: '10.1/a_*b*',
    },
    { id: '2', type: 'book', issued: { 'date-parts': [[2020, 3]] } },
  ]);
});

test('a list alone is CSL YAML too, its lines are named as they are, and what is left out is told', async () => {
  const { format, references, warnings } = await read(
    '- id: a\n  type: book\n- type: book\n  title: No id\n',
  );
  assert.equal(format, 'cslyaml');
  assert.deepEqual(references, [{ id: 'a', type: 'book' }]);
  assert.match(warnings.join(), /^1 entries of the bibliography were left out: they have no id/);
  await assert.rejects(read('- id: a\n type: book\n'), refusedWith(/not YAML/, 2));
});

test('RIS is read, and entries without an ID can be cited by author and year', async () => {
  const { format, references } = await read(
    '\u{feff}TY  - JOUR\r\nAU  - van Dam, J.\r\nAU  - WHO\r\nTI  - One\r\nAB  - first\r\nsecond\r\nPY  - 2020\r\nDA  - 2020/03/04/\r\n' +
      'JO  - Journal\r\nSP  - 1\r\nEP  - 9\r\nDO  - https://doi.org/10.1/x\r\nER  - \r\n' +
      'TY  - BOOK\nA1  - van Dam, K.\nPY  - 2020\nER  -\nTY  - GEN\nID  - own\nTI  - Own\nER  - \n',
  );
  assert.equal(format, 'ris');
  assert.deepEqual(
    references.map(({ id }) => id),
    ['van_Dam_2020', 'van_Dam_2020a', 'own'],
  );
  assert.deepEqual(references[0], {
    id: 'van_Dam_2020',
    type: 'article-journal',
    author: [{ family: 'Dam', given: 'J.', 'non-dropping-particle': 'van' }, { literal: 'WHO' }],
    title: 'One',
    abstract: 'first second',
    issued: { 'date-parts': [[2020, 3, 4]] },
    'container-title': 'Journal',
    page: '1-9',
    DOI: '10.1/x',
  });
  recordProof('C13:ris');
});

test('of a large bibliography only what is wanted is read, with what that takes over from', async () => {
  const many = Array.from({ length: 300 }, (_, at) => `@book{k${at}, title = {T${at}}}`);
  const text = `@string{p = "Press"}\n${many.join('\n')}\n@inproceedings{talk, crossref = {proc}, title = {A talk}}\n@proceedings{proc, title = {P}, publisher = p, year = 1999}\n@book{broken, title = {x}`;
  const { references } = await readBibliography(
    pandoc,
    text,
    null,
    never,
    'de',
    new Set(['talk', 'k7', 'nowhere']),
  );
  assert.deepEqual(
    references.map(({ id, publisher }) => [id, publisher]),
    [
      ['k7', undefined],
      ['talk', 'Press'],
      ['proc', 'Press'],
    ],
  );
  const broken = text.replace('{A talk}', 'A talk');
  const wanted = readBibliography(pandoc, broken, null, never, 'en', new Set(['talk']));
  await assert.rejects(wanted, refusedWith(/entry/, 302));
});
