import type { Layout, Paper } from '../document.ts';
import type { Ast, Attr, Block, Inline } from '../sanitize/ast.ts';
import { pageBreakClass } from '../sanitize/attributes.ts';
import type { Part } from './archive.ts';

export type { Ast, Attr, Block, Inline } from '../sanitize/ast.ts';

export type Heading = Extract<Block, { t: 'Header' }>;
export type Division = Extract<Block, { t: 'Div' }>;

export const noAttributes: Attr = ['', [], []];

/** It was judged before: nothing of it is doubted here. */
export function treeOf(ast: Uint8Array): Ast {
  return JSON.parse(Buffer.from(ast).toString('utf8')) as Ast;
}

export function bytesOf(tree: Ast): Uint8Array {
  return Buffer.from(JSON.stringify(tree));
}

export function isHeading(block: Block): block is Heading {
  return block.t === 'Header';
}

export function isDivision(block: Block): block is Division {
  return block.t === 'Div';
}

export function hasClass({ c: [[, classes]] }: Division, name: string): boolean {
  return classes.includes(name);
}

/** Each block by what `change` makes of it, also those within divisions; null leaves it as it is. */
export function changed(
  blocks: readonly Block[],
  change: (block: Block) => readonly Block[] | null,
): Block[] {
  return blocks.flatMap((block) => {
    const found = change(block);
    if (found !== null) return found;
    if (!isDivision(block)) return [block];
    return [{ t: 'Div', c: [block.c[0], changed(block.c[1], change)] }];
  });
}

/** The words of a node and of all below it, without its notes. */
export function textOf(node: unknown): string {
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (typeof node !== 'object' || node === null || !('t' in node)) return '';
  const { t, c } = node as { t: string; c?: unknown };
  if (t === 'Str') return String(c);
  if (t === 'Space' || t === 'SoftBreak' || t === 'LineBreak') return ' ';
  if (t === 'Code' || t === 'Math' || t === 'CodeBlock') return String((c as readonly unknown[])[1]);
  return t === 'Note' ? '' : textOf(c);
}

/** Text that is to stand within a link can have no link or note of its own. */
export function unlinked(inlines: readonly Inline[]): Inline[] {
  return inlines.flatMap(withoutLinks);
}

function withoutLinks(inline: Inline): Inline[] {
  switch (inline.t) {
    case 'Note':
      return [];
    case 'Link':
      return unlinked(inline.c[1]);
    case 'Span':
      return [{ t: 'Span', c: [inline.c[0], unlinked(inline.c[1])] }];
    case 'Quoted':
      return [{ t: 'Quoted', c: [inline.c[0], unlinked(inline.c[1])] }];
    case 'Emph':
    case 'Strong':
    case 'Underline':
    case 'Strikeout':
    case 'Superscript':
    case 'Subscript':
    case 'SmallCaps':
      return [{ t: inline.t, c: unlinked(inline.c) }];
    default:
      return [inline];
  }
}

/** A heading as a table of contents has it. */
export interface Entry {
  readonly level: number;
  readonly id: string;
  /** Such as `2.1`; null: none. */
  readonly number: string | null;
  readonly inlines: Inline[];
  readonly text: string;
}

const DEEPEST_ENTRY = 3;

export function entriesOf(blocks: readonly Block[], numbered: boolean): Entry[] {
  const next = counter();
  const entries: Entry[] = [];
  changed(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, [id], text] = block.c;
    const number = numbered ? next(block) : null;
    const inlines = unlinked(text);
    if (level <= DEEPEST_ENTRY && !isUnlisted(block))
      entries.push({ level, id, number, inlines, text: textOf(inlines) });
    return [];
  });
  return entries;
}

/** For formats whose writer in Pandoc does not number. */
export function withNumbers(blocks: readonly Block[]): Block[] {
  const next = counter();
  return changed(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, attributes, text] = block.c;
    const number = next(block);
    if (number === null) return [block];
    return [{ t: 'Header', c: [level, attributes, [{ t: 'Str', c: number }, { t: 'Space' }, ...text]] }];
  });
}

/** Counts as Pandoc does, so that contents and headings agree. */
function counter(): (heading: Heading) => string | null {
  let counts: number[] = [];
  return ({ c: [level, [, classes]] }) => {
    if (classes.includes('unnumbered')) return null;
    counts = Array.from({ length: level }, (_, at) => (counts[at] ?? 0) + (at === level - 1 ? 1 : 0));
    return counts.join('.');
  };
}

function isUnlisted({ c: [, [, classes]] }: Heading): boolean {
  return classes.includes('unlisted') && classes.includes('unnumbered');
}

/** How each writer of Pandoc is told to begin a new page. */
const codes = {
  docx: ['openxml', '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'],
  odt: ['opendocument', '<text:p text:style-name="Page_20_break"/>'],
  latex: ['latex', '\\newpage'],
  typst: ['typst', '#pagebreak(weak: true)'],
} as const;

export function withPageBreaks(blocks: readonly Block[], format: keyof typeof codes): Block[] {
  return changed(blocks, (block) =>
    isDivision(block) && hasClass(block, pageBreakClass) ? [{ t: 'RawBlock', c: [...codes[format]] }] : null,
  );
}

export function withoutPageBreaks(blocks: readonly Block[]): Block[] {
  return changed(blocks, (block) => (isDivision(block) && hasClass(block, pageBreakClass) ? [] : null));
}

/** Words that a format does not get from its own program: contents, figure, table. */
export interface Words {
  readonly contents: string;
  readonly figure: string;
  readonly table: string;
}

const known: Readonly<Record<string, readonly [contents: string, figure: string, table: string]>> = {
  cs: ['Obsah', 'Obrázek', 'Tabulka'],
  da: ['Indhold', 'Figur', 'Tabel'],
  de: ['Inhalt', 'Abbildung', 'Tabelle'],
  el: ['Περιεχόμενα', 'Σχήμα', 'Πίνακας'],
  en: ['Contents', 'Figure', 'Table'],
  es: ['Índice', 'Figura', 'Tabla'],
  fi: ['Sisällys', 'Kuva', 'Taulukko'],
  fr: ['Table des matières', 'Figure', 'Tableau'],
  hu: ['Tartalom', 'Ábra', 'Táblázat'],
  it: ['Indice', 'Figura', 'Tabella'],
  ja: ['目次', '図', '表'],
  ko: ['목차', '그림', '표'],
  nb: ['Innhold', 'Figur', 'Tabell'],
  nl: ['Inhoud', 'Figuur', 'Tabel'],
  nn: ['Innhald', 'Figur', 'Tabell'],
  no: ['Innhold', 'Figur', 'Tabell'],
  pl: ['Spis treści', 'Rysunek', 'Tabela'],
  pt: ['Índice', 'Figura', 'Tabela'],
  ro: ['Cuprins', 'Figura', 'Tabelul'],
  ru: ['Содержание', 'Рисунок', 'Таблица'],
  sk: ['Obsah', 'Obrázok', 'Tabuľka'],
  sv: ['Innehåll', 'Figur', 'Tabell'],
  tr: ['İçindekiler', 'Şekil', 'Tablo'],
  uk: ['Зміст', 'Рисунок', 'Таблиця'],
  zh: ['目录', '图', '表'],
};

const english = ['Contents', 'Figure', 'Table'] as const;

/** By the first part of a BCP 47 tag; English where the language is not known here. */
export function wordsOf(language: string): Words {
  const [contents, figure, table] = known[language.split('-')[0]?.toLowerCase() ?? ''] ?? english;
  return { contents, figure, table };
}

/** The abstract as text before all other, for writers that leave it out or do not make a paragraph of it. */
export function abstractFirst({ meta, ...tree }: Ast, style: string | null): Ast {
  const { abstract, ...others } = meta;
  const blocks = abstract === undefined ? [] : blocksOf(abstract);
  if (blocks.length === 0) return { ...tree, meta };
  const styled: Block[] =
    style === null ? blocks : [{ t: 'Div', c: [['', [], [['custom-style', style]]], blocks] }];
  return { ...tree, meta: others, blocks: [...styled, ...tree.blocks] };
}

function blocksOf(value: Ast['meta'][string]): Block[] {
  if (value.t === 'MetaBlocks') return value.c;
  if (value.t === 'MetaInlines') return [{ t: 'Para', c: value.c }];
  return value.t === 'MetaString' ? [{ t: 'Para', c: [{ t: 'Str', c: value.c }] }] : [];
}

/** The parts, with the text of one of them changed. A part that is not there is left out. */
export function edited(
  parts: readonly Part[],
  name: string,
  change: (text: string) => string,
): readonly Part[] {
  return parts.map((part) => {
    if (part.name !== name) return part;
    return { name, bytes: Buffer.from(change(Buffer.from(part.bytes).toString('utf8'))) };
  });
}

/** Text as it may stand in an element or an attribute of XML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

const sizes: Readonly<Record<Paper, readonly [widthMm: number, heightMm: number]>> = {
  a4: [210, 297],
  letter: [215.9, 279.4],
};

/** The page of a layout, in millimetres. */
export function pageOf({ paper, marginMm }: Layout): { width: number; height: number; margin: number } {
  const [width, height] = sizes[paper];
  return { width, height, margin: marginMm };
}

/** The size of text that Pandoc's own documents are made for. */
const USUAL_PT = 12;

/** By how much all sizes of text grow or shrink. */
export function textScale({ fontSizePt }: Layout): number {
  return fontSizePt / USUAL_PT;
}
