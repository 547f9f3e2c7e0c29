import { WorkcrateError } from '../../errors.ts';

/** What a node is called, what classes it has, and whatever else stands with it. */
export type Attr = [id: string, classes: string[], pairs: [key: string, value: string][]];
export type Target = [url: string, title: string];
export interface Tag {
  t: string;
}

export interface Citation {
  citationId: string;
  citationPrefix: Inline[];
  citationSuffix: Inline[];
  citationMode: Tag;
  citationNoteNum: number;
  citationHash: number;
}

type Wrapper = 'Emph' | 'Underline' | 'Strong' | 'Strikeout' | 'Superscript' | 'Subscript' | 'SmallCaps';

/** Pandoc's JSON, as pandoc-types 1.23 has it. */
export type Inline =
  | { t: 'Str'; c: string }
  | { t: Wrapper; c: Inline[] }
  | { t: 'Quoted'; c: [Tag, Inline[]] }
  | { t: 'Cite'; c: [Citation[], Inline[]] }
  | { t: 'Code'; c: [Attr, string] }
  | { t: 'Space' | 'SoftBreak' | 'LineBreak' }
  | { t: 'Math'; c: [Tag, string] }
  | { t: 'RawInline'; c: [format: string, text: string] }
  | { t: 'Link' | 'Image'; c: [Attr, Inline[], Target] }
  | { t: 'Note'; c: Block[] }
  | { t: 'Span'; c: [Attr, Inline[]] };

export type Block =
  | { t: 'Plain' | 'Para'; c: Inline[] }
  | { t: 'LineBlock'; c: Inline[][] }
  | { t: 'CodeBlock'; c: [Attr, string] }
  | { t: 'RawBlock'; c: [format: string, text: string] }
  | { t: 'BlockQuote'; c: Block[] }
  | { t: 'OrderedList'; c: [[start: number, style: Tag, delimiter: Tag], Block[][]] }
  | { t: 'BulletList'; c: Block[][] }
  | { t: 'DefinitionList'; c: [Inline[], Block[][]][] }
  | { t: 'Header'; c: [level: number, Attr, Inline[]] }
  | { t: 'HorizontalRule' | 'Null' }
  | { t: 'Table'; c: [Attr, Caption, ColSpec[], RowGroup, TableBody[], RowGroup] }
  | { t: 'Figure'; c: [Attr, Caption, Block[]] }
  | { t: 'Div'; c: [Attr, Block[]] };

export type Caption = [short: Inline[] | null, long: Block[]];
export type ColSpec = [alignment: Tag, width: { t: 'ColWidthDefault' } | { t: 'ColWidth'; c: number }];
export type Cell = [Attr, alignment: Tag, rows: number, columns: number, Block[]];
export type Row = [Attr, Cell[]];
export type RowGroup = [Attr, Row[]];
export type TableBody = [Attr, headColumns: number, head: Row[], body: Row[]];

export type MetaValue =
  | { t: 'MetaMap'; c: Meta }
  | { t: 'MetaList'; c: MetaValue[] }
  | { t: 'MetaBool'; c: boolean }
  | { t: 'MetaString'; c: string }
  | { t: 'MetaInlines'; c: Inline[] }
  | { t: 'MetaBlocks'; c: Block[] };

export type Meta = Record<string, MetaValue>;

export interface Ast {
  'pandoc-api-version': number[];
  meta: Meta;
  blocks: Block[];
}

const mostBytes = 256 * 1024 * 1024;

/**
 * Pandoc's JSON as a tree whose every node is one that is known, and of which there are not too many. What else stands
 * in it is left out.
 */
export function parseAst(bytes: Uint8Array): Ast {
  if (bytes.byteLength > mostBytes)
    throw new WorkcrateError('document_invalid', 'The document is too large: split it.');
  return rewrite(parsed(bytes), {});
}

export function writeAst(ast: Ast): Uint8Array {
  return Buffer.from(JSON.stringify(ast));
}

/** No XML can hold these, and most formats are XML. Entities, YAML and bibliographies can spell them. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const unwritable = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
const spelt = /\\u00[01]|\\[bf]|[\ufffe\uffff]/i;

function withoutUnwritable(json: string): Ast {
  if (!spelt.test(json)) return JSON.parse(json) as Ast;
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(unwritable, '\ufffd') : value,
  ) as Ast;
}

function parsed(bytes: Uint8Array): Ast {
  try {
    return withoutUnwritable(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new WorkcrateError('document_failed', 'Pandoc answered with something that is not JSON.', {
      cause,
    });
  }
}

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
const blocks: Shape = (value, walk) =>
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
const metaMap: Shape = (value, walk, of) =>
  Object.fromEntries(Object.entries(fieldsOf(value)).map(([key, each]) => [key, metaValue(each, walk, of)]));

const metaShapes = new Map<unknown, Shape>([
  ['MetaMap', metaMap],
  ['MetaList', list(metaValue)],
  ['MetaBool', flag],
  ['MetaString', text],
  ['MetaInlines', inlines],
  ['MetaBlocks', blocks],
]);

const apiVersion: Shape = (value, walk, of) => {
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

/** What becomes of the parts of a tree; what is not named stays. Lists are given from the inside outwards. */
export type Rewriter = Partial<Pick<Walk, 'attr' | 'inlines' | 'blocks'>>;

const unchanged: Pick<Walk, 'attr' | 'inlines' | 'blocks'> = {
  attr: (attr) => attr,
  inlines: (list) => list,
  blocks: (list) => list,
};

/** A new tree. The depth of the recursion is bounded, as is the count of nodes. */
export function rewrite(ast: Ast, by: Rewriter): Ast {
  const walk: Walk = { ...unchanged, ...by, nodes: 0, cells: 0, depth: 0 };
  return {
    'pandoc-api-version': apiVersion(ast?.['pandoc-api-version'], walk, 'Pandoc') as number[],
    meta: metaMap(ast.meta, walk, 'Meta') as Ast['meta'],
    blocks: blocks(ast.blocks, walk, 'Pandoc') as Ast['blocks'],
  };
}

/** Every block and inline of a tree, from the inside outwards. */
export function visit(ast: Ast, see: (node: Block | Inline) => void): void {
  const each = <T extends Block | Inline>(list: T[]): T[] => {
    list.forEach(see);
    return list;
  };
  rewrite(ast, { inlines: each, blocks: each });
}
