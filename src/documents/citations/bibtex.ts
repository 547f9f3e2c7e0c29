import { isWorkcrateError } from '../../errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { bibEntries, rewritten, type BibEntry } from './bibtex-entries.ts';
import { inLanguage } from './bibtex-language.ts';
import { demandNoLoops, withParents } from './bibtex-parents.ts';
import { demandFew, fewEntries, invalid } from './reference.ts';

export interface BibtexOptions {
  readonly format: 'bibtex' | 'biblatex';
  /** Of the document, such as `de`: titles in other languages than English keep their capitals. */
  readonly language: string;
  /** Keys that are wanted; null: all. */
  readonly only: ReadonlySet<string> | null;
}

/** BibTeX and BibLaTeX as CSL JSON, by Pandoc. It reads no files: `\input` in a field is dropped. */
export async function convertBibtex(
  pandoc: Pandoc,
  text: string,
  { format, language, only }: BibtexOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const entries = bibEntries(text);
  demandFew(entries.length);
  demandNoLoops(text, entries);
  const wanted = only === null || entries.length <= fewEntries ? null : withParents(text, entries, only);
  const input = rewritten(text, entries, (own, entry) =>
    wanted === null || wanted.has(entry) ? inLanguage(own, entry, language) : linesOnly(own),
  );
  try {
    return (await pandoc.convert({ options: { from: format, to: 'csljson' }, input }, signal)).output;
  } catch (error) {
    if (isWorkcrateError(error, 'document_invalid'))
      throw explained(error, wanted === null ? entries : [...wanted]);
    throw error;
  }
}

/** Lines keep their numbers. */
const linesOnly = (text: string): string => text.replaceAll(/[^\n]+/g, '');

/** Pandoc names the end of the text for a brace that is missing far above: the entry is named instead. */
function explained(
  error: { message: string; details: Readonly<Record<string, unknown>> },
  entries: BibEntry[],
) {
  const open = entries.find(({ closed }) => !closed);
  if (open)
    return invalid(
      `the entry ${nameOf(open)} that begins here is not closed: a brace or a quotation mark is missing in it.`,
      open.line,
      error,
    );
  const keyless = entries.find(({ key }) => key === null);
  if (keyless)
    return invalid(
      `this entry has no key: write @${keyless.type}{key, and then its fields.`,
      keyless.line,
      error,
    );
  const line = typeof error.details['line'] === 'number' ? error.details['line'] : null;
  const around = entries
    .toSorted((a, b) => a.line - b.line)
    .findLast((entry) => line !== null && entry.line <= line);
  const inEntry = around ? ` in the entry ${nameOf(around)}, which begins at line ${around.line}` : '';
  return invalid(
    `it cannot be read${inEntry}. Is a comma or a brace missing there? Pandoc says: ${error.message.slice(0, 500)}`,
    line,
    error,
  );
}

const nameOf = ({ key, type }: BibEntry): string => (key === null ? `@${type}` : `\`${key}\``);
