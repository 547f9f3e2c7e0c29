import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLog } from '../../../platform/observability/log.ts';
import { openPandoc } from '../pandoc/pandoc.ts';
import { parseAst, serializeAst, type PandocAst } from './ast.ts';
import { checkBoundedText } from './bounds.ts';
import { listCitedKeys } from './links.ts';
import { markdownReaderFormat } from './markdown.ts';
import { sanitizeAst, type SanitizedDocument } from './sanitize.ts';

const pandoc = openPandoc({
  command: null,
  memoryBytes: 2 ** 30,
  processes: 1,
  idleSeconds: 60,
  epoch: 0,
  log: createLog('off'),
});
after(() => pandoc[Symbol.asyncDispose]());

async function convert(from: string, to: string, input: string | Uint8Array): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(120_000);
  return (await pandoc.convert({ options: { from, to }, input }, signal)).output;
}

async function read(text: string): Promise<PandocAst> {
  checkBoundedText(text, 1_000_000);
  return parseAst(await convert(markdownReaderFormat, 'json', text));
}

const judged = async (text: string): Promise<SanitizedDocument> =>
  sanitizeAst(await read(text), { stage: 'written', mostPictureBytes: 1000 });

const written = async (text: string, to: string): Promise<string> =>
  Buffer.from(await convert('json', to, serializeAst((await judged(text)).ast))).toString();

const everything = `---
title: A *title* -- "quoted"
author: [{name: Jane}, Joe]
lang: de-CH
nocite: "@e"
abstract: |
  One.

  Two.
---

# Heading {#sec .unnumbered typst:x="#read(1)"}
## Without an empty line
- a list, too
- [x] done

Text[^1] with ^[a note], H~2~O, "quotes", \\(x^2\\), [@a; see @b, p. 3] and @c [chap. 2].

[^1]: A footnote.

Term
:   Definition

| left | right |
|:-----|------:|
| a<br>b | $[0, 1)$ |

: Caption {#tbl}

+---+---+
| a | b |
+---+---+
| c     |
+-------+

![Figure](my plot.png){width=50% typst:x="#read(1)"}

::: {.note typst:inset="1pt); #read(1)"}
> quote
:::

| line
| block

(1) one
(2) two

\`\`\`python
x = [[[[[[[[1]]]]]]]]
\`\`\`

---

[spaced]{.smallcaps} ~~gone~~ https://example.org/a--b
`;

test('everything that Markdown can say goes through, and is written', async () => {
  const { ast, layout, pictures, warnings } = await judged(everything);
  assert.deepEqual(layout, { title: 'A title – “quoted”', authors: ['Jane', 'Joe'], language: 'de-CH' });
  assert.deepEqual([pictures, warnings], [[{ wanted: 'my plot.png', as: 'picture-1' }], []]);
  assert.deepEqual(
    listCitedKeys(ast)
      .map(({ key }) => key)
      .sort(),
    ['a', 'b', 'c', 'e'],
  );
  assert.doesNotMatch(JSON.stringify(ast), /#read/);
  const again = sanitizeAst(parseAst(serializeAst(ast)), { stage: 'cited', mostPictureBytes: 0 });
  assert.deepEqual(again.ast, ast);
  const html = Buffer.from(await convert('json', 'html', serializeAst(ast))).toString();
  for (const part of ['<h2', '“quotes”', '<br />', '<dl>', '<figure>', 'class="note"', 'smallcaps', 'a--b'])
    assert.ok(html.includes(part), part);
});

const hostile: [what: string, text: string, message: RegExp][] = [
  ['a block of Typst', '```{=typst}\n#read("/etc/passwd")\n```', /code in "typst" begins with "#read/],
  ['an inline piece of LaTeX', 'a `\\input{x}`{=latex}', /code in "latex"/],
  ['a picture of the network', '![a][b]\n\n[b]: http://example.org/x.png', /not fetched/],
  ['a picture of the disk', '![](/etc/passwd)', /paths of the server/],
  ['a picture of HTML', '<img src="file:///etc/passwd">', /paths of the server/],
  ['a paper that is code', '---\npapersize: "a4\\"); #read(1)"\n---\n', /“papersize”/],
  ['a bibliography on the disk', '---\nbibliography: /etc/passwd\n---\n', /bibliographyContent/],
];

for (const [what, text, message] of hostile)
  test(`${what} is refused as Pandoc reads it`, async () => {
    await assert.rejects(judged(text), { code: 'document_invalid', message });
  });

test('no attribute, command, tag or formula of a document becomes code of Typst', async () => {
  const typst = await written(
    '#panic(1) [x]{typst:text:fill="#panic(1)"} $#panic(1)$ `a` <b>#panic(1)</b> \\input{x}\n\n' +
      '# a {#b typst:x="#panic(1)"}\n\n<img src=a.png width="1); #panic(1)">\n\n<div typst:x="#panic(1)">x</div>',
    'typst',
  );
  assert.equal(typst.match(/#panic/g)?.length, typst.match(/\\#panic/g)?.length, typst);
});

test('HTML, page breaks and LaTeX are taken as far as they can be', async () => {
  const { ast, warnings } = await judged(
    'a<br>b H<sub>2</sub>O <!-- no --> vector<int>\n\n\\newpage\n\n<div style="break-after: page"></div>\n\n<!-- gone -->\n\n\\begin{x}',
  );
  const breaks = ast.blocks.filter(({ t }) => t === 'Div');
  assert.deepEqual([ast.blocks.length, breaks.length], [4, 2]);
  assert.equal(warnings.length, 2);
  assert.match(warnings.join(), /"int".*begin\{x\}/);
});

// Each of these was exponential before: the limit only keeps a failure from hanging the suite.
test('marks that are never closed take no exponential time', { timeout: 240_000 }, async () => {
  for (const piece of ['"a \'b ', '<span>', '*a **b ', '[a]{.b ', '~a^b', '$a "'])
    await read(piece.repeat(piece.includes('[') ? 5 : 40));
});
