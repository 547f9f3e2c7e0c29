import type { Format, Prepared, Written } from '../document.ts';
import { pack } from './archive.ts';
import { writeEpub } from './epub.ts';
import { writeHtml } from './html.ts';
import { writeDocx, writeOdt } from './office.ts';
import { writePptx } from './slides.ts';
import { writeLatex, writeMarkdown, writePlain } from './texts.ts';
import { typstMarkup, writePdf } from './typeset.ts';
import type { Engines, Result, Work } from './work.ts';

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
