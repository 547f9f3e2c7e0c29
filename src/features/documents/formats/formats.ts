/**
 * Writes a prepared document in one format: the table of all formats, and the writers of Typst markup and PDF. The
 * other writers have files of their own. None of them sanitizes the tree: `sanitize/` has done that. Only formulas are
 * checked here (`maths.ts`), since what is dangerous depends on the format.
 */
import type { DocumentFormat, PreparedDocument, WrittenDocument } from '../document.ts';
import { rewriteAst } from '../sanitize/ast.ts';
import { describeMissingGlyphs } from '../typst/fonts.ts';
import { buildTypstVariables, typstTemplate } from '../typst/template.ts';
import { packArchive } from './archive.ts';
import { writeDocx, writeOdt } from './docx-odt.ts';
import { writeEpub } from './epub.ts';
import { writeHtml } from './html.ts';
import { sanitizeMaths } from './maths.ts';
import { writePptx } from './pptx.ts';
import { setProseAside } from './prose.ts';
import { writeLatex, writeMarkdown, writePlain } from './texts.ts';
import {
  serializeTree,
  parseTrustedAst,
  writePageBreaks,
  type PandocAst,
  type PandocInline,
} from './tree.ts';
import {
  toPictureFiles,
  summarizePandocWarnings,
  type DocumentEngines,
  type FormatResult,
  type FormatJob,
} from './work.ts';

export type { DocumentEngines } from './work.ts';

/** How a format is written, and the type of its file. */
interface FormatWriter {
  readonly extension: string;
  readonly mediaType: string;
  write(work: FormatJob): Promise<FormatResult>;
  /** Whether its pictures are files beside it, so that with pictures it becomes a ZIP. */
  readonly hasPicturesBeside?: boolean;
}

const officeMediaTypePrefix = 'application/vnd.openxmlformats-officedocument';

const formatWriters: Readonly<Record<DocumentFormat, FormatWriter>> = {
  pdf: { extension: '.pdf', mediaType: 'application/pdf', write: writePdf },
  docx: {
    extension: '.docx',
    mediaType: `${officeMediaTypePrefix}.wordprocessingml.document`,
    write: writeDocx,
  },
  html: { extension: '.html', mediaType: 'text/html; charset=utf-8', write: writeHtml },
  odt: { extension: '.odt', mediaType: 'application/vnd.oasis.opendocument.text', write: writeOdt },
  epub: { extension: '.epub', mediaType: 'application/epub+zip', write: writeEpub },
  latex: { extension: '.tex', mediaType: 'application/x-tex', write: writeLatex, hasPicturesBeside: true },
  typst: {
    extension: '.typ',
    mediaType: 'text/plain; charset=utf-8',
    write: writeTypstMarkup,
    hasPicturesBeside: true,
  },
  pptx: {
    extension: '.pptx',
    mediaType: `${officeMediaTypePrefix}.presentationml.presentation`,
    write: writePptx,
  },
  markdown: {
    extension: '.md',
    mediaType: 'text/markdown; charset=utf-8',
    write: writeMarkdown,
    hasPicturesBeside: true,
  },
  plain: { extension: '.txt', mediaType: 'text/plain; charset=utf-8', write: writePlain },
};

export async function writeFormat(
  format: DocumentFormat,
  prepared: PreparedDocument,
  engines: DocumentEngines,
  signal: AbortSignal,
): Promise<WrittenDocument> {
  const { extension, mediaType, write, hasPicturesBeside = false } = formatWriters[format];
  const { bytes, warnings } = await write({ prepared, engines, signal });
  if (!hasPicturesBeside || prepared.pictures.length === 0) return { bytes, extension, mediaType, warnings };
  const document = { name: `document${extension}`, bytes };
  const bundle = packArchive([document, ...prepared.pictures]);
  return { bytes: bundle, extension: `.${format}.zip`, mediaType: 'application/zip', warnings };
}

/** Typst's markup, which compiles in a folder with its pictures. */
async function writeTypstMarkup(work: FormatJob): Promise<FormatResult> {
  const { tree, warnings } = prepareTypstTree(work.prepared);
  const written = await convertToTypst(work, tree, 'auto');
  return { bytes: written.bytes, warnings: [...warnings, ...written.warnings] };
}

interface TypstTree {
  readonly tree: PandocAst;
  readonly warnings: readonly string[];
}

function prepareTypstTree(prepared: PreparedDocument): TypstTree {
  const { tree: safe, warnings } = sanitizeMaths(parseTrustedAst(prepared.ast), 'typst');
  const tree = rewriteAst(safe, { inlines: removeTrailingBreaks });
  return { tree: { ...tree, blocks: writePageBreaks(tree.blocks, 'typst') }, warnings };
}

async function convertToTypst(
  { prepared, engines, signal }: FormatJob,
  tree: PandocAst,
  wrap: 'auto' | 'none',
): Promise<FormatResult> {
  const { layout } = prepared;
  const options = {
    from: 'json',
    to: 'typst',
    wrap,
    standalone: true,
    template: 'document.typ',
    'number-sections': layout.numberSections,
    'table-of-contents': layout.toc,
    variables: buildTypstVariables(layout, engines.typst.families),
  };
  const files = { 'document.typ': typstTemplate };
  const { output, warnings } = await engines.pandoc.convert(
    { options, input: serializeTree(tree), files },
    signal,
  );
  return { bytes: output, warnings: summarizePandocWarnings(warnings) };
}

/** Pandoc would write the end of a note or a title as `\]`, which is a bracket in the text and not the end. */
function removeTrailingBreaks(inlines: PandocInline[]): PandocInline[] {
  const last = inlines.findLastIndex(({ t }) => t !== 'LineBreak' && t !== 'SoftBreak' && t !== 'Space');
  return last === inlines.length - 1 ? inlines : inlines.slice(0, last + 1);
}

async function writePdf(work: FormatJob): Promise<FormatResult> {
  const { layout, pictures, hasRareCharacters } = work.prepared;
  const { tree, warnings: unsafe } = prepareTypstTree(work.prepared);
  const { source, warnings: converted } = await writePdfMarkup(work, tree);
  const job = {
    source,
    files: toPictureFiles(pictures),
    pdfA: layout.pdfA,
    findMissing: hasRareCharacters,
  };
  const { pdf, warnings, missing } = await work.engines.typst.compile(job, work.signal);
  const glyphs = missing.length === 0 ? [] : [describeMissingGlyphs([...missing])];
  return { bytes: pdf, warnings: [...unsafe, ...converted, ...warnings, ...glyphs] };
}

/** Nobody reads it, so its lines may be long: plain words do not go through Pandoc. */
async function writePdfMarkup(work: FormatJob, tree: PandocAst) {
  const { tree: short, restore } = setProseAside(tree);
  const { bytes, warnings } = await convertToTypst(work, short, 'none');
  const source = restore(decodeMarkup(bytes));
  if (source !== null) return { source, warnings };
  const whole = await convertToTypst(work, tree, 'none');
  return { source: decodeMarkup(whole.bytes), warnings: whole.warnings };
}

const decodeMarkup = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
