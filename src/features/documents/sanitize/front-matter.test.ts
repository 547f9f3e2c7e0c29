import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLayout } from '../document.ts';
import { astOf, para, str } from './ast.testing.ts';
import type { PandocMeta, PandocMetaValue } from './ast.ts';
import { readFrontMatter, applyLayoutMetadata } from './front-matter.ts';
import { sanitizeAst } from './sanitize.ts';

const line = (text: string): PandocMetaValue => ({ t: 'MetaInlines', c: [str(text)] });
const list = (...c: PandocMetaValue[]): PandocMetaValue => ({ t: 'MetaList', c });
const judged = (meta: PandocMeta) =>
  sanitizeAst(astOf([], meta), { stage: 'written', mostPictureBytes: 1000 });

test('the front matter tells title, authors, date and layout', () => {
  const { layout, warnings, ast } = judged({
    title: line('T'),
    author: list(line('Jane'), { t: 'MetaMap', c: { name: line('Joe'), email: line('x') } }),
    date: { t: 'MetaString', c: '2020' },
    lang: line('de-CH'),
    papersize: line('Letter'),
    margin: line('1in'),
    fontsize: line('10.5pt'),
    toc: { t: 'MetaBool', c: true },
    numbersections: line('no'),
  });
  assert.deepEqual(layout, {
    title: 'T',
    authors: ['Jane', 'Joe'],
    date: '2020',
    language: 'de-CH',
    paper: 'letter',
    marginMm: 25.4,
    fontSizePt: 10.5,
    toc: true,
    numberSections: false,
  });
  assert.deepEqual(warnings, []);
  assert.deepEqual(Object.keys(ast.meta).sort(), ['author', 'date', 'title']);
});

test('one author need not be a list, and `authors` means the same', () => {
  assert.deepEqual(judged({ author: line('A') }).layout.authors, ['A']);
  assert.deepEqual(judged({ authors: list(line('A'), line('B')) }).layout.authors, ['A', 'B']);
});

test('what other programs write is understood where it is plain', () => {
  const { layout, warnings } = judged({
    geometry: line('margin=1in'),
    lang: line('en_US'),
    papersize: line('a4paper'),
  });
  assert.deepEqual([layout, warnings], [{ marginMm: 25.4, language: 'en-US', paper: 'a4' }, []]);
  assert.match(judged({ geometry: list(line('left=1in')) }).warnings.join(), /left out: "geometry"/);
});

test('what means nothing is left out, and named once', () => {
  const { ast, warnings } = judged({ documentclass: line('x'), 'header-includes': line('\\input{x}') });
  assert.deepEqual(ast.meta, {});
  assert.match(warnings.join(), /left out: "documentclass", "header-includes"\.$/);
});

test('names of the prototype are no keys', () => {
  const meta = JSON.parse(
    '{"__proto__":{"t":"MetaString","c":"x"},"constructor":{"t":"MetaString","c":"x"}}',
  ) as PandocMeta;
  const { ast, layout } = judged(meta);
  assert.deepEqual([Object.keys(ast.meta), layout], [[], {}]);
});

const wrong: [key: string, value: PandocMetaValue][] = [
  ['papersize', line('a4"); #read("/etc/passwd")')],
  ['papersize', list(line('a4'))],
  ['fontsize', line('7pt')],
  ['fontsize', line('11pt, #x')],
  ['fontsize', line('25')],
  ['margin', line('-1cm')],
  ['margin', line('1cm) #x')],
  ['margin', line('9in')],
  ['lang', line('en") #x')],
  ['lang', line('x'.repeat(100))],
  ['toc', line('perhaps')],
  ['link-citations', line('2')],
  ['title', list(line('a'))],
  ['title', line('x'.repeat(1001))],
  ['date', { t: 'MetaMap', c: {} }],
  ['author', { t: 'MetaMap', c: { email: line('x') } }],
  ['author', list(...Array.from({ length: 201 }, () => line('x')))],
  ['abstract', line('x'.repeat(20_001))],
  ['abstract', { t: 'MetaBlocks', c: [para(str('x'.repeat(200_001)))] }],
  ['keywords', list(...Array.from({ length: 101 }, () => line('x')))],
  ['bibliography', line('/etc/passwd')],
  ['csl', line('https://example.org/x.csl')],
  ['references', list()],
];

for (const [key, value] of wrong)
  test(`${key} as ${JSON.stringify(value).slice(0, 60)} is refused, and named`, () => {
    assert.throws(() => readFrontMatter({ [key]: value }), {
      code: 'document_invalid',
      message: new RegExp(`“${key}”`),
    });
  });

test('what the caller says stands in the metadata as words; what the front matter says alike keeps its marks', () => {
  const title: PandocMetaValue = { t: 'MetaInlines', c: [{ t: 'Emph', c: [str('T')] }] };
  const ast = judged({ title, author: list(line('A')) }).ast;
  const { meta } = applyLayoutMetadata(ast, {
    ...defaultLayout,
    title: 'T',
    authors: ['B #x'],
    date: '2020',
  });
  assert.deepEqual(meta, {
    title,
    author: list({ t: 'MetaInlines', c: [str('B'), { t: 'Space' }, str('#x')] }),
    date: line('2020'),
    lang: line('en'),
  });
  assert.deepEqual(applyLayoutMetadata(ast, defaultLayout).meta, { lang: line('en') });
});

test('after citing, metadata that nobody wrote goes without a word', () => {
  const given = astOf([], {
    references: list(),
    bibliography: line('x.json'),
    lang: line('de'),
    title: line('T'),
  });
  const { ast, warnings } = sanitizeAst(given, { stage: 'cited', mostPictureBytes: 0 });
  assert.deepEqual([ast.meta, warnings], [{ title: line('T'), lang: line('de') }, []]);
});
