import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Layout } from '../document.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { directoryOf, pack, unpack, type Part } from './archive.ts';
import { docxContents, odtContents } from './html.ts';
import { withPngs } from './svg.ts';
import {
  abstractFirst,
  bytesOf,
  changed,
  edited,
  hasClass,
  isDivision,
  pageOf,
  textScale,
  treeOf,
  withNumbers,
  withPageBreaks,
  type Block,
  type Inline,
} from './tree.ts';
import { filesOf, pictureWarnings, warningsFrom, type Result, type Work } from './work.ts';

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const FOOTER = 'word/footer1.xml';
const FOOTER_ID = 'rIdFooter';

/** Pandoc's own DOCX with a page, page numbers, rules at tables and a ground for code. */
function changeDocx(parts: readonly Part[], look: Look): readonly Part[] {
  const page = edited(parts, 'word/document.xml', (text) =>
    text.replace(/<w:sectPr[\s\S]*?<\/w:sectPr>|<w:sectPr\s*\/>/, sectionOf(look)),
  );
  const styled = edited(page, 'word/styles.xml', (text) => withStyles(scaled(text, textScale(look)), look));
  const related = edited(styled, 'word/_rels/document.xml.rels', (text) =>
    text.replace(
      '</Relationships>',
      `<Relationship Id="${FOOTER_ID}" Type="${RELATIONSHIPS}/footer" Target="footer1.xml"/></Relationships>`,
    ),
  );
  const typed = edited(related, '[Content_Types].xml', (text) =>
    text.replace('</Types>', `<Override PartName="/${FOOTER}" ContentType="${footerType}"/></Types>`),
  );
  return [...typed, { name: FOOTER, bytes: Buffer.from(footer) }];
}

const footerType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml';

const footer = `<?xml version="1.0" encoding="UTF-8"?><w:ftr xmlns:w="${WORD}"><w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:ftr>`;

/** In twentieths of a point. */
function twips(mm: number): number {
  return Math.round((mm / 25.4) * 1440);
}

function sectionOf(look: Look): string {
  const { width, height, margin } = pageOf(look);
  const side = twips(margin);
  const edge = Math.round(side / 2);
  return [
    `<w:sectPr><w:footerReference w:type="default" r:id="${FOOTER_ID}"/>`,
    '<w:footnotePr><w:numRestart w:val="continuous"/></w:footnotePr>',
    `<w:pgSz w:w="${twips(width)}" w:h="${twips(height)}"/>`,
    `<w:pgMar w:top="${side}" w:right="${side}" w:bottom="${side}" w:left="${side}"`,
    ` w:header="${edge}" w:footer="${edge}" w:gutter="0"/></w:sectPr>`,
  ].join('');
}

/** All sizes of text, which are in half points. */
function scaled(styles: string, scale: number): string {
  return styles.replace(
    /(<w:sz(?:Cs)? w:val=")(\d+)"/g,
    (_, start: string, size: string) => `${start}${Math.max(2, Math.round(Number(size) * scale))}"`,
  );
}

function withStyles(styles: string, look: Look): string {
  const references = look.hangingReferences
    ? inStyle(styles, 'Bibliography', (style) =>
        style.replace(/<w:pPr\s*\/>/, '<w:pPr><w:ind w:left="567" w:hanging="567"/></w:pPr>'),
      )
    : styles;
  const tables = inStyle(references, 'Table', (style) =>
    style
      .replace(/(<w:tblInd [^>]*>)/, `$1${tableRules}`)
      .replace(/(<w:tblStylePr w:type="firstRow">)/, '$1<w:rPr><w:b/></w:rPr>'),
  );
  const further = furtherStyles(look);
  const without = further.reduce((all, { id }) => inStyle(all, id, () => ''), tables);
  return without.replace('</w:styles>', `${further.map(({ style }) => style).join('')}</w:styles>`);
}

function inStyle(styles: string, id: string, change: (style: string) => string): string {
  return styles.replace(/<w:style [\s\S]*?<\/w:style>/g, (style) =>
    style.slice(0, style.indexOf('>')).includes(`w:styleId="${id}"`) ? change(style) : style,
  );
}

const tableRules =
  '<w:tblBorders><w:top w:val="single" w:sz="8" w:space="0" w:color="auto"/><w:bottom w:val="single" w:sz="8" w:space="0" w:color="auto"/></w:tblBorders>';

/** Styles that Pandoc names and leaves to whoever opens the file, or has without a ground. */
function furtherStyles(look: Look): { readonly id: string; readonly style: string }[] {
  const { width, margin } = pageOf(look);
  const tab = `<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="${twips(width - 2 * margin)}"/></w:tabs>`;
  const code =
    '<w:style w:type="paragraph" w:customStyle="1" w:styleId="SourceCode"><w:name w:val="Source Code"/><w:basedOn w:val="Normal"/><w:link w:val="VerbatimChar"/><w:pPr><w:shd w:val="clear" w:color="auto" w:fill="F5F5F5"/><w:wordWrap w:val="off"/><w:spacing w:before="160" w:after="160"/></w:pPr></w:style>';
  const contents = [1, 2, 3].map((level) => ({
    id: `TOC${level}`,
    style: `<w:style w:type="paragraph" w:styleId="TOC${level}"><w:name w:val="toc ${level}"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:uiPriority w:val="39"/><w:unhideWhenUsed/><w:pPr>${tab}<w:spacing w:before="0" w:after="60"/><w:ind w:left="${(level - 1) * 284}"/></w:pPr></w:style>`,
  }));
  return [{ id: 'SourceCode', style: code }, ...contents];
}

/** Pandoc's own ODT with a page, and styles that it lacks. */
function changeOdt(parts: readonly Part[], look: Look): readonly Part[] {
  return edited(parts, 'styles.xml', (text) =>
    scaleOdtFont(text, textScale(look))
      .replace(/<style:page-layout-properties [^>]*>/g, (tag) => withPage(tag, look))
      .replace(
        /(style:name="Preformatted_20_Text"[^>]*>\s*<style:paragraph-properties )/,
        '$1fo:background-color="#f5f5f5" ',
      )
      .replace('</office:styles>', `${stylesFor(look)}</office:styles>`),
  );
}

function withPage(tag: string, look: Look): string {
  const { width, height, margin } = pageOf(look);
  return tag
    .replace(/fo:page-width="[^"]*"/, `fo:page-width="${width}mm"`)
    .replace(/fo:page-height="[^"]*"/, `fo:page-height="${height}mm"`)
    .replace(/(fo:margin-(?:top|bottom|left|right))="[^"]*"/g, `$1="${margin}mm"`);
}

function scaleOdtFont(styles: string, scale: number): string {
  return styles.replace(
    /(font-size(?:-asian|-complex)?=")([\d.]+)pt"/g,
    (_, start: string, size: string) => `${start}${Math.round(Number(size) * scale * 10) / 10}pt"`,
  );
}

function stylesFor({ hangingReferences }: Look): string {
  const hanging = hangingReferences ? 'fo:margin-left="10mm" fo:text-indent="-10mm"' : '';
  return [
    paragraphStyle('Page_20_break', 'Text_20_body', 'fo:break-after="page"'),
    paragraphStyle('Bibliography', 'Text_20_body', `fo:margin-bottom="2mm" ${hanging}`),
    paragraphStyle('Contents_20_Heading', 'Heading', ''),
    ...[1, 2, 3].map((level) =>
      paragraphStyle(`Contents_20_${level}`, 'Standard', `fo:margin-left="${(level - 1) * 5}mm"`),
    ),
  ].join('');
}

function paragraphStyle(name: string, parent: string, properties: string): string {
  const shown = name.replaceAll('_20_', ' ');
  return `<style:style style:name="${name}" style:display-name="${shown}" style:family="paragraph" style:parent-style-name="${parent}"><style:paragraph-properties ${properties}/></style:style>`;
}

/** How the document is to look beyond its layout. */
export interface Look extends Layout {
  /** Whether the second line of a reference is indented. */
  readonly hangingReferences: boolean;
}

type Kind = 'docx' | 'odt';

const changes: Readonly<Record<Kind, (parts: readonly Part[], look: Look) => readonly Part[]>> = {
  docx: changeDocx,
  odt: changeOdt,
};

/** What each Pandoc writes for an empty document: it is the same every time. */
const empties = new WeakMap<Pandoc, Map<Kind, readonly Part[]>>();

/**
 * A reference document with the paper, the margins and the size of text that are wanted, for which Pandoc has no
 * options. It is made of Pandoc's own, which it gives when it is asked for a document without content.
 */
async function referenceDocument(
  kind: Kind,
  look: Look,
  pandoc: Pandoc,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return pack(changes[kind](await emptyParts(kind, pandoc, signal), look));
}

async function emptyParts(kind: Kind, pandoc: Pandoc, signal: AbortSignal): Promise<readonly Part[]> {
  const known = empties.get(pandoc) ?? new Map<Kind, readonly Part[]>();
  empties.set(pandoc, known);
  const found = known.get(kind);
  if (found !== undefined) return found;
  const options = { from: 'markdown', to: kind, standalone: true };
  const { output } = await pandoc.convert({ options, input: '' }, signal);
  const parts = await unpack(output, signal);
  known.set(kind, parts);
  return parts;
}

const MOST_UNPACKED = 100 * 1024 * 1024;

/** Refuses what is no DOCX before Pandoc fails on it with words that help nobody. */
async function demandReferenceDoc(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const directory = await directoryOf(bytes, signal).catch((cause: unknown) => {
    if (isWorkcrateError(cause)) throw refused('it is no ZIP that can be read', cause);
    throw cause;
  });
  for (const part of ['word/document.xml', 'word/styles.xml'])
    if (directory.find(part) === null) throw refused(`it has no ${part}`);
  const unpacked = [...directory].reduce((sum, { size }) => sum + size, 0);
  if (unpacked > MOST_UNPACKED)
    throw refused(`it unpacks to ${unpacked} bytes, and ${MOST_UNPACKED} are taken`);
}

function refused(why: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'document_invalid',
    `The reference document is not a DOCX: ${why}. Give one that Word or LibreOffice has saved as .docx.`,
    { cause },
  );
}

export async function writeDocx({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures, referenceDoc } = prepared;
  const tree = treeOf(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = withPageBreaks(tree.blocks, 'docx');
  const blocks = layout.toc ? docxContents(broken, contents) : broken;
  if (referenceDoc !== null) await demandReferenceDoc(referenceDoc, signal);
  const look = { ...layout, hangingReferences: hangs(tree.blocks) };
  const reference = referenceDoc ?? (await referenceDocument('docx', look, engines.pandoc, signal));
  const options = {
    from: 'json',
    to: 'docx+native_numbering',
    standalone: true,
    'reference-doc': 'reference.docx',
    'number-sections': layout.numberSections,
  };
  const files = { ...filesOf(pictures), 'reference.docx': reference };
  const input = bytesOf({ ...tree, blocks });
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  const { bytes, warnings: undrawn } = await withPngs('docx', output, pictures, signal);
  return { bytes, warnings: [...undrawn, ...pictureWarnings('docx', pictures), ...warningsFrom(warnings)] };
}

/** Its writer neither numbers headings nor has an abstract or a style for references. */
export async function writeOdt({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures } = prepared;
  const tree = treeOf(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = withReferences(withPageBreaks(tree.blocks, 'odt'));
  const listed = layout.toc ? odtContents(broken, contents) : broken;
  const blocks = layout.numberSections ? withNumbers(listed) : listed;
  const look = { ...layout, hangingReferences: hangs(tree.blocks) };
  const reference = await referenceDocument('odt', look, engines.pandoc, signal);
  const options = {
    from: 'json',
    to: 'odt+native_numbering',
    standalone: true,
    'reference-doc': 'reference.odt',
  };
  const files = { ...filesOf(pictures), 'reference.odt': reference };
  const input = bytesOf(abstractFirst({ ...tree, blocks }, 'Abstract'));
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  return { bytes: output, warnings: warningsFrom(warnings) };
}

/** Whether the citation style wants the further lines of a reference indented. */
function hangs(blocks: readonly Block[]): boolean {
  return blocks.some(
    (block) => isDivision(block) && (hasClass(block, 'hanging-indent') || hangs(block.c[1])),
  );
}

/** In the style for references, with a bookmark to link to: Pandoc would make a section of each. */
function withReferences(blocks: readonly Block[]): Block[] {
  return changed(blocks, (block) => {
    if (!isDivision(block)) return null;
    const [[id, classes], inner] = block.c;
    if (id === 'refs') return withReferences(inner);
    if (!classes.includes('csl-entry')) return null;
    return [{ t: 'Div', c: [['', [], [['custom-style', 'Bibliography']]], marked(inner, id)] }];
  });
}

function marked([first, ...others]: readonly Block[], id: string): Block[] {
  if (first === undefined) return [];
  if (first.t !== 'Para' && first.t !== 'Plain') return [first, ...others];
  const mark: Inline = { t: 'Span', c: [[id, [], []], []] };
  return [{ t: 'Para', c: [mark, ...first.c] }, ...others];
}
