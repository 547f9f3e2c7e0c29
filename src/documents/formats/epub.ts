import { createHash } from 'node:crypto';
import type { Prepared } from '../document.ts';
import type { MetaValue } from '../sanitize/ast.ts';
import { sharedStyle, titleOf } from './html.ts';
import { bytesOf, textOf, treeOf } from './tree.ts';
import { filesOf, pictureWarnings, warningsFrom, type Result, type Work } from './work.ts';

const bookStyle = `
body { margin: 5%; line-height: 1.5; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.6em 0 0.6em; }
h1.title { text-align: center; font-size: 1.8em; }
p.author, p.date, p.subtitle { text-align: center; margin: 0.2em 0; }
pre { white-space: pre-wrap; background: #f4f4f4; color: #1d1f21; }
.footnotes { font-size: 0.9em; }
nav ol { list-style: none; padding-left: 1.2em; }
`;

export async function writeEpub({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, pictures, ast } = prepared;
  const tree = treeOf(ast);
  const title: MetaValue = { t: 'MetaInlines', c: [{ t: 'Str', c: titleOf(layout, tree) }] };
  const identifier: MetaValue = { t: 'MetaString', c: identifierOf(prepared) };
  const { date, ...others } = tree.meta;
  const isDated = date !== undefined && dates.test(textOf(date).trim());
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
  const files = { ...filesOf(pictures), 'book.css': `${sharedStyle}${bookStyle}` };
  const input = bytesOf({ ...tree, meta });
  const { output, warnings } = await engines.pandoc.convert({ options, input, files }, signal);
  const undated = date === undefined || isDated ? [] : [dateWarning];
  return {
    bytes: output,
    warnings: [...undated, ...pictureWarnings('epub', pictures), ...warningsFrom(warnings)],
  };
}

/** Dates that Pandoc can turn into what an EPUB needs; of another it would make nothing, which is not valid. */
const month = '(?:January|February|March|April|May|June|July|August|September|October|November|December)';
const dates = new RegExp(
  `^(?:\\d{4}(?:-\\d{2}(?:-\\d{2})?)?|\\d{1,2} ${month} \\d{4}|${month} \\d{1,2}, \\d{4})$`,
);
const dateWarning = 'An EPUB needs a date such as 2026-05-01; another one was left out.';

/** Of what the book holds, so that the same book is known again: a UUID of the eighth kind (RFC 9562). */
function identifierOf({ ast, pictures }: Prepared): string {
  const hash = createHash('sha256').update(ast);
  for (const { bytes } of pictures) hash.update(bytes);
  const hex = hash.digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
