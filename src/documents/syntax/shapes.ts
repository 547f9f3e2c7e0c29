import { WorkcrateError } from '../../errors.ts';
import type { Attr, Block, Inline } from './ast.ts';

/** What is done on a way through a tree, and what was met so far. */
export interface Walk {
  attr(attr: Attr, of: string): Attr;
  /** These two are given lists whose insides have been through already. */
  inlines(list: Inline[]): Inline[];
  blocks(list: Block[]): Block[];
  nodes: number;
  cells: number;
  depth: number;
}

/** Checks a part of a tree, and gives a copy of it that has been through the walk. `of` is whose part it is. */
export type Shape = (value: unknown, walk: Walk, of: string) => unknown;

const mostNodes = 2_000_000;
export const mostCells = 200_000;
/** Of nodes within nodes. */
export const mostDepth = 100;
const mostSpan = 10_000;
const mostNumber = 1_000_000_000;

const text: Shape = (value) => demand(typeof value === 'string', value);
const flag: Shape = (value) => demand(typeof value === 'boolean', value);
const nothing: Shape = () => undefined;
const fraction: Shape = (value) => demand(typeof value === 'number' && value >= 0 && value <= 100, value);

const whole =
  (from: number, to: number): Shape =>
  (value) =>
    demand(Number.isInteger(value) && Number(value) >= from && Number(value) <= to, value);

const tag =
  (...names: string[]): Shape =>
  (value) => {
    const { t } = fieldsOf(value);
    demand(names.includes(t as string), value);
    return { t };
  };

const list =
  (shape: Shape): Shape =>
  (value, walk, of) =>
    arrayOf(value).map((each) => shape(each, walk, of));

const tuple =
  (...shapes: Shape[]): Shape =>
  (value, walk, of) => {
    const parts = arrayOf(value);
    demand(parts.length === shapes.length, value);
    return shapes.map((shape, at) => shape(parts[at], walk, of));
  };

const rawAttr = tuple(text, list(text), list(tuple(text, text)));
const attr: Shape = (value, walk, of) => walk.attr(rawAttr(value, walk, of) as Attr, of);

const inlines: Shape = (value, walk) =>
  walk.inlines(arrayOf(value).map((each) => node(each, inlineShapes, walk)) as Inline[]);
export const blocks: Shape = (value, walk) =>
  walk.blocks(arrayOf(value).map((each) => node(each, blockShapes, walk)) as Block[]);

const citation: Shape = (value, walk, of) => {
  const fields = fieldsOf(value);
  return {
    citationId: text(fields['citationId'], walk, of),
    citationPrefix: inlines(fields['citationPrefix'], walk, of),
    citationSuffix: inlines(fields['citationSuffix'], walk, of),
    citationMode: tag('AuthorInText', 'SuppressAuthor', 'NormalCitation')(fields['citationMode'], walk, of),
    citationNoteNum: whole(-mostNumber, mostNumber)(fields['citationNoteNum'], walk, of),
    citationHash: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)(fields['citationHash'], walk, of),
  };
};

const raw = tuple(text, text);
const target = tuple(text, text);
const code = tuple(attr, text);

const inlineShapes = new Map<unknown, Shape>([
  ['Str', text],
  ...['Emph', 'Underline', 'Strong', 'Strikeout', 'Superscript', 'Subscript', 'SmallCaps'].map(
    (name): [string, Shape] => [name, inlines],
  ),
  ['Quoted', tuple(tag('SingleQuote', 'DoubleQuote'), inlines)],
  ['Cite', tuple(list(citation), inlines)],
  ['Code', code],
  ['Space', nothing],
  ['SoftBreak', nothing],
  ['LineBreak', nothing],
  ['Math', tuple(tag('DisplayMath', 'InlineMath'), text)],
  ['RawInline', raw],
  ['Link', tuple(attr, inlines, target)],
  ['Image', tuple(attr, inlines, target)],
  ['Note', blocks],
  ['Span', tuple(attr, inlines)],
]);

const alignment = tag('AlignLeft', 'AlignRight', 'AlignCenter', 'AlignDefault');
const caption = tuple((value, walk, of) => (value === null ? null : inlines(value, walk, of)), blocks);

const columnWidth: Shape = (value, walk, of) => {
  const { t, c } = fieldsOf(value);
  if (t === 'ColWidth') return { t, c: fraction(c, walk, of) };
  return tag('ColWidthDefault')(value, walk, of);
};

const plainCell = tuple(attr, alignment, whole(1, mostSpan), whole(1, mostSpan), blocks);
const cell: Shape = (value, walk) => {
  walk.cells++;
  if (walk.cells > mostCells)
    throw invalid(
      `The tables of the document have more than ${mostCells} cells in all. Give so much data as a file.`,
    );
  return plainCell(value, walk, 'Cell');
};

const rows = list((value, walk) => tuple(attr, list(cell))(value, walk, 'Row'));
const rowGroup: Shape = (value, walk) => tuple(attr, rows)(value, walk, 'Rows');
const tableBody: Shape = (value, walk) => tuple(attr, whole(0, mostSpan), rows, rows)(value, walk, 'Rows');

const numberStyle = tag(
  'DefaultStyle',
  'Example',
  'Decimal',
  'LowerRoman',
  'UpperRoman',
  'LowerAlpha',
  'UpperAlpha',
);
const delimiter = tag('DefaultDelim', 'Period', 'OneParen', 'TwoParens');
const numbering = tuple(whole(-mostNumber, mostNumber), numberStyle, delimiter);

const blockShapes = new Map<unknown, Shape>([
  ['Plain', inlines],
  ['Para', inlines],
  ['LineBlock', list(inlines)],
  ['CodeBlock', code],
  ['RawBlock', raw],
  ['BlockQuote', blocks],
  ['OrderedList', tuple(numbering, list(blocks))],
  ['BulletList', list(blocks)],
  ['DefinitionList', list(tuple(inlines, list(blocks)))],
  ['Header', tuple(whole(1, 100), attr, inlines)],
  ['HorizontalRule', nothing],
  ['Null', nothing],
  ['Table', tuple(attr, caption, list(tuple(alignment, columnWidth)), rowGroup, list(tableBody), rowGroup)],
  ['Figure', tuple(attr, caption, blocks)],
  ['Div', tuple(attr, blocks)],
]);

const metaValue: Shape = (value, walk) => node(value, metaShapes, walk);
export const metaMap: Shape = (value, walk, of) =>
  Object.fromEntries(Object.entries(fieldsOf(value)).map(([key, each]) => [key, metaValue(each, walk, of)]));

const metaShapes = new Map<unknown, Shape>([
  ['MetaMap', metaMap],
  ['MetaList', list(metaValue)],
  ['MetaBool', flag],
  ['MetaString', text],
  ['MetaInlines', inlines],
  ['MetaBlocks', blocks],
]);

export const apiVersion: Shape = (value, walk, of) => {
  const version = list(whole(0, 1000))(value, walk, of) as number[];
  // 1.22 is what Pandoc 2.17 has, without figures.
  demand(version[0] === 1 && (version[1] === 22 || version[1] === 23), value);
  return version.slice(0, 4);
};

function node(value: unknown, shapes: ReadonlyMap<unknown, Shape>, walk: Walk): { t: unknown; c?: unknown } {
  const { t, c } = fieldsOf(value);
  const shape = shapes.get(t);
  if (shape === undefined) throw unknown(value);
  if (walk.nodes++ >= mostNodes) throw invalid('The document has too many words and marks: split it.');
  if (walk.depth >= mostDepth)
    throw invalid(`The document nests lists, quotes or emphasis more than ${mostDepth} deep: flatten it.`);
  walk.depth++;
  const inside = shape(c, walk, t as string);
  walk.depth--;
  return inside === undefined ? { t } : { t, c: inside };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  demand(typeof value === 'object' && value !== null && !Array.isArray(value), value);
  return value as Record<string, unknown>;
}

function arrayOf(value: unknown): unknown[] {
  demand(Array.isArray(value), value);
  return value as unknown[];
}

function demand(holds: boolean, value: unknown): unknown {
  if (!holds) throw unknown(value);
  return value;
}

/** Of what is unknown only the name is told, since the rest can be of any length. */
function unknown(value: unknown): WorkcrateError {
  const name = typeof value === 'object' && value !== null && 't' in value ? value.t : typeof value;
  const shown = JSON.stringify(typeof name === 'string' ? name.slice(0, 40) : typeof name);
  return invalid(`The document as Pandoc gives it has a part that is not known here: ${shown}.`);
}

const invalid = (message: string): WorkcrateError => new WorkcrateError('document_invalid', message);
