import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { citeDocument, type CiteRequest } from './cite.ts';
import { works } from './examples.testing.ts';
import { never, openTestPandoc } from './pandoc.testing.ts';
import { expected, sentence } from './style-lines.testing.ts';
import { parseAst } from '../sanitize/ast.ts';
import { bundledStyles, readCitationStyle } from './styles.ts';
import { linesOf } from './written.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

async function citing(text: string, more: Partial<CiteRequest> = {}) {
  const { output } = await pandoc.convert({ options: { from: 'markdown', to: 'json' }, input: text }, never);
  const ast = parseAst(output);
  const cited = await citeDocument(pandoc, {
    ast,
    references: works,
    style: null,
    language: 'en',
    signal: never,
    ...more,
  });
  return { ...cited, given: ast, lines: linesOf(cited.ast), text: JSON.stringify(cited.ast) };
}

test('citations are written out, and the references stand last under a heading in the language', async () => {
  const { lines, missing, warnings } = await citing('# Eins\n\nSo [@book, S. 3].', { language: 'de' });
  assert.deepEqual(lines, [
    '# Eins',
    'So (Roe 2018, 3).',
    '# Literatur',
    'Roe, Richard. 2018. *The book of rules*. 2. Aufl. Example Press.',
  ]);
  assert.deepEqual([missing, warnings], [[], []]);
  recordProof('C11:citations-by-csl');
});

test('a document that ends with a heading, has no headings or says where its references go gets no further heading', async () => {
  const reference = 'Roe, Richard. 2018. *The Book of Rules*. 2nd ed. Example Press.';
  for (const [text, expected] of [
    ['# One\n\n[@book]\n\n## Works', ['# One', '(Roe 2018)', '# Works', reference]],
    ['[@book]', ['(Roe 2018)', reference]],
    ['# One\n\n[@book]\n\n::: {#refs}\n:::\n\nEnd', ['# One', '(Roe 2018)', reference, 'End']],
  ] as const)
    assert.deepEqual((await citing(text)).lines, expected);
});

test('a key without an entry is named, stands in the document, and is no link', async () => {
  const { missing, lines, text } = await citing(
    '[@nowhere; @book; @{https://x.org/?a=b}] and @nowhere and @a/b:c.',
  );
  assert.deepEqual(missing, ['nowhere', 'https://x.org/?a=b', 'a/b:c']);
  assert.match(lines[0]!, /\*\*nowhere\?\*\*; Roe 2018; \*\*https:\/\/x\.org\/\?a=b\?\*\*.*\*\*a\/b:c\?\*\*/);
  assert.deepEqual(
    [...text.matchAll(/"(#ref-[^"]*)"/g)].map(([, target]) => target),
    ['#ref-book'],
  );
});

test('what is said to citeproc alone is not left in the metadata, and what the document says to it is not heard', async () => {
  const { text } = await citing(
    '---\nlang: fr\ntitle: T\nbibliography: /etc/passwd\ncsl: /etc/passwd\n---\n\n[@book]',
  );
  assert.deepEqual(Object.keys((JSON.parse(text) as { meta: object }).meta).sort(), ['lang', 'title']);
  assert.match(text, /"lang":\{"t":"MetaInlines","c":\[\{"t":"Str","c":"fr"\}\]\}/);
});

test('a document without citations is left as it is; one that cites everything lists everything', async () => {
  const plain = await citing('Nothing.');
  assert.equal(plain.ast, plain.given);
  const all = await citing("---\nnocite: '@*'\n---\n\nNothing.");
  assert.equal(all.lines.length, 1 + works.length);
});

test('a style that citeproc refuses is invalid; what it says of one that it takes is a warning', async () => {
  const style = (inner: string): string =>
    `<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text"><info><title>x</title><id>x</id><updated>2020-01-01T00:00:00Z</updated></info><citation>${inner}</citation></style>`;
  await assert.rejects(
    citing('[@book]', { style: style('<oops/>') }),
    (error) => isWorkcrateError(error, 'document_invalid') && /this style \(CSL\)/.test(error.message),
  );
  const { warnings } = await citing('[@book]', {
    style: style('<layout><text macro="no"/><text variable="title"/></layout>'),
  });
  assert.deepEqual(warnings, ['Citations: undefined macro no']);
});

for (const name of bundledStyles)
  test(`${name} writes works of every kind by the rules of the style`, async () => {
    const style = await readCitationStyle({ name, content: null, folder: null });
    const { lines, warnings } = await citing(sentence, { style });
    assert.deepEqual(lines, expected[name]);
    assert.deepEqual(warnings, []);
  });
