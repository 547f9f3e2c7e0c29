import { WorkcrateError } from '../../errors.ts';

/** What a bibliography can be written in. */
export const bibliographyFormats = ['bibtex', 'biblatex', 'ris', 'csljson', 'cslyaml'] as const;

export type BibliographyFormat = (typeof bibliographyFormats)[number];

/** One work, in the terms of CSL JSON: whatever else there is about it, it has a key. */
export interface CslItem extends Readonly<Record<string, unknown>> {
  readonly id: string;
}

const mostReferences = 20_000;

/** An entry takes Pandoc milliseconds. Of more than these, only those that are wanted are read. */
export const fewEntries = 200;

/** What is wrong with a bibliography, and in which line where that is known. */
export function invalid(message: string, line: number | null, cause?: unknown): WorkcrateError {
  const where = line === null ? 'The bibliography' : `The bibliography, line ${line}`;
  return new WorkcrateError('document_invalid', `${where}: ${message}`, {
    cause,
    ...(line !== null && { details: { line } }),
  });
}

export function demandFew(count: number): void {
  if (count <= mostReferences) return;
  throw invalid(
    `it has ${count} entries; ${mostReferences} are the most. Leave out what is not cited.`,
    null,
  );
}

/** The number of the line that a place in a text is in. */
export function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < place; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
