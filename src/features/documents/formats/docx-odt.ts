import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { DocumentLayout } from '../document.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { readArchiveDirectory, packArchive, unpackArchive, type ArchivePart } from './archive.ts';
import { buildDocxContents, buildOdtContents } from './html.ts';
import { addPngFallbacks } from './svg.ts';
import {
  moveAbstractToText,
  serializeTree,
  replaceBlocks,
  editArchivePart,
  hasDivisionClass,
  isDivision,
  getPageSize,
  getTextScale,
  parseTrustedAst,
  numberHeadings,
  writePageBreaks,
  type PandocBlock,
  type PandocInline,
} from './tree.ts';
import {
  toPictureFiles,
  listPictureWarnings,
  summarizePandocWarnings,
  type FormatResult,
  type FormatJob,
} from './work.ts';

export async function writeDocx({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout, pictures, referenceDoc } = prepared;
  const tree = parseTrustedAst(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = writePageBreaks(tree.blocks, 'docx');
  const blocks = layout.toc ? buildDocxContents(broken, contents) : broken;
  if (referenceDoc !== null) await checkReferenceDoc(referenceDoc, signal);
  const look = { ...layout, hangingReferences: hasHangingReferences(tree.blocks) };
  const reference = referenceDoc ?? (await buildReferenceDocument('docx', look, engines.pandoc, signal));
  const options = {
    from: 'json',
    to: 'docx+native_numbering',
    standalone: true,
    'reference-doc': 'reference.docx',
    'number-sections': layout.numberSections,
  };
  const files = { ...toPictureFiles(pictures), 'reference.docx': reference };
  const input = serializeTree({ ...tree, blocks });
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  const { bytes, warnings: undrawn } = await addPngFallbacks('docx', output, pictures, signal);
  return {
    bytes,
    warnings: [...undrawn, ...listPictureWarnings('docx', pictures), ...summarizePandocWarnings(warnings)],
  };
}

/** Pandoc's ODT writer has no numbered headings, no abstract and no style for references, so they are added here. */
export async function writeOdt({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout, pictures } = prepared;
  const tree = parseTrustedAst(prepared.ast);
  const contents = { language: layout.language, numbered: layout.numberSections };
  const broken = styleReferences(writePageBreaks(tree.blocks, 'odt'));
  const listed = layout.toc ? buildOdtContents(broken, contents) : broken;
  const blocks = layout.numberSections ? numberHeadings(listed) : listed;
  const look = { ...layout, hangingReferences: hasHangingReferences(tree.blocks) };
  const reference = await buildReferenceDocument('odt', look, engines.pandoc, signal);
  const options = {
    from: 'json',
    to: 'odt+native_numbering',
    standalone: true,
    'reference-doc': 'reference.odt',
  };
  const files = { ...toPictureFiles(pictures), 'reference.odt': reference };
  const input = serializeTree(moveAbstractToText({ ...tree, blocks }, 'Abstract'));
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  return { bytes: output, warnings: summarizePandocWarnings(warnings) };
}

/** Whether the citation style wants the further lines of a reference indented. */
function hasHangingReferences(blocks: readonly PandocBlock[]): boolean {
  return blocks.some(
    (block) =>
      isDivision(block) && (hasDivisionClass(block, 'hanging-indent') || hasHangingReferences(block.c[1])),
  );
}

/** Gives each reference its style and a bookmark to link to. Pandoc would make a section of each. */
function styleReferences(blocks: readonly PandocBlock[]): PandocBlock[] {
  return replaceBlocks(blocks, (block) => {
    if (!isDivision(block)) return null;
    const [[id, classes], inner] = block.c;
    if (id === 'refs') return styleReferences(inner);
    if (!classes.includes('csl-entry')) return null;
    return [{ t: 'Div', c: [['', [], [['custom-style', 'Bibliography']]], addAnchorSpan(inner, id)] }];
  });
}

function addAnchorSpan([first, ...others]: readonly PandocBlock[], id: string): PandocBlock[] {
  if (first === undefined) return [];
  if (first.t !== 'Para' && first.t !== 'Plain') return [first, ...others];
  const mark: PandocInline = { t: 'Span', c: [[id, [], []], []] };
  return [{ t: 'Para', c: [mark, ...first.c] }, ...others];
}

/** How the document looks, beyond its layout. */
export interface OfficeLook extends DocumentLayout {
  /** Whether the second line of a reference is indented. */
  readonly hangingReferences: boolean;
}

type OfficeFormat = 'docx' | 'odt';

const officeRestylers: Readonly<
  Record<OfficeFormat, (parts: readonly ArchivePart[], look: OfficeLook) => readonly ArchivePart[]>
> = {
  docx: restyleDocx,
  odt: restyleOdt,
};

/** What each Pandoc writes for an empty document, which is always the same. */
const emptyPartsCache = new WeakMap<Pandoc, Map<OfficeFormat, readonly ArchivePart[]>>();

/**
 * A reference document with the requested paper, margins and text size, for which Pandoc has no options. It is made from
 * Pandoc's own, which is what Pandoc writes for an empty document.
 */
async function buildReferenceDocument(
  kind: OfficeFormat,
  look: OfficeLook,
  pandoc: Pandoc,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return packArchive(officeRestylers[kind](await readEmptyParts(kind, pandoc, signal), look));
}

async function readEmptyParts(
  kind: OfficeFormat,
  pandoc: Pandoc,
  signal: AbortSignal,
): Promise<readonly ArchivePart[]> {
  const known = emptyPartsCache.get(pandoc) ?? new Map<OfficeFormat, readonly ArchivePart[]>();
  emptyPartsCache.set(pandoc, known);
  const found = known.get(kind);
  if (found !== undefined) return found;
  const options = { from: 'markdown', to: kind, standalone: true };
  const { output } = await pandoc.convert({ options, input: '' }, signal);
  const parts = await unpackArchive(output, signal);
  known.set(kind, parts);
  return parts;
}

const maxReferenceDocUnpackedBytes = 100 * 1024 * 1024;

/** Refuses what is not a DOCX, because the error of Pandoc would help nobody. */
async function checkReferenceDoc(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const directory = await readArchiveDirectory(bytes, signal).catch((cause: unknown) => {
    if (isWorkcrateError(cause)) throw invalidReferenceDocError('it cannot be read as a ZIP', cause);
    throw cause;
  });
  for (const part of ['word/document.xml', 'word/styles.xml'])
    if (directory.find(part) === null) throw invalidReferenceDocError(`it has no ${part}`);
  const unpacked = [...directory].reduce((sum, { size }) => sum + size, 0);
  if (unpacked > maxReferenceDocUnpackedBytes)
    throw invalidReferenceDocError(
      `it unpacks to ${unpacked} bytes; at most ${maxReferenceDocUnpackedBytes} are allowed`,
    );
}

function invalidReferenceDocError(why: string, cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'document_invalid',
    `The reference document is not a DOCX: ${why}. Use one that Word or LibreOffice saved as .docx.`,
    { cause },
  );
}

const wordNamespace = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const relationshipsNamespace = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const docxFooterPath = 'word/footer1.xml';
const docxFooterId = 'rIdFooter';

/** Pandoc's own DOCX with a page size, page numbers, borders for tables and a background for code. */
function restyleDocx(parts: readonly ArchivePart[], look: OfficeLook): readonly ArchivePart[] {
  const page = editArchivePart(parts, 'word/document.xml', (text) =>
    text.replace(/<w:sectPr[\s\S]*?<\/w:sectPr>|<w:sectPr\s*\/>/, buildDocxSection(look)),
  );
  const styled = editArchivePart(page, 'word/styles.xml', (text) =>
    restyleDocxStyles(scaleDocxFont(text, getTextScale(look)), look),
  );
  const related = editArchivePart(styled, 'word/_rels/document.xml.rels', (text) =>
    text.replace(
      '</Relationships>',
      `<Relationship Id="${docxFooterId}" Type="${relationshipsNamespace}/footer" Target="footer1.xml"/></Relationships>`,
    ),
  );
  const typed = editArchivePart(related, '[Content_Types].xml', (text) =>
    text.replace(
      '</Types>',
      `<Override PartName="/${docxFooterPath}" ContentType="${docxFooterType}"/></Types>`,
    ),
  );
  return [...typed, { name: docxFooterPath, bytes: Buffer.from(docxFooterXml) }];
}

const docxFooterType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml';

const docxFooterXml = `<?xml version="1.0" encoding="UTF-8"?><w:ftr xmlns:w="${wordNamespace}"><w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:ftr>`;

/** In twentieths of a point. */
function mmToTwips(mm: number): number {
  return Math.round((mm / 25.4) * 1440);
}

function buildDocxSection(look: OfficeLook): string {
  const { width, height, margin } = getPageSize(look);
  const side = mmToTwips(margin);
  const edge = Math.round(side / 2);
  return [
    `<w:sectPr><w:footerReference w:type="default" r:id="${docxFooterId}"/>`,
    '<w:footnotePr><w:numRestart w:val="continuous"/></w:footnotePr>',
    `<w:pgSz w:w="${mmToTwips(width)}" w:h="${mmToTwips(height)}"/>`,
    `<w:pgMar w:top="${side}" w:right="${side}" w:bottom="${side}" w:left="${side}"`,
    ` w:header="${edge}" w:footer="${edge}" w:gutter="0"/></w:sectPr>`,
  ].join('');
}

/** All sizes of text, which are in half points. */
function scaleDocxFont(styles: string, scale: number): string {
  return styles.replace(
    /(<w:sz(?:Cs)? w:val=")(\d+)"/g,
    (_, start: string, size: string) => `${start}${Math.max(2, Math.round(Number(size) * scale))}"`,
  );
}

function restyleDocxStyles(styles: string, look: OfficeLook): string {
  const references = look.hangingReferences
    ? editDocxStyle(styles, 'Bibliography', (style) =>
        style.replace(/<w:pPr\s*\/>/, '<w:pPr><w:ind w:left="567" w:hanging="567"/></w:pPr>'),
      )
    : styles;
  const tables = editDocxStyle(references, 'Table', (style) =>
    style
      .replace(/(<w:tblInd [^>]*>)/, `$1${docxTableBorders}`)
      .replace(/(<w:tblStylePr w:type="firstRow">)/, '$1<w:rPr><w:b/></w:rPr>'),
  );
  const further = buildDocxStyles(look);
  const without = further.reduce((all, { id }) => editDocxStyle(all, id, () => ''), tables);
  return without.replace('</w:styles>', `${further.map(({ style }) => style).join('')}</w:styles>`);
}

function editDocxStyle(styles: string, id: string, change: (style: string) => string): string {
  return styles.replace(/<w:style [\s\S]*?<\/w:style>/g, (style) =>
    style.slice(0, style.indexOf('>')).includes(`w:styleId="${id}"`) ? change(style) : style,
  );
}

const docxTableBorders =
  '<w:tblBorders><w:top w:val="single" w:sz="8" w:space="0" w:color="auto"/><w:bottom w:val="single" w:sz="8" w:space="0" w:color="auto"/></w:tblBorders>';

/** Styles that Pandoc uses but does not define, or defines without a background. */
function buildDocxStyles(look: OfficeLook): { readonly id: string; readonly style: string }[] {
  const { width, margin } = getPageSize(look);
  const tab = `<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="${mmToTwips(width - 2 * margin)}"/></w:tabs>`;
  const code =
    '<w:style w:type="paragraph" w:customStyle="1" w:styleId="SourceCode"><w:name w:val="Source Code"/><w:basedOn w:val="Normal"/><w:link w:val="VerbatimChar"/><w:pPr><w:shd w:val="clear" w:color="auto" w:fill="F5F5F5"/><w:wordWrap w:val="off"/><w:spacing w:before="160" w:after="160"/></w:pPr></w:style>';
  const contents = [1, 2, 3].map((level) => ({
    id: `TOC${level}`,
    style: `<w:style w:type="paragraph" w:styleId="TOC${level}"><w:name w:val="toc ${level}"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:uiPriority w:val="39"/><w:unhideWhenUsed/><w:pPr>${tab}<w:spacing w:before="0" w:after="60"/><w:ind w:left="${(level - 1) * 284}"/></w:pPr></w:style>`,
  }));
  return [{ id: 'SourceCode', style: code }, ...contents];
}

/** Pandoc's own ODT with a page size, and the styles that it lacks. */
function restyleOdt(parts: readonly ArchivePart[], look: OfficeLook): readonly ArchivePart[] {
  return editArchivePart(parts, 'styles.xml', (text) =>
    scaleOdtFont(text, getTextScale(look))
      .replace(/<style:page-layout-properties [^>]*>/g, (tag) => setOdtPage(tag, look))
      .replace(
        /(style:name="Preformatted_20_Text"[^>]*>\s*<style:paragraph-properties )/,
        '$1fo:background-color="#f5f5f5" ',
      )
      .replace('</office:styles>', `${buildOdtStyles(look)}</office:styles>`),
  );
}

function setOdtPage(tag: string, look: OfficeLook): string {
  const { width, height, margin } = getPageSize(look);
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

function buildOdtStyles({ hangingReferences }: OfficeLook): string {
  const hanging = hangingReferences ? 'fo:margin-left="10mm" fo:text-indent="-10mm"' : '';
  return [
    buildOdtParagraphStyle('Page_20_break', 'Text_20_body', 'fo:break-after="page"'),
    buildOdtParagraphStyle('Bibliography', 'Text_20_body', `fo:margin-bottom="2mm" ${hanging}`),
    buildOdtParagraphStyle('Contents_20_Heading', 'Heading', ''),
    ...[1, 2, 3].map((level) =>
      buildOdtParagraphStyle(`Contents_20_${level}`, 'Standard', `fo:margin-left="${(level - 1) * 5}mm"`),
    ),
  ].join('');
}

function buildOdtParagraphStyle(name: string, parent: string, properties: string): string {
  const shown = name.replaceAll('_20_', ' ');
  return `<style:style style:name="${name}" style:display-name="${shown}" style:family="paragraph" style:parent-style-name="${parent}"><style:paragraph-properties ${properties}/></style:style>`;
}
