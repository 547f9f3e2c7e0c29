import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { never, openTestPandoc } from '../citations/pandoc.testing.ts';
import { markdownReaderFormat } from '../sanitize/markdown.ts';
import { specimen } from './formats.testing.ts';
import { setProseAside } from './prose.ts';
import { parseTrustedAst, serializeTree, type PandocAst } from './tree.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

async function readTree(input: string): Promise<PandocAst> {
  const options = { from: markdownReaderFormat, to: 'json' };
  return parseTrustedAst((await pandoc.convert({ options, input }, never)).output);
}

async function writeMarkup(tree: PandocAst): Promise<string> {
  const options = { from: 'json', to: 'typst', wrap: 'none' };
  const { output } = await pandoc.convert({ options, input: serializeTree(tree) }, never);
  return Buffer.from(output).toString();
}

async function demandSameMarkup(text: string): Promise<void> {
  const tree = await readTree(text);
  const { tree: short, restore } = setProseAside(tree);
  const restored = restore(await writeMarkup(short));
  assert.equal(restored, await writeMarkup(tree));
}

const words = 'the method was applied to every sample of the archive';

test('a text with a little of everything has the markup that Pandoc writes for the whole of it', async () => {
  await demandSameMarkup(specimen);
  await demandSameMarkup(`The ${words}, ${words}; and *${words}*.[^1]\n\n[^1]: Note: ${words}.`);
});

test('words and repeated formulas do not reach Pandoc, and other formulas do', async () => {
  const tree = await readTree(`The ${words} $\\alpha$ and $\\alpha$ and $\\beta$ and $$\\alpha$$`);
  const { tree: short, restore } = setProseAside(tree);
  const sent = JSON.stringify(short);
  assert.doesNotMatch(sent, /every|sample/);
  assert.equal(sent.split('\\\\alpha').length - 1, 2);
  const markup = restore(await writeMarkup(short));
  assert.equal(markup, `The ${words} $alpha$ and $alpha$ and $beta$ and $ alpha $\n`);
});

test('a damaged mark is noticed', async () => {
  const { tree: short, restore } = setProseAside(await readTree(`The ${words} here.`));
  const markup = await writeMarkup(short);
  assert.equal(restore(markup.replace(/\d+r/, '')), null);
});

const prose = [`${words} `, ` ${words}, so; it. `];
const marks =
  '#_$_@x_<y>_\\_"_\'_--_..._~_(_)_[_]_*b*_- _1. _+ _= _/ _`code`_$x$_$\\frac{1}{2}$_$$x$$_//_[a](b)_^[note]'.split(
    '_',
  );
const piece = fc.constantFrom(...prose, ...marks, '_', '\n', '\n\n', ' ', '| a |\n|---|\n| b |\n');

test('whatever a text is made of, its markup is that of the whole text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 2, maxLength: 12 }), (pieces) =>
      demandSameMarkup(pieces.join('')),
    ),
    { numRuns: 100 },
  );
});
