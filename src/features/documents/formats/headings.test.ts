import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildDocxContents, buildOdtContents } from './html.ts';
import {
  listContentsEntries,
  toTreeText,
  numberHeadings,
  type PandocBlock,
  type PandocInline,
} from './tree.ts';

function heading(level: number, text: PandocInline[], classes: string[] = []): PandocBlock {
  return { t: 'Header', c: [level, [`id-${toTreeText(text)}`, classes, []], text] };
}
const words = (text: string): PandocInline[] => [{ t: 'Str', c: text }];

const blocks: PandocBlock[] = [
  heading(1, words('A')),
  heading(2, words('B')),
  { t: 'Div', c: [['', [], []], [heading(2, words('C'))]] },
  heading(1, words('D'), ['unnumbered']),
  heading(1, words('E')),
  heading(4, words('F')),
];

test('sections are numbered as Pandoc numbers them, within divisions, too', () => {
  const texts = JSON.stringify(numberHeadings(blocks));
  for (const number of ['1', '1.1', '1.2', '2', '2.0.0.1']) assert.ok(texts.includes(`"${number}"`), number);
  const entries = listContentsEntries(blocks, true).map(({ number, text }) => [number, text]);
  assert.deepEqual(entries, [
    ['1', 'A'],
    ['1.1', 'B'],
    ['1.2', 'C'],
    [null, 'D'],
    ['2', 'E'],
  ]);
});

test('contents have no notes, and no links within links', () => {
  const text: PandocInline[] = [
    { t: 'Emph', c: [{ t: 'Link', c: [['', [], []], words('linked'), ['https://example.org', '']] }] },
    { t: 'Note', c: [{ t: 'Para', c: words('note') }] },
  ];
  const [entry] = listContentsEntries([heading(1, text)], false);
  assert.equal(entry!.text, 'linked');
  assert.doesNotMatch(JSON.stringify(entry!.inlines), /Link|Note/);
});

test('a heading cannot be code in the contents of ODT', () => {
  const hostile = words('</text:a><x a="1">&');
  const [contents] = buildOdtContents([{ t: 'Header', c: [1, ['"><y', [], []], hostile] }], {
    language: 'de-CH',
    numbered: false,
  });
  const text = JSON.stringify(contents);
  assert.match(text, /Inhalt/);
  assert.doesNotMatch(text, /<x|<y/);
});

test('without headings there are no contents', () => {
  const options = { language: 'en', numbered: true };
  const none: PandocBlock[] = [{ t: 'Para', c: words('text') }];
  assert.deepEqual(buildDocxContents(none, options), none);
  assert.deepEqual(buildOdtContents(none, options), none);
});
