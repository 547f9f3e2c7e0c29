import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { checkBoundedText } from './bounds.ts';

const most = 5_000_000;
const deep = (levels: number): string => `${'['.repeat(levels)}a${']'.repeat(levels)}`;

const refused: [what: string, text: string, line: number | null, message: RegExp][] = [
  ['brackets 7 deep', `fine\n\nx\n${deep(7)}`, 4, /square brackets .* more than 6 deep/],
  ['brackets 1,500 deep', deep(1500), 1, /more than 6 deep/],
  ['links within links', `${'['.repeat(8)}a${'](b)'.repeat(8)}`, 1, /more than 6 deep/],
  ['brackets that are never closed', `a\n\n${'[0, 1) '.repeat(8)}`, 3, /more than 7 .* not closed.*“\\\[”/],
  ['brackets after a lone backtick', `\` ${'['.repeat(8)}`, 1, /not closed/],
  ['brackets after a lone dollar', `costs $5 ${'['.repeat(8)}`, 1, /not closed/],
  ['brackets after a fence that is never closed', `\`\`\`\n${'['.repeat(8)}`, 1, /not closed/],
  ['brackets over the lines of a quote', '> a [0\n'.repeat(8), 1, /not closed/],
  ['brackets in an item of a list', `- a\n\n    ${'['.repeat(8)}`, 3, /not closed/],
  ['strikeouts and emphasis, never closed', '_a ~~b '.repeat(14), 1, /“~~” and “_”/],
  ['quotes 41 deep', `a\n${'> '.repeat(41)}a`, 2, /more than 40 deep/],
  ['quotes 41 deep without spaces', `${'>'.repeat(41)}a`, 1, /more than 40 deep/],
  ['lists 41 deep in one line', `${'- '.repeat(41)}a`, 1, /more than 40 deep/],
  ['lists and quotes in turns', `${'1. > '.repeat(30)}a`, 1, /more than 40 deep/],
  ['a list that is indented for ever', `- a\n${' '.repeat(200)}- b`, 2, /more than 40 deep/],
  ['names in the front matter', '---\na: &x [1, 2]\nb: [*x, *x]\n---\n', 1, /uses an alias \(\*x\)/],
  ['names in later metadata', 'text\n\n---\na: &x 1\nb: *x\n...\n', 3, /alias/],
  ['a NUL', 'a\nb\0c', 2, /U\+0000/],
  ['an escape character', 'a\n\n\x1b[31mred', 3, /U\+001B/],
  ['half a character', 'a\ud800b', null, /lone surrogate/],
];

for (const [what, text, line, message] of refused)
  test(`a text with ${what} is refused before Pandoc sees it`, () => {
    const details = line === null ? {} : { line };
    assert.throws(() => checkBoundedText(text, most), { code: 'document_invalid', message, details });
  });

test('a text that is too long is refused, counted in bytes', () => {
  checkBoundedText('ü'.repeat(10), 20);
  assert.throws(() => checkBoundedText('ü'.repeat(10), 19), {
    code: 'document_invalid',
    details: { bytes: 20, most: 19 },
  });
});

const taken: [what: string, text: string][] = [
  ['brackets 6 deep', deep(6)],
  ['many links', '[a](b) ![c](d) [@e] [^1] '.repeat(500)],
  ['a linked picture', '[![a [b]](c)](d)'],
  ['deep brackets in a block of code', `\`\`\`json\n${deep(50)}\n\`\`\`\n`],
  ['deep brackets in a longer fence', `~~~~\n${deep(50)}\n~~~\n${deep(50)}\n~~~~\n`],
  ['deep brackets in code of an item', `- a\n\n  \`\`\`\n  ${deep(50)}\n  \`\`\`\n`],
  ['deep brackets in an indented block', `a\n\n    ${deep(50)}\n\nb`],
  ['deep brackets between backticks', `x \`\`a ${deep(50)} \` b\`\` y`],
  ['half-open intervals in maths', '$[0, 1)$ and \\([0, 1)\\) and $$[0,\n1)$$ '.repeat(50)],
  ['escaped brackets', '\\[a '.repeat(50)],
  ['half-open intervals in a list', '- from [0, 1)\n'.repeat(50)],
  ['half-open intervals in a table', `| a | b |\n|---|---|\n${'| [0, 1) | [1, 2) |\n'.repeat(50)}`],
  ['half-open intervals in headings', '# [0, 1)\n'.repeat(50)],
  ['half-open intervals in paragraphs', 'from [0, 1)\n\n'.repeat(50)],
  ['many strikeouts', '~~a~~ _b_ snake_case ~~c~~ '.repeat(100)],
  ['lists 20 deep', Array.from({ length: 20 }, (_, at) => `${'  '.repeat(at)}- a`).join('\n')],
  ['a rule of dashes', `${'- '.repeat(40)}\n`],
  ['emphasis and ampersands in the front matter', '---\ntitle: Q &A *about* R&D\nx: *A*\n---\n'],
  ['a rule and no front matter', 'a\n\n---\n\n&x *x\n'],
  ['tabs and any line ends', 'a\tb\r\nc\rd\n'],
  ['nothing', ''],
];

for (const [what, text] of taken) test(`a text with ${what} is taken`, () => checkBoundedText(text, most));

// In quadratic time it would take hours: the limit only keeps a failure from hanging the suite.
test('hostile texts take no quadratic time', { timeout: 60_000 }, () => {
  const pieces = [
    '[',
    '`',
    '`a ``b ',
    '$a ',
    '\\(',
    '\\[',
    '> ',
    '```\n',
    '---\na: b\n',
    '_x ~~y ',
    '| [a\n',
    ' ',
  ];
  for (const piece of pieces) attempt(piece.repeat(500_000 / piece.length));
  attempt(Array.from({ length: 1000 }, (_, at) => `${'`'.repeat(1003 - at)}\n`).join(''));
  attempt(Array.from({ length: 1000 }, (_, at) => `${'`'.repeat(at + 1)}a `).join(''));
});

test('no text makes the bounds fail in another way than by refusing it', () => {
  const piece = fc.constantFrom(
    '[',
    ']',
    '`',
    '```',
    '$',
    '\\',
    '\n',
    '\n\n',
    '> ',
    '- ',
    '~~',
    '_',
    '---\n',
    '|',
    'a',
  );
  const texts = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
  fc.assert(fc.property(texts, attempt), { numRuns: 1000 });
});

function attempt(text: string): void {
  try {
    checkBoundedText(text, most);
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
  }
}
