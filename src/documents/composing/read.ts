import { WorkcrateError } from '../../errors.ts';
import { readBibliography, type BibliographyFormat, type CslItem } from '../citations/bibliography.ts';
import { validateCitations, type Validation } from '../citations/validate.ts';
import { usualLayout, type Layout } from '../document.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { usualPictureLimits } from '../pictures.ts';
import type { Remembered } from './remembered.ts';
import {
  citedKeys,
  demandBounded,
  judge,
  parseAst,
  readerFormat,
  writeAst,
  type Ast,
  type EmbeddedPicture,
  type Policy,
  type WantedPicture,
} from '../syntax/syntax.ts';

export interface GivenBibliography {
  readonly text: string;
  readonly format: BibliographyFormat | null;
}

export interface ReadRequest {
  readonly text: string;
  /** Longest text, and longest bibliography, in bytes. */
  readonly mostBytes: number;
  readonly bibliography: GivenBibliography | null;
  /** What the caller wants; it goes before what the front matter says. */
  readonly layout: Partial<Layout>;
}

/** A document that has been read and judged; what is missing is to be found by whoever may. */
export interface ReadDocument {
  readonly ast: Uint8Array;
  readonly layout: Layout;
  readonly pictures: readonly WantedPicture[];
  readonly embedded: readonly EmbeddedPicture[];
  readonly references: readonly CslItem[];
  /** Keys that are cited and not among the references. */
  readonly unknownKeys: readonly string[];
  readonly warnings: readonly string[];
}

export const policy = (stage: Policy['stage']): Policy => ({
  stage,
  mostPictureBytes: usualPictureLimits.eachBytes,
});

/** What reading takes besides the text. */
export interface Reading {
  readonly pandoc: Pandoc;
  readonly remembered: Remembered;
}

export async function readDocument(
  reading: Reading,
  request: ReadRequest,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const {
    ast,
    layout: told,
    pictures,
    embedded,
    warnings,
  } = judge(await readText(reading.pandoc, request, signal), policy('written'));
  const layout = { ...usualLayout, ...told, ...request.layout };
  const keys = citedKeys(ast).map(({ key }) => key);
  const only = keys.includes('*') ? null : new Set(keys);
  const known = await bibliographyOf(reading, request, layout.language, only, signal);
  const references = known?.references ?? [];
  const ids = new Set(references.map(({ id }) => id));
  return {
    ast: writeAst(ast),
    layout,
    pictures,
    embedded,
    references,
    unknownKeys: keys.filter((key) => key !== '*' && !ids.has(key)),
    warnings: [...warnings, ...(known?.warnings ?? [])],
  };
}

export async function validate(
  reading: Reading,
  request: ReadRequest,
  signal: AbortSignal,
): Promise<Validation> {
  const cited = citedKeys(await readText(reading.pandoc, request, signal));
  const bibliography = await bibliographyOf(reading, request, usualLayout.language, null, signal);
  return validateCitations({ cited, bibliography });
}

/** The text as a tree; nothing of it has been judged. */
async function readText(pandoc: Pandoc, { text, mostBytes }: ReadRequest, signal: AbortSignal): Promise<Ast> {
  demandBounded(text, mostBytes);
  const { output } = await pandoc.convert(
    { options: { from: readerFormat, to: 'json' }, input: text },
    signal,
  );
  return parseAst(output);
}

async function bibliographyOf(
  { pandoc, remembered }: Reading,
  { bibliography, mostBytes }: ReadRequest,
  language: string,
  only: ReadonlySet<string> | null,
  signal: AbortSignal,
) {
  if (bibliography === null || bibliography.text.trim() === '') return null;
  const { text, format } = bibliography;
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes)
    throw new WorkcrateError(
      'document_invalid',
      `The bibliography has ${bytes} bytes, and may have ${mostBytes} at most: give only what is cited.`,
      { details: { bytes, most: mostBytes } },
    );
  const terms = [format ?? '', language, ...(only ?? ['*'])];
  return remembered(text, terms, () => readBibliography(pandoc, text, format, signal, language, only));
}
