import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitIntoSlides } from './pptx.ts';
import { noAttributes, toTreeText, type PandocBlock, type PandocInline } from './tree.ts';

const words = (text: string): PandocInline[] => [{ t: 'Str', c: text }];
const heading = (level: number, text: string, id = ''): PandocBlock => {
  return { t: 'Header', c: [level, [id, [], []], words(text)] };
};
const paragraph = (text: string): PandocBlock => ({ t: 'Para', c: words(text) });
const figure: PandocBlock = { t: 'Figure', c: [noAttributes, [null, []], [paragraph('picture')]] };

/** As `2 Title` for headings, and the kind for other blocks. */
function outline(blocks: readonly PandocBlock[]): string[] {
  return splitIntoSlides(blocks).map((block) =>
    block.t === 'Header' ? `${block.c[0]} ${toTreeText(block.c[2])}` : block.t,
  );
}

test('each heading begins a slide, one without text is the name of a part', () => {
  const blocks = [heading(1, 'Part'), heading(2, 'A'), paragraph('a'), heading(3, 'B'), paragraph('b')];
  assert.deepEqual(outline(blocks), ['1 Part', '2 A', 'Para', '2 B', 'Para']);
});

test('a picture has a slide to itself, below the same heading', () => {
  const blocks = [heading(1, 'A'), paragraph('a'), figure, figure, paragraph('b')];
  assert.deepEqual(outline(blocks), ['2 A', 'Para', '2 A', 'Figure', '2 A', 'Figure', '2 A', 'Para']);
});

test('an identifier stays with the first slide of a heading', () => {
  const slides = splitIntoSlides([heading(1, 'A', 'a'), figure, figure]);
  const ids = slides.flatMap((block) => (block.t === 'Header' ? [block.c[1][0]] : []));
  assert.deepEqual(ids, ['a', '']);
});

test('a note in a heading is not there again where the slide goes on', () => {
  const note: PandocInline = { t: 'Note', c: [paragraph('note')] };
  const slides = splitIntoSlides([
    { t: 'Header', c: [1, noAttributes, [...words('A'), note]] },
    figure,
    figure,
  ]);
  assert.equal(JSON.stringify(slides).split('"Note"').length, 2);
});

test('a long list goes on with the next number', () => {
  const items = Array.from({ length: 20 }, (_, at) => [paragraph(`item ${at}`)]);
  const marks = [3, { t: 'Decimal' }, { t: 'Period' }] as [number, { t: string }, { t: string }];
  const slides = splitIntoSlides([heading(1, 'A'), { t: 'OrderedList', c: [marks, items] }]);
  const starts = slides.flatMap((block) => (block.t === 'OrderedList' ? [block.c[0][0]] : []));
  assert.deepEqual(starts, [3, 12, 21]);
});

test('long code and long tables are parted, and nothing of them is lost', () => {
  const code = Array.from({ length: 25 }, (_, at) => `line ${at}`).join('\n');
  const slides = splitIntoSlides([{ t: 'CodeBlock', c: [noAttributes, code] }]);
  const parts = slides.flatMap((block) => (block.t === 'CodeBlock' ? [block.c[1]] : []));
  assert.deepEqual([parts.length, parts.join('\n')], [3, code]);
  const rows = Array.from({ length: 20 }, () => [noAttributes, []] as [typeof noAttributes, []]);
  const none: [typeof noAttributes, []] = [noAttributes, []];
  const table: PandocBlock = {
    t: 'Table',
    c: [noAttributes, [null, []], [], none, [[noAttributes, 0, [], rows]], none],
  };
  const tables = splitIntoSlides([table]).flatMap((block) =>
    block.t === 'Table' ? [block.c[4][0]![3].length] : [],
  );
  assert.deepEqual(tables, [7, 7, 6]);
});

test('a rule begins a new slide, and divisions hold nothing together but columns and notes', () => {
  const refs: PandocBlock = { t: 'Div', c: [['refs', [], []], [paragraph('one')]] };
  const notes: PandocBlock = { t: 'Div', c: [['', ['notes'], []], [paragraph('say this')]] };
  const blocks: PandocBlock[] = [heading(1, 'A'), refs, { t: 'HorizontalRule' }, paragraph('two'), notes];
  assert.deepEqual(outline(blocks), ['2 A', 'Para', '2 A', 'Para', 'Div']);
});
