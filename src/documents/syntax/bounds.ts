import { WorkcrateError } from '../../errors.ts';
import { demandFewMarks } from './marks.ts';
import { paragraphsOf } from './paragraphs.ts';
import { demandNoAliases } from './yaml-blocks.ts';

// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const control = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Pandoc takes a minute over as many cells of tables, which no document has. */
const mostBars = 300_000;

/**
 * Refuses a text that Pandoc would take exponential time over, or that no document can hold. It is itself read in
 * linear time. What only takes long is left to the deadline.
 */
export function demandBounded(text: string, most: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > most)
    throw new WorkcrateError(
      'document_invalid',
      `The text has ${bytes} bytes, and may have ${most} at most: split it, or give large data as files.`,
      { details: { bytes, most } },
    );
  demandCharacters(text);
  demandFewBars(text);
  const lines = text.split(/\r\n|\n|\r/);
  demandNoAliases(lines);
  for (const paragraph of paragraphsOf(lines)) demandFewMarks(paragraph);
}

function demandFewBars(text: string): void {
  let count = 0;
  for (let at = text.indexOf('|'); at >= 0 && count <= mostBars; at = text.indexOf('|', at + 1)) count++;
  if (count <= mostBars) return;
  throw new WorkcrateError(
    'document_invalid',
    `The text has more than ${mostBars} bars (|): a table of that size belongs in a file of its own. Show its beginning, and share the rest by link.`,
  );
}

function demandCharacters(text: string): void {
  if (!text.isWellFormed())
    throw new WorkcrateError(
      'document_invalid',
      'The text holds half of a character (a lone surrogate): remove it.',
    );
  const at = text.search(control);
  if (at < 0) return;
  const line = text.slice(0, at).split('\n').length;
  const code = text.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase();
  throw new WorkcrateError(
    'document_invalid',
    `Line ${line} holds the control character U+${code}, which no document can: remove it.`,
    { details: { line } },
  );
}
