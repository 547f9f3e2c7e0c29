import { createHash } from 'node:crypto';
import type { PreparedDocument } from '../document.ts';
import type { PandocMetaValue } from '../sanitize/ast.ts';
import { sharedHtmlStyle, findDocumentTitle } from './html.ts';
import { serializeTree, toTreeText, parseTrustedAst } from './tree.ts';
import {
  toPictureFiles,
  listPictureWarnings,
  summarizePandocWarnings,
  type FormatResult,
  type FormatJob,
} from './work.ts';

const epubStyle = `
body { margin: 5%; line-height: 1.5; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.6em 0 0.6em; }
h1.title { text-align: center; font-size: 1.8em; }
p.author, p.date, p.subtitle { text-align: center; margin: 0.2em 0; }
pre { white-space: pre-wrap; background: #f4f4f4; color: #1d1f21; }
.footnotes { font-size: 0.9em; }
nav ol { list-style: none; padding-left: 1.2em; }
`;

export async function writeEpub({ prepared, engines, signal }: FormatJob): Promise<FormatResult> {
  const { layout, pictures, ast } = prepared;
  const tree = parseTrustedAst(ast);
  const title: PandocMetaValue = { t: 'MetaInlines', c: [{ t: 'Str', c: findDocumentTitle(layout, tree) }] };
  const identifier: PandocMetaValue = { t: 'MetaString', c: computeEpubIdentifier(prepared) };
  const { date, ...others } = tree.meta;
  const isDated = date !== undefined && epubDatePattern.test(toTreeText(date).trim());
  const meta = { title, ...others, ...(isDated ? { date } : {}), identifier };
  const options = {
    from: 'json',
    to: 'epub3',
    standalone: true,
    css: ['book.css'],
    'html-math-method': { method: 'mathml' },
    'table-of-contents': layout.toc,
    'number-sections': layout.numberSections,
  };
  const files = { ...toPictureFiles(pictures), 'book.css': `${sharedHtmlStyle}${epubStyle}` };
  const input = serializeTree({ ...tree, meta });
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  const undated = date === undefined || isDated ? [] : [epubDateWarning];
  return {
    bytes: output,
    warnings: [...undated, ...listPictureWarnings('epub', pictures), ...summarizePandocWarnings(warnings)],
  };
}

/** Dates that Pandoc can convert for an EPUB. Any other date would make the EPUB invalid. */
const epubMonthPattern =
  '(?:January|February|March|April|May|June|July|August|September|October|November|December)';
const epubDatePattern = new RegExp(
  `^(?:\\d{4}(?:-\\d{2}(?:-\\d{2})?)?|\\d{1,2} ${epubMonthPattern} \\d{4}|${epubMonthPattern} \\d{1,2}, \\d{4})$`,
);
const epubDateWarning = 'An EPUB needs a date such as 2026-05-01; the date of this document was left out.';

/** From the contents, so that the same book gets the same id: a UUID of version 8 (RFC 9562). */
function computeEpubIdentifier({ ast, pictures }: PreparedDocument): string {
  const hash = createHash('sha256').update(ast);
  for (const { bytes } of pictures) hash.update(bytes);
  const hex = hash.digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
