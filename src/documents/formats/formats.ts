import type { Format, Prepared, Written } from '../document.ts';
import { rewrite } from '../sanitize/ast.ts';
import { missingGlyphsWarning } from '../typst/fonts.ts';
import { templateVariables, typstTemplate } from '../typst/template.ts';
import { pack } from './archive.ts';
import { writeDocx, writeOdt } from './docx-odt.ts';
import { writeEpub } from './epub.ts';
import { writeHtml } from './html.ts';
import { withSafeMaths } from './maths.ts';
import { writePptx } from './pptx.ts';
import { writeLatex, writeMarkdown, writePlain } from './texts.ts';
import { bytesOf, treeOf, withPageBreaks, type Inline } from './tree.ts';
import { filesOf, warningsFrom, type Engines, type Result, type Work } from './work.ts';

export type { Engines } from './work.ts';

/** How a format is written, and what the file is. */
interface Writer {
  readonly extension: string;
  readonly mediaType: string;
  write(work: Work): Promise<Result>;
  /** Whether its pictures stand beside it, so that with pictures it becomes a ZIP. */
  readonly hasPicturesBeside?: boolean;
}

const office = 'application/vnd.openxmlformats-officedocument';

const writers: Readonly<Record<Format, Writer>> = {
  pdf: { extension: '.pdf', mediaType: 'application/pdf', write: writePdf },
  docx: { extension: '.docx', mediaType: `${office}.wordprocessingml.document`, write: writeDocx },
  html: { extension: '.html', mediaType: 'text/html; charset=utf-8', write: writeHtml },
  odt: { extension: '.odt', mediaType: 'application/vnd.oasis.opendocument.text', write: writeOdt },
  epub: { extension: '.epub', mediaType: 'application/epub+zip', write: writeEpub },
  latex: { extension: '.tex', mediaType: 'application/x-tex', write: writeLatex, hasPicturesBeside: true },
  typst: {
    extension: '.typ',
    mediaType: 'text/plain; charset=utf-8',
    write: typstMarkup,
    hasPicturesBeside: true,
  },
  pptx: { extension: '.pptx', mediaType: `${office}.presentationml.presentation`, write: writePptx },
  markdown: {
    extension: '.md',
    mediaType: 'text/markdown; charset=utf-8',
    write: writeMarkdown,
    hasPicturesBeside: true,
  },
  plain: { extension: '.txt', mediaType: 'text/plain; charset=utf-8', write: writePlain },
};

export async function writeFormat(
  format: Format,
  prepared: Prepared,
  engines: Engines,
  signal: AbortSignal,
): Promise<Written> {
  const { extension, mediaType, write, hasPicturesBeside = false } = writers[format];
  const { bytes, warnings } = await write({ prepared, engines, signal });
  if (!hasPicturesBeside || prepared.pictures.length === 0) return { bytes, extension, mediaType, warnings };
  const document = { name: `document${extension}`, bytes };
  const bundle = pack([document, ...prepared.pictures]);
  return { bytes: bundle, extension: `.${format}.zip`, mediaType: 'application/zip', warnings };
}

/** Typst's markup, which compiles on its own beside its pictures. */
async function typstMarkup({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout } = prepared;
  const { tree: safe, warnings: unsafe } = withSafeMaths(treeOf(prepared.ast), 'typst');
  const tree = rewrite(safe, { inlines: withoutLastBreaks });
  const options = {
    from: 'json',
    to: 'typst',
    standalone: true,
    template: 'document.typ',
    'number-sections': layout.numberSections,
    'table-of-contents': layout.toc,
    variables: templateVariables(layout, engines.typst.families),
  };
  const input = bytesOf({ ...tree, blocks: withPageBreaks(tree.blocks, 'typst') });
  const files = { 'document.typ': typstTemplate };
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  return { bytes: output, warnings: [...unsafe, ...warningsFrom(warnings)] };
}

/** Pandoc would write the end of a note or a title as `\]`, which is a bracket in the text and not the end. */
function withoutLastBreaks(inlines: Inline[]): Inline[] {
  const last = inlines.findLastIndex(({ t }) => t !== 'LineBreak' && t !== 'SoftBreak' && t !== 'Space');
  return last === inlines.length - 1 ? inlines : inlines.slice(0, last + 1);
}

async function writePdf(work: Work): Promise<Result> {
  const { layout, pictures, hasRareCharacters } = work.prepared;
  const markup = await typstMarkup(work);
  const job = {
    source: Buffer.from(markup.bytes).toString('utf8'),
    files: filesOf(pictures),
    pdfA: layout.pdfA,
    findMissing: hasRareCharacters,
  };
  const { pdf, warnings, missing } = await work.engines.typst.compile(job, work.signal);
  const glyphs = missing.length === 0 ? [] : [missingGlyphsWarning([...missing])];
  return { bytes: pdf, warnings: [...markup.warnings, ...warnings, ...glyphs] };
}
