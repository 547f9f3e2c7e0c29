import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { createLog } from '../../../platform/observability/log.ts';
import { defaultLayout, type DocumentLayout } from '../document.ts';
import { openPandoc } from '../pandoc/pandoc.ts';
import { createTypstCompiler } from './compiler.ts';
import { listTextFamilies } from './fonts.ts';
import { buildTypstVariables, typstTemplate } from './template.ts';
import { findTypstPackage, type TypstResult } from './typst.ts';

const engine = { processes: 1, memoryBytes: 1_000_000_000, idleSeconds: 60, epoch: 0, log: createLog('off') };
const pandoc = openPandoc({ ...engine, command: null });
after(() => pandoc[Symbol.asyncDispose]());
const compile = await createTypstCompiler({ url: findTypstPackage().url, fonts: [], epoch: 0 });
const { signal } = new AbortController();

const picture = 'picture-1.svg';

/** Pictures are in the text itself; whoever reads documents gives them names. */
function taken(text: string): { readonly text: string; readonly files: Record<string, Uint8Array> } {
  const files: Record<string, Uint8Array> = {};
  const named = text.replaceAll(/data:image\/svg\+xml;base64,([\w+/=]+)/g, (_, bytes: string) => {
    files[picture] = Buffer.from(bytes, 'base64');
    return picture;
  });
  return { text: named, files };
}

async function markupOf(text: string, layout: DocumentLayout): Promise<string> {
  const options = {
    from: 'markdown-raw_html-raw_tex-raw_attribute',
    to: 'typst',
    standalone: true,
    template: 'template.typ',
    variables: buildTypstVariables(layout, listTextFamilies([])),
  };
  const files = { 'template.typ': typstTemplate };
  const { output } = await pandoc.convert({ options, input: text, files }, signal);
  return Buffer.from(output).toString();
}

async function pdfOf(
  markdown: string,
  change: Partial<DocumentLayout> = {},
): Promise<TypstResult & { readonly raw: string }> {
  const layout = { ...defaultLayout, ...change };
  const { text, files } = taken(markdown);
  const source = await markupOf(text, layout);
  const result = compile({ source, files, pdfA: layout.pdfA, findMissing: true });
  return { ...result, raw: Buffer.from(result.pdf).toString() };
}

const specimen = readFileSync(new URL('../../../../fixtures/documents/specimen.md', import.meta.url), 'utf8');

for (const change of [
  { fontSizePt: 10 },
  { fontSizePt: 12, paper: 'letter', toc: true, numberSections: true, language: 'de-CH' },
  { pdfA: true, toc: true, marginMm: 12.7 },
] as const satisfies Partial<DocumentLayout>[])
  it(`the specimen is set, without a warning or a missing glyph (${JSON.stringify(change)})`, async () => {
    const { pages, warnings, missing, raw } = await pdfOf(specimen, change);
    assert.deepEqual([warnings, missing, pages >= 4], [[], [], true]);
    assert.match(
      raw,
      'paper' in change ? /MediaBox \[0 0 612 792\]/ : /MediaBox \[0 0 595\.2\d* 841\.8\d*\]/,
    );
    assert.match(raw, />Residuals of a long series: a specimen</);
    assert.match(raw, />Ada Example, Émile Muster</);
  });

it('an empty document, and one with nothing but text, have no title and no numbers of pages', async () => {
  for (const text of ['', 'Just a line.']) assert.equal((await pdfOf(text)).pages, 1);
});

it('links to what is not there, or there twice, do not stop a document', async () => {
  const { pages } = await pdfOf(
    '# A {#x}\n\n# B {#x}\n\n[to x](#x), [to nowhere](#nope)[^1]\n\n[^1]: [x](#x)',
  );
  assert.equal(pages, 1);
});

it('a note in a heading stands once, and not below the contents as well', async () => {
  const note = 'word '.repeat(850);
  for (const heading of ['A[^1]', '*A[^1]*', '[^1]'])
    assert.equal((await pdfOf(`# ${heading}\n\n[^1]: ${note}`, { toc: true })).pages, 1, heading);
});

/** A square of ten points, drawn; how large it is on the page, which is what the PDF scales it by. */
const square =
  '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><path d="M0 0H10V10H0Z"/></svg>';

function drawnSize(pdf: Uint8Array): number {
  const streams = Buffer.from(pdf)
    .toString('latin1')
    .matchAll(/stream\r?\n(x.*?)\r?\nendstream/gs);
  const scales = [...streams].flatMap(([, bytes]) => {
    const drawn = inflateSync(Buffer.from(bytes!, 'latin1')).toString('latin1');
    return [...drawn.matchAll(/([\d.]+) 0 0 -[\d.]+ [\d.]+ [\d.]+ cm/g)].map(([, scale]) => Number(scale));
  });
  return Math.max(...scales) * 10;
}

/** Points between the margins of A4. */
const width = 453.6;

for (const [attributes, size] of [
  ['width=2cm', 56.7],
  ['width=90cm', width],
  ['width=300%', width],
  ['height=90cm', width],
] as const)
  it(`a picture with ${attributes} stays on the page`, async () => {
    const uri = `data:image/svg+xml;base64,${Buffer.from(square).toString('base64')}`;
    for (const text of [`![Caption](${uri}){${attributes}}`, `In a line ![](${uri}){${attributes}} too`]) {
      const drawn = drawnSize((await pdfOf(text)).pdf);
      assert.ok(Math.abs(drawn - size) < 1, `${drawn}`);
    }
  });

it('what looks like code in the metadata is text', async () => {
  const hostile = ']#panic("title") #read("/etc/passwd") "); #panic(1';
  const text = `---\ntitle: '${hostile}'\nauthor: ['${hostile}']\ndate: '${hostile}'\nabstract: '${hostile}'\n---\n\nx`;
  const { pages, raw } = await pdfOf(text, { language: '"); #panic("x' });
  assert.equal(pages, 1);
  assert.match(raw, /\]#panic\(/);
});

it('families are quoted, and the numbers are plain', () => {
  const variables = buildTypstVariables({ ...defaultLayout, marginMm: 1e-9, fontSizePt: 10.5 }, ['A"b\\c']);
  assert.equal(variables['text-fonts'], String.raw`"A\"b\\c",`);
  assert.deepEqual([variables['margin-mm'], variables['font-size-pt']], ['0.00', '10.50']);
});
