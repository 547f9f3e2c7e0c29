import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { never, openTestPandoc } from '../citations/pandoc.testing.ts';
import { markdownReaderFormat } from '../sanitize/markdown.ts';
import { setWordsAside } from './plain-words.ts';

const pandoc = openTestPandoc();
after(() => pandoc[Symbol.asyncDispose]());

async function readMarkdown(input: string): Promise<string> {
  const options = { from: markdownReaderFormat, to: 'json' };
  try {
    return Buffer.from((await pandoc.convert({ options, input }, never)).output).toString();
  } catch (error) {
    if (isWorkcrateError(error, 'document_invalid')) return error.message;
    throw error;
  }
}

const words = 'the method was applied to every sample of the archive';

const prose = {
  'a paragraph of one line': `The ${words}, and so on. Then ${words}.`,
  'a paragraph of several lines': `The ${words},\nand ${words}\n${words} too.`,
  'items of a list': `- one ${words} here\n- two\n\n  below it ${words} there\n\n1. and ${words} too`,
  'beside emphasis, maths and citations': `So *then ${words} there* [@a, p. 3] and $x \\to (0)$ ${words} again_.`,
  'in other alphabets': 'Ärger über die größte Überraschung während der Öffnung des Archivs gestern.',
};

for (const [name, text] of Object.entries(prose))
  test(`words are set aside, and the tree is that of the whole text: ${name}`, async () => {
    const short = setWordsAside(text)!;
    assert.doesNotMatch(short.text, /every sample/);
    assert.equal(short.restore(await readMarkdown(short.text)), await readMarkdown(text));
  });

const other = {
  'front matter': `---\ntitle: The ${words} here\n---\n\nText.`,
  'a heading that is underlined': `The ${words} here\n==========`,
  'a division': `::: the ${words}\n:::`,
  'a table by columns': `The ${words} here  Other\n-------------- -----\nthe ${words}  x`,
  'a table with bars': `The ${words} here | b\n---|---\nthe ${words} | x`,
  'the name of a link': `See [the ${words}\nhere].\n\n[the ${words} here]: x.html`,
  'a link that a backslash confuses': `See [a \\] the ${words} here] too.\n\n[a \\] the ${words} here]: x.html`,
  'indented code': `    code ${words} here`,
  'fenced code': `~~~\ncode\n\nand ${words} here\n~~~`,
  'words within a tag': `Of <a the ${words} here> it.`,
};

for (const [name, text] of Object.entries(other))
  test(`words stay where they may mean something else: ${name}`, () => {
    assert.equal(setWordsAside(text), null);
  });

test('a mark that is there twice, not at all or within something is not trusted', () => {
  const short = setWordsAside(`The ${words} here.`)!;
  const mark = /q[a-z]{17}\d+r/.exec(short.text)![0];
  assert.equal(short.restore('{}'), null);
  assert.equal(short.restore(`{"t":"Str","c":"${mark}"} ${mark}`), null);
  assert.equal(short.restore(`{"t":"Str","c":"${mark}"} ${mark.slice(0, 18)}`), null);
  assert.equal(short.restore(`"a ${mark}"`), null);
});

const prosePiece = fc.constantFrom(` ${words} `, `\n${words}\n`, `A ${words}, ${words} `, `${words} `);
const marks =
  '- |> |# |*|_|[|]|(|)|`|$|:|::: |\\|^|~|@key|{.a}|<b>|"|1. |    |[^1]|.|!|[a]: |$\\alpha$|$a(b$|Term'.split(
    '|',
  );
const blocks = ['\n', '\n\n', ' ', '|', '\n---\n', '\n===\n', '\n[^1]: ', '```\n', '---- ----\n'];
const markPiece = fc.constantFrom(...marks, ...blocks, '| a | b |\n|---|---|\n| ');

test('long texts take no longer than their length', () => {
  for (const unit of ['a, ', 'a ', 'a', '$a ', '- ', '[a '])
    setWordsAside(unit.repeat(1_000_000 / unit.length));
});

test('whatever a text is made of, its tree is that of the whole text', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(prosePiece, markPiece, markPiece), { minLength: 2, maxLength: 14 }),
      async (pieces) => {
        const text = pieces.join('');
        const short = setWordsAside(text);
        if (short === null) return;
        const restored = short.restore(await readMarkdown(short.text));
        if (restored !== null) assert.equal(restored, await readMarkdown(text));
      },
    ),
    { numRuns: 300 },
  );
});
