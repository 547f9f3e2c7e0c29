import { refusedCitations } from './refused-citations.testing.ts';
import { refusedPictures } from './refused-pictures.testing.ts';
import { invalid, textOf, type Refused } from './refusal.testing.ts';

/** The server has to take no longer text than this. */
export const mostText = 1_000_000;

const front = (line: string): Record<string, unknown> => textOf(`---\n${line}\n---\n\nText.\n`);

const marks: Refused[] = [
  invalid('brackets 1500 deep', textOf('['.repeat(1500) + ']'.repeat(1500)), /line 1, .*brackets.*\\\[/),
  invalid(
    'brackets 15 deep, over lines',
    textOf(`a\n\n${'[\n'.repeat(15)}${']'.repeat(15)}`),
    /line .*flatten/,
  ),
  invalid('1500 brackets that are never closed', textOf('['.repeat(1500)), /not closed.*\\\[/),
  invalid('marks that are never closed', textOf('_a ~~b '.repeat(500)), /not closed.*close them/),
  invalid('quotations 300 deep', textOf(`${'> '.repeat(300)}x`), /line 1, .*deep: flatten/),
];

/** Pandoc's own templates would put each into code as it stands. */
const injections = ['papersize', 'lang', 'fontsize', 'margin'].flatMap((key) => [
  invalid(
    `Typst in ${key}`,
    front(`${key}: 'a4"); #read("/etc/passwd") //'`),
    new RegExp(`“${key}”.* must be`),
  ),
  invalid(
    `a map in ${key}`,
    front(`${key}:\n  x: '1pt); #read("/etc/passwd")'`),
    new RegExp(`“${key}”.*line`),
  ),
]);

const frontMatter: Refused[] = [
  ...injections,
  invalid('a bibliography in the front matter', front('bibliography: /etc/passwd'), /bibliographyContent/),
  invalid('a style in the front matter', front('csl: https://example.org/a.csl'), /cslContent/),
  invalid(
    'aliases that grow',
    front('title: &a [x]\nabstract: [*a, *a]'),
    /line 1 .*alias.*write its value out/,
  ),
  invalid('front matter that is no YAML', front('title: "unclosed\nother: ]['), /YAML.*line/s),
];

const rawFormats = ['typst', 'latex', 'tex', 'openxml', 'opendocument', 'rst', 'org', 'ms', 'markdown'];
const rawSays = /Raw .*as a block of code/;
const raw = (format: string): string => `\`\`\`{=${format}}\n#read("/etc/passwd")\n\`\`\`\n`;
const raws: Refused[] = [
  ...rawFormats.map((format) => invalid(`a raw block of ${format}`, textOf(raw(format)), rawSays)),
  invalid('raw code in a line', textOf('`#read("/etc/passwd")`{=typst}'), rawSays),
  invalid('raw code in the title', front('title: "`#read(1)`{=typst}"'), rawSays),
  invalid('raw code in a table', textOf('| a |\n|---|\n| `x`{=latex} |\n'), rawSays),
  invalid('raw code in a note', textOf('a^[`x`{=openxml}]'), rawSays),
];

const sizes: Refused[] = [
  invalid('a text that is too long', textOf('word '.repeat(mostText / 4)), /1250000 bytes.* 1000000 .*Split/),
  invalid(
    'a bibliography that is too long',
    { ...textOf('[@a]'), bibliographyContent: `@book{a, title={${'x'.repeat(mostText)}}}` },
    /bytes.*only the entries that are cited/,
  ),
  invalid('a control character', textOf('a\n\nb\0c'), /Line 3.*U\+0000.*remove/),
  invalid('half a character', textOf('a \ud800 b'), /half of a character/),
];

/** Refused by the schema of the tool, in the words of the protocol. */
const wrong = (name: string, more: Record<string, unknown>, says: RegExp): Refused => ({
  name,
  input: { ...textOf('x'), ...more },
  code: null,
  says,
});
const basenames = ['../evil', 'a/b', 'a\\b', '/etc/passwd', '..', '.', '.hidden', 'a.', 'a\0b', 'a\nb', ''];
const basenameSays = /outputBasename takes a plain name/;

const inputs: Refused[] = [
  wrong('a format that there is not', { formats: ['rtf'] }, /"pdf"\|"docx"/),
  wrong('no format', { formats: [] }, /formats/),
  ...[...basenames, 'x'.repeat(300)].map((outputBasename) =>
    wrong(`the basename ${JSON.stringify(outputBasename.slice(0, 20))}`, { outputBasename }, basenameSays),
  ),
  wrong('an option that there is not', { template: '/etc/passwd' }, /template/),
  wrong('a language that is code', { language: 'en"); #read("x' }, /a tag such as en/),
  wrong('a paper that is code', { paper: 'a4"); #read("x' }, /"a4"\|"letter"/),
  wrong('a title that nothing can hold', { title: 'a\u0001b' }, /title: takes a line of text/),
  wrong('half an author', { authors: ['a\ud800'] }, /authors\.0: takes a line of text/),
  wrong('a date over two lines', { date: 'a\nb' }, /date: takes a line of text/),
  invalid('a margin that is code', { ...textOf('x'), margin: '1in); #read(1)' }, /margin.* must be/),
];

/** By the kind of what is wrong. */
export const refused: Readonly<Record<string, readonly Refused[]>> = {
  'marks that Pandoc would take for ever over': marks,
  'front matter that would be code, or name files': frontMatter,
  'raw blocks': raws,
  'pictures from elsewhere, and what is no picture': refusedPictures,
  'what is too long, or no text': sizes,
  'arguments that are none': inputs,
  'bibliographies and styles that are broken': refusedCitations,
};
