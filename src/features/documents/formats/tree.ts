import type { DocumentLayout, PaperSize } from '../document.ts';
import type { PandocAst, PandocAttr, PandocBlock, PandocInline } from '../sanitize/ast.ts';
import { pageBreakClass } from '../sanitize/attributes.ts';
import type { ArchivePart } from './archive.ts';

export type { PandocAst, PandocAttr, PandocBlock, PandocInline } from '../sanitize/ast.ts';

export type HeadingBlock = Extract<PandocBlock, { t: 'Header' }>;
export type DivisionBlock = Extract<PandocBlock, { t: 'Div' }>;

export const noAttributes: PandocAttr = ['', [], []];

/** Without checks: the tree was sanitized before. */
export function parseTrustedAst(ast: Uint8Array): PandocAst {
  return JSON.parse(Buffer.from(ast).toString('utf8')) as PandocAst;
}

export function serializeTree(tree: PandocAst): Uint8Array {
  return Buffer.from(JSON.stringify(tree));
}

export function isHeading(block: PandocBlock): block is HeadingBlock {
  return block.t === 'Header';
}

export function isDivision(block: PandocBlock): block is DivisionBlock {
  return block.t === 'Div';
}

export function hasDivisionClass({ c: [[, classes]] }: DivisionBlock, name: string): boolean {
  return classes.includes(name);
}

/** Replaces each block by the result of `change`, also within divisions; null keeps it. */
export function replaceBlocks(
  blocks: readonly PandocBlock[],
  change: (block: PandocBlock) => readonly PandocBlock[] | null,
): PandocBlock[] {
  return blocks.flatMap((block) => {
    const found = change(block);
    if (found !== null) return found;
    if (!isDivision(block)) return [block];
    return [{ t: 'Div', c: [block.c[0], replaceBlocks(block.c[1], change)] }];
  });
}

/** The text of a node and of everything below it, without notes. */
export function toTreeText(node: unknown): string {
  if (Array.isArray(node)) return node.map(toTreeText).join('');
  if (typeof node !== 'object' || node === null || !('t' in node)) return '';
  const { t, c } = node as { t: string; c?: unknown };
  if (t === 'Str') return String(c);
  if (t === 'Space' || t === 'SoftBreak' || t === 'LineBreak') return ' ';
  if (t === 'Code' || t === 'Math' || t === 'CodeBlock') return String((c as readonly unknown[])[1]);
  return t === 'Note' ? '' : toTreeText(c);
}

/** Text within a link cannot contain links or notes. */
export function removeInlineLinks(inlines: readonly PandocInline[]): PandocInline[] {
  return inlines.flatMap(removeLinksOfInline);
}

function removeLinksOfInline(inline: PandocInline): PandocInline[] {
  switch (inline.t) {
    case 'Note':
      return [];
    case 'Link':
      return removeInlineLinks(inline.c[1]);
    case 'Span':
      return [{ t: 'Span', c: [inline.c[0], removeInlineLinks(inline.c[1])] }];
    case 'Quoted':
      return [{ t: 'Quoted', c: [inline.c[0], removeInlineLinks(inline.c[1])] }];
    case 'Emph':
    case 'Strong':
    case 'Underline':
    case 'Strikeout':
    case 'Superscript':
    case 'Subscript':
    case 'SmallCaps':
      return [{ t: inline.t, c: removeInlineLinks(inline.c) }];
    default:
      return [inline];
  }
}

/** A line of a table of contents. */
export interface ContentsEntry {
  readonly level: number;
  readonly id: string;
  /** Such as `2.1`; null: none. */
  readonly number: string | null;
  readonly inlines: PandocInline[];
  readonly text: string;
}

const deepestContentsLevel = 3;

export function listContentsEntries(blocks: readonly PandocBlock[], numbered: boolean): ContentsEntry[] {
  const next = createHeadingCounter();
  const entries: ContentsEntry[] = [];
  replaceBlocks(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, [id], text] = block.c;
    const number = numbered ? next(block) : null;
    const inlines = removeInlineLinks(text);
    if (level <= deepestContentsLevel && !isUnlistedHeading(block))
      entries.push({ level, id, number, inlines, text: toTreeText(inlines) });
    return [];
  });
  return entries;
}

/** For formats whose Pandoc writer does not number headings. */
export function numberHeadings(blocks: readonly PandocBlock[]): PandocBlock[] {
  const next = createHeadingCounter();
  return replaceBlocks(blocks, (block) => {
    if (!isHeading(block)) return null;
    const [level, attributes, text] = block.c;
    const number = next(block);
    if (number === null) return [block];
    return [{ t: 'Header', c: [level, attributes, [{ t: 'Str', c: number }, { t: 'Space' }, ...text]] }];
  });
}

/** Counts as Pandoc does, so that contents and headings agree. */
function createHeadingCounter(): (heading: HeadingBlock) => string | null {
  let counts: number[] = [];
  return ({ c: [level, [, classes]] }) => {
    if (classes.includes('unnumbered')) return null;
    counts = Array.from({ length: level }, (_, at) => (counts[at] ?? 0) + (at === level - 1 ? 1 : 0));
    return counts.join('.');
  };
}

function isUnlistedHeading({ c: [, [, classes]] }: HeadingBlock): boolean {
  return classes.includes('unlisted') && classes.includes('unnumbered');
}

/** Raw code that begins a new page, for each Pandoc writer. */
const pageBreakCodes = {
  docx: ['openxml', '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'],
  odt: ['opendocument', '<text:p text:style-name="Page_20_break"/>'],
  latex: ['latex', '\\newpage'],
  typst: ['typst', '#pagebreak(weak: true)'],
} as const;

export function writePageBreaks(
  blocks: readonly PandocBlock[],
  format: keyof typeof pageBreakCodes,
): PandocBlock[] {
  return replaceBlocks(blocks, (block) =>
    isDivision(block) && hasDivisionClass(block, pageBreakClass)
      ? [{ t: 'RawBlock', c: [...pageBreakCodes[format]] }]
      : null,
  );
}

export function removePageBreaks(blocks: readonly PandocBlock[]): PandocBlock[] {
  return replaceBlocks(blocks, (block) =>
    isDivision(block) && hasDivisionClass(block, pageBreakClass) ? [] : null,
  );
}

/** Words that the document itself has to provide in some formats. */
export interface LayoutWords {
  readonly contents: string;
  readonly figure: string;
  readonly table: string;
}

const layoutWordsByLanguage: Readonly<
  Record<string, readonly [contents: string, figure: string, table: string]>
> = {
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

const englishLayoutWords = ['Contents', 'Figure', 'Table'] as const;

/** By the first part of a BCP 47 tag; English for other languages. */
export function getLayoutWords(language: string): LayoutWords {
  const [contents, figure, table] =
    layoutWordsByLanguage[language.split('-')[0]?.toLowerCase() ?? ''] ?? englishLayoutWords;
  return { contents, figure, table };
}

/** Moves the abstract into the text, for writers that drop it or do not make a paragraph of it. */
export function moveAbstractToText({ meta, ...tree }: PandocAst, style: string | null): PandocAst {
  const { abstract, ...others } = meta;
  const blocks = abstract === undefined ? [] : toMetaBlocks(abstract);
  if (blocks.length === 0) return { ...tree, meta };
  const styled: PandocBlock[] =
    style === null ? blocks : [{ t: 'Div', c: [['', [], [['custom-style', style]]], blocks] }];
  return { ...tree, meta: others, blocks: [...styled, ...tree.blocks] };
}

function toMetaBlocks(value: PandocAst['meta'][string]): PandocBlock[] {
  if (value.t === 'MetaBlocks') return value.c;
  if (value.t === 'MetaInlines') return [{ t: 'Para', c: value.c }];
  return value.t === 'MetaString' ? [{ t: 'Para', c: [{ t: 'Str', c: value.c }] }] : [];
}

/** Changes the text of one part, if it exists. */
export function editArchivePart(
  parts: readonly ArchivePart[],
  name: string,
  change: (text: string) => string,
): readonly ArchivePart[] {
  return parts.map((part) => {
    if (part.name !== name) return part;
    return { name, bytes: Buffer.from(change(Buffer.from(part.bytes).toString('utf8'))) };
  });
}

/** For text in an element or attribute of XML. */
export function escapeXmlText(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

const paperSizesMm: Readonly<Record<PaperSize, readonly [widthMm: number, heightMm: number]>> = {
  a4: [210, 297],
  letter: [215.9, 279.4],
};

/** The page of a layout, in millimetres. */
export function getPageSize({ paper, marginMm }: DocumentLayout): {
  width: number;
  height: number;
  margin: number;
} {
  const [width, height] = paperSizesMm[paper];
  return { width, height, margin: marginMm };
}

/** The text size of Pandoc's own documents. */
const officeDefaultPt = 12;

/** The factor for all text sizes. */
export function getTextScale({ fontSizePt }: DocumentLayout): number {
  return fontSizePt / officeDefaultPt;
}
