import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseAst } from '../sanitize/ast.ts';
import { citeDocument } from './cite.ts';
import { isSameEverywhere } from './clusters.ts';
import { works } from './examples.testing.ts';
import { never, openTestPandoc } from './pandoc.testing.ts';
import { bundledStyles, readCitationStyle } from './styles.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

/** Repeated, in notes, in headings, beside punctuation, unknown, with prefixes and locators. */
const text = `---
title: After @book
abstract: In short [@book, p. 1].
nocite: '@report'
---

# Of [@book]

So [see @book, pp. 3-4; @article]. And [@book, pp. 3-4; @article] again [@book]. @book says so, -@book too.

A note [^1] and one more.[^2] As *in [@book]* and "[@article]". As in @many. Then he [@nobody, ch. 2], who [@book et al.].

- one [@book]
- two [-@article, 7]

| a      | b        |
|--------|----------|
| [@book] | @article |

[^1]: See [@book, p. 9]. And @article.
[^2]: None.
`;
const endings = ['', '\n# Works\n', '\n::: {#refs}\nBefore.\n:::\n\nAfter [@book].\n'];
const titled = text.replace('nocite:', 'reference-section-title: Sources\nnocite:');

async function citeWith(source: string, style: string | null) {
  const { output } = await pandoc.convert(
    { options: { from: 'markdown', to: 'json' }, input: source },
    never,
  );
  const { ast, missing, warnings } = await citeDocument(pandoc, {
    ast: parseAst(output),
    references: works,
    style,
    language: 'en',
    signal: never,
  });
  return { ast, missing, warnings };
}

/** Means nothing, but has the document cited as a whole. */
const forWhole = (style: string): string => style.replace('</info>', '</info><!-- position= -->');

for (const name of bundledStyles)
  test(`${name}: citations that are written once each are those of the whole document`, async () => {
    const style = await readCitationStyle({ name, content: null, folder: null });
    assert.equal(isSameEverywhere(style), true);
    assert.equal(isSameEverywhere(forWhole(style!)), false);
    for (const source of [...endings.map((ending) => text + ending), titled])
      assert.deepEqual(await citeWith(source, style), await citeWith(source, forWhole(style!)));
  });

test("Pandoc's own style too writes a citation the same wherever it stands", async () => {
  const prose = 'So [@book, p. 3]. Again [@book, p. 3] and @book, [-@article; @book] and [@book, p. 3].';
  const options = { from: 'markdown', to: 'json', citeproc: true, bibliography: ['references.json'] };
  const metadata = { lang: 'en', 'link-citations': true };
  const files = { 'references.json': JSON.stringify(works) };
  const { output } = await pandoc.convert({ options: { ...options, metadata }, input: prose, files }, never);
  assert.deepEqual((await citeWith(prose, null)).ast.blocks, parseAst(output).blocks);
});

test('styles that look at the place of a citation get the whole document', () => {
  assert.equal(isSameEverywhere('<style class="note">'), false);
  assert.equal(isSameEverywhere('<style\n version="1.0" class="in-text"><if position = "ibid">'), false);
  assert.equal(isSameEverywhere('<style class="in-text" et-al-subsequent-min="3">'), false);
  assert.equal(isSameEverywhere("<style class='in-text'>"), true);
});
