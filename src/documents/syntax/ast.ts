import { WorkcrateError } from '../../errors.ts';
import { rewrite } from './rewrite.ts';

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
