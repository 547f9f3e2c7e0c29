/**
 * Pandoc's tree: its types, and the walk that checks the shape of nodes. `sanitize.ts` decides what they may contain.
 */
import { WorkcrateError } from '../../../platform/errors.ts';

/** The id, the classes and the other attributes of a node. */
export type PandocAttr = [id: string, classes: string[], pairs: [key: string, value: string][]];
export type PandocTarget = [url: string, title: string];
export interface PandocTag {
  t: string;
}

export interface PandocCitation {
  citationId: string;
  citationPrefix: PandocInline[];
  citationSuffix: PandocInline[];
  citationMode: PandocTag;
  citationNoteNum: number;
  citationHash: number;
}

type PandocWrapper =
  | 'Emph'
  | 'Underline'
  | 'Strong'
  | 'Strikeout'
  | 'Superscript'
  | 'Subscript'
  | 'SmallCaps';

/** Pandoc's JSON, as pandoc-types 1.23 has it. */
export type PandocInline =
  | { t: 'Str'; c: string }
  | { t: PandocWrapper; c: PandocInline[] }
  | { t: 'Quoted'; c: [PandocTag, PandocInline[]] }
  | { t: 'Cite'; c: [PandocCitation[], PandocInline[]] }
  | { t: 'Code'; c: [PandocAttr, string] }
  | { t: 'Space' | 'SoftBreak' | 'LineBreak' }
  | { t: 'Math'; c: [PandocTag, string] }
  | { t: 'RawInline'; c: [format: string, text: string] }
  | { t: 'Link' | 'Image'; c: [PandocAttr, PandocInline[], PandocTarget] }
  | { t: 'Note'; c: PandocBlock[] }
  | { t: 'Span'; c: [PandocAttr, PandocInline[]] };

export type PandocBlock =
  | { t: 'Plain' | 'Para'; c: PandocInline[] }
  | { t: 'LineBlock'; c: PandocInline[][] }
  | { t: 'CodeBlock'; c: [PandocAttr, string] }
  | { t: 'RawBlock'; c: [format: string, text: string] }
  | { t: 'BlockQuote'; c: PandocBlock[] }
  | { t: 'OrderedList'; c: [[start: number, style: PandocTag, delimiter: PandocTag], PandocBlock[][]] }
  | { t: 'BulletList'; c: PandocBlock[][] }
  | { t: 'DefinitionList'; c: [PandocInline[], PandocBlock[][]][] }
  | { t: 'Header'; c: [level: number, PandocAttr, PandocInline[]] }
  | { t: 'HorizontalRule' | 'Null' }
  | {
      t: 'Table';
      c: [PandocAttr, PandocCaption, PandocColSpec[], PandocRowGroup, PandocTableBody[], PandocRowGroup];
    }
  | { t: 'Figure'; c: [PandocAttr, PandocCaption, PandocBlock[]] }
  | { t: 'Div'; c: [PandocAttr, PandocBlock[]] };

export type PandocCaption = [short: PandocInline[] | null, long: PandocBlock[]];
export type PandocColSpec = [
  alignment: PandocTag,
  width: { t: 'ColWidthDefault' } | { t: 'ColWidth'; c: number },
];
export type PandocCell = [PandocAttr, alignment: PandocTag, rows: number, columns: number, PandocBlock[]];
export type PandocRow = [PandocAttr, PandocCell[]];
export type PandocRowGroup = [PandocAttr, PandocRow[]];
export type PandocTableBody = [PandocAttr, headColumns: number, head: PandocRow[], body: PandocRow[]];

export type PandocMetaValue =
  | { t: 'MetaMap'; c: PandocMeta }
  | { t: 'MetaList'; c: PandocMetaValue[] }
  | { t: 'MetaBool'; c: boolean }
  | { t: 'MetaString'; c: string }
  | { t: 'MetaInlines'; c: PandocInline[] }
  | { t: 'MetaBlocks'; c: PandocBlock[] };

export type PandocMeta = Record<string, PandocMetaValue>;

export interface PandocAst {
  'pandoc-api-version': number[];
  meta: PandocMeta;
  blocks: PandocBlock[];
}

const maxAstBytes = 256 * 1024 * 1024;

/**
 * Parses Pandoc's JSON into a tree that has only known nodes, and not too many of them. Everything else in the JSON is
 * dropped.
 */
export function parseAst(bytes: Uint8Array): PandocAst {
  if (bytes.byteLength > maxAstBytes)
    throw new WorkcrateError('document_invalid', 'The document is too large: split it.');
  return rewriteAst(parseAstJson(bytes), {});
}

export function serializeAst(ast: PandocAst): Uint8Array {
  return Buffer.from(JSON.stringify(ast));
}

/** Not allowed in XML, and most formats are XML. Entities, YAML and bibliographies can produce them. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const unwritableCharacters = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
/** A pair of backslashes is one, as in `\\frac`. */
const unwritableEscapes = /(?<!\\)(?:\\\\)*\\(?:u00[01]|[bf])|[\ufffe\uffff]/i;

function parseWithoutUnwritable(json: string): PandocAst {
  if (!unwritableEscapes.test(json)) return JSON.parse(json) as PandocAst;
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(unwritableCharacters, '\ufffd') : value,
  ) as PandocAst;
}

function parseAstJson(bytes: Uint8Array): PandocAst {
  try {
    return parseWithoutUnwritable(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new WorkcrateError('document_failed', 'Pandoc answered with something that is not JSON.', {
      cause,
    });
  }
}

/** What a walk through a tree does, and its counters. */
export interface AstWalk {
  attr(attr: PandocAttr, of: string): PandocAttr;
  /** These two get lists whose nodes were already walked. */
  inlines(list: PandocInline[]): PandocInline[];
  blocks(list: PandocBlock[]): PandocBlock[];
  nodes: number;
  cells: number;
  depth: number;
}

/** Checks a part of a tree and returns a walked copy of it. `of` is the type of the node that it belongs to. */
export type AstShape = (value: unknown, walk: AstWalk, of: string) => unknown;

const maxAstNodes = 2_000_000;
export const maxTableCells = 200_000;
/** How deep nodes may be nested. */
export const maxAstDepth = 100;
const maxCellSpan = 10_000;
const maxAstNumber = 1_000_000_000;

const checkText: AstShape = (value) => checkKnown(typeof value === 'string', value);
const checkFlag: AstShape = (value) => checkKnown(typeof value === 'boolean', value);
const checkNothing: AstShape = () => undefined;
const checkFraction: AstShape = (value) =>
  checkKnown(typeof value === 'number' && value >= 0 && value <= 100, value);

const integerShape =
  (from: number, to: number): AstShape =>
  (value) =>
    checkKnown(Number.isInteger(value) && Number(value) >= from && Number(value) <= to, value);

const tagShape =
  (...names: string[]): AstShape =>
  (value) => {
    const { t } = checkFields(value);
    checkKnown(names.includes(t as string), value);
    return { t };
  };

const listShape =
  (shape: AstShape): AstShape =>
  (value, walk, of) =>
    checkArray(value).map((each) => shape(each, walk, of));

const tupleShape =
  (...shapes: AstShape[]): AstShape =>
  (value, walk, of) => {
    const parts = checkArray(value);
    checkKnown(parts.length === shapes.length, value);
    return shapes.map((shape, at) => shape(parts[at], walk, of));
  };

const rawAttrShape = tupleShape(checkText, listShape(checkText), listShape(tupleShape(checkText, checkText)));
const checkAttr: AstShape = (value, walk, of) => walk.attr(rawAttrShape(value, walk, of) as PandocAttr, of);

const checkInlines: AstShape = (value, walk) =>
  walk.inlines(checkArray(value).map((each) => checkAstNode(each, inlineShapes, walk)) as PandocInline[]);
const checkBlocks: AstShape = (value, walk) =>
  walk.blocks(checkArray(value).map((each) => checkAstNode(each, blockShapes, walk)) as PandocBlock[]);

const checkCitation: AstShape = (value, walk, of) => {
  const fields = checkFields(value);
  return {
    citationId: checkText(fields['citationId'], walk, of),
    citationPrefix: checkInlines(fields['citationPrefix'], walk, of),
    citationSuffix: checkInlines(fields['citationSuffix'], walk, of),
    citationMode: tagShape('AuthorInText', 'SuppressAuthor', 'NormalCitation')(
      fields['citationMode'],
      walk,
      of,
    ),
    citationNoteNum: integerShape(-maxAstNumber, maxAstNumber)(fields['citationNoteNum'], walk, of),
    citationHash: integerShape(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)(
      fields['citationHash'],
      walk,
      of,
    ),
  };
};

const rawShape = tupleShape(checkText, checkText);
const targetShape = tupleShape(checkText, checkText);
const codeShape = tupleShape(checkAttr, checkText);

const inlineShapes = new Map<unknown, AstShape>([
  ['Str', checkText],
  ...['Emph', 'Underline', 'Strong', 'Strikeout', 'Superscript', 'Subscript', 'SmallCaps'].map(
    (name): [string, AstShape] => [name, checkInlines],
  ),
  ['Quoted', tupleShape(tagShape('SingleQuote', 'DoubleQuote'), checkInlines)],
  ['Cite', tupleShape(listShape(checkCitation), checkInlines)],
  ['Code', codeShape],
  ['Space', checkNothing],
  ['SoftBreak', checkNothing],
  ['LineBreak', checkNothing],
  ['Math', tupleShape(tagShape('DisplayMath', 'InlineMath'), checkText)],
  ['RawInline', rawShape],
  ['Link', tupleShape(checkAttr, checkInlines, targetShape)],
  ['Image', tupleShape(checkAttr, checkInlines, targetShape)],
  ['Note', checkBlocks],
  ['Span', tupleShape(checkAttr, checkInlines)],
]);

const alignmentShape = tagShape('AlignLeft', 'AlignRight', 'AlignCenter', 'AlignDefault');
const captionShape = tupleShape(
  (value, walk, of) => (value === null ? null : checkInlines(value, walk, of)),
  checkBlocks,
);

const checkColumnWidth: AstShape = (value, walk, of) => {
  const { t, c } = checkFields(value);
  if (t === 'ColWidth') return { t, c: checkFraction(c, walk, of) };
  return tagShape('ColWidthDefault')(value, walk, of);
};

const plainCellShape = tupleShape(
  checkAttr,
  alignmentShape,
  integerShape(1, maxCellSpan),
  integerShape(1, maxCellSpan),
  checkBlocks,
);
const checkCell: AstShape = (value, walk) => {
  walk.cells++;
  if (walk.cells > maxTableCells)
    throw invalidAstError(
      `The tables of the document have more than ${maxTableCells} cells in all. Provide that much data as a file.`,
    );
  return plainCellShape(value, walk, 'Cell');
};

const rowsShape = listShape((value, walk) => tupleShape(checkAttr, listShape(checkCell))(value, walk, 'Row'));
const checkRowGroup: AstShape = (value, walk) => tupleShape(checkAttr, rowsShape)(value, walk, 'Rows');
const checkTableBody: AstShape = (value, walk) =>
  tupleShape(checkAttr, integerShape(0, maxCellSpan), rowsShape, rowsShape)(value, walk, 'Rows');

const numberStyleShape = tagShape(
  'DefaultStyle',
  'Example',
  'Decimal',
  'LowerRoman',
  'UpperRoman',
  'LowerAlpha',
  'UpperAlpha',
);
const delimiterShape = tagShape('DefaultDelim', 'Period', 'OneParen', 'TwoParens');
const numberingShape = tupleShape(
  integerShape(-maxAstNumber, maxAstNumber),
  numberStyleShape,
  delimiterShape,
);

const blockShapes = new Map<unknown, AstShape>([
  ['Plain', checkInlines],
  ['Para', checkInlines],
  ['LineBlock', listShape(checkInlines)],
  ['CodeBlock', codeShape],
  ['RawBlock', rawShape],
  ['BlockQuote', checkBlocks],
  ['OrderedList', tupleShape(numberingShape, listShape(checkBlocks))],
  ['BulletList', listShape(checkBlocks)],
  ['DefinitionList', listShape(tupleShape(checkInlines, listShape(checkBlocks)))],
  ['Header', tupleShape(integerShape(1, 100), checkAttr, checkInlines)],
  ['HorizontalRule', checkNothing],
  ['Null', checkNothing],
  [
    'Table',
    tupleShape(
      checkAttr,
      captionShape,
      listShape(tupleShape(alignmentShape, checkColumnWidth)),
      checkRowGroup,
      listShape(checkTableBody),
      checkRowGroup,
    ),
  ],
  ['Figure', tupleShape(checkAttr, captionShape, checkBlocks)],
  ['Div', tupleShape(checkAttr, checkBlocks)],
]);

const checkMetaValue: AstShape = (value, walk) => checkAstNode(value, metaShapes, walk);
const checkMetaMap: AstShape = (value, walk, of) =>
  Object.fromEntries(
    Object.entries(checkFields(value)).map(([key, each]) => [key, checkMetaValue(each, walk, of)]),
  );

const metaShapes = new Map<unknown, AstShape>([
  ['MetaMap', checkMetaMap],
  ['MetaList', listShape(checkMetaValue)],
  ['MetaBool', checkFlag],
  ['MetaString', checkText],
  ['MetaInlines', checkInlines],
  ['MetaBlocks', checkBlocks],
]);

const checkApiVersion: AstShape = (value, walk, of) => {
  const version = listShape(integerShape(0, 1000))(value, walk, of) as number[];
  // Pandoc 2.17 has 1.22, without figures.
  checkKnown(version[0] === 1 && (version[1] === 22 || version[1] === 23), value);
  return version.slice(0, 4);
};

function checkAstNode(
  value: unknown,
  shapes: ReadonlyMap<unknown, AstShape>,
  walk: AstWalk,
): { t: unknown; c?: unknown } {
  const { t, c } = checkFields(value);
  const shape = shapes.get(t);
  if (shape === undefined) throw unknownNodeError(value);
  if (walk.nodes++ >= maxAstNodes)
    throw invalidAstError('The document has too many words and marks: split it.');
  if (walk.depth >= maxAstDepth)
    throw invalidAstError(
      `The document nests lists, quotes or emphasis more than ${maxAstDepth} deep: flatten it.`,
    );
  walk.depth++;
  const inside = shape(c, walk, t as string);
  walk.depth--;
  return inside === undefined ? { t } : { t, c: inside };
}

function checkFields(value: unknown): Record<string, unknown> {
  checkKnown(typeof value === 'object' && value !== null && !Array.isArray(value), value);
  return value as Record<string, unknown>;
}

function checkArray(value: unknown): unknown[] {
  checkKnown(Array.isArray(value), value);
  return value as unknown[];
}

function checkKnown(holds: boolean, value: unknown): unknown {
  if (!holds) throw unknownNodeError(value);
  return value;
}

/** Names only the type of the unknown node, since the rest can be of any length. */
function unknownNodeError(value: unknown): WorkcrateError {
  const name = typeof value === 'object' && value !== null && 't' in value ? value.t : typeof value;
  const shown = JSON.stringify(typeof name === 'string' ? name.slice(0, 40) : typeof name);
  return invalidAstError(`Pandoc read the document into a tree with an unknown part: ${shown}.`);
}

const invalidAstError = (message: string): WorkcrateError => new WorkcrateError('document_invalid', message);

/** How to change the parts of a tree; the default keeps them. Inner lists come before outer ones. */
export type AstRewriter = Partial<Pick<AstWalk, 'attr' | 'inlines' | 'blocks'>>;

const identityRewriter = {
  attr: (attr: PandocAttr) => attr,
  inlines: (list: PandocInline[]) => list,
  blocks: (list: PandocBlock[]) => list,
} satisfies AstRewriter;

/** Returns a new tree. The depth of the recursion and the number of nodes are limited. */
export function rewriteAst(ast: PandocAst, by: AstRewriter): PandocAst {
  const walk: AstWalk = { ...identityRewriter, ...by, nodes: 0, cells: 0, depth: 0 };
  return {
    'pandoc-api-version': checkApiVersion(ast?.['pandoc-api-version'], walk, 'Pandoc') as number[],
    meta: checkMetaMap(ast.meta, walk, 'Meta') as PandocAst['meta'],
    blocks: checkBlocks(ast.blocks, walk, 'Pandoc') as PandocAst['blocks'],
  };
}
