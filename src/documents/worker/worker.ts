/**
 * What a worker process does: read, write and validate one document at a time, with its own converters. It reads no
 * file of a user and asks no library: `documents.ts` does that between reading and writing.
 */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { asWorkcrateError, publicMessage, WorkcrateError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { CallContext } from '../../workers/workers.ts';
import {
  readBibliography,
  type Bibliography,
  type BibliographyFormat,
  type BibliographyItem,
} from '../citations/bibliography.ts';
import { citeDocument } from '../citations/cite.ts';
import { validateCitations, type CitationValidation } from '../citations/validate.ts';
import {
  defaultLayout,
  type DocumentFormat,
  type DocumentLayout,
  type DocumentPicture,
  type PreparedDocument,
  type WrittenDocument,
} from '../document.ts';
import { writeFormat, type DocumentEngines } from '../formats/formats.ts';
import { openPandoc, type Pandoc } from '../pandoc/pandoc.ts';
import { findPictures, sanitizePicture, defaultPictureLimits } from '../pictures.ts';
import {
  listCitedKeys,
  demandBoundedText,
  hasRareCharacters,
  sanitizeAst,
  parseAst,
  markdownReaderFormat,
  renamePictures,
  unwrapCitations,
  applyLayoutMetadata,
  serializeAst,
  type PandocAst,
  type EmbeddedPicture,
  type SanitizePolicy,
  type WantedPicture,
} from '../sanitize/markdown.ts';
import { openTypst } from '../typst/typst.ts';

export interface DocumentWorkerSettings {
  /** A Pandoc of the machine; null: the packaged one. */
  readonly pandoc: string | null;
  readonly fontFolders: readonly string[];
  readonly memoryBytes: number;
  /** Seconds since 1970 that all documents are dated, null: now. */
  readonly epoch: number | null;
}

/** They live as long as the process that has them, which ends when it is idle. */
const converterIdleSeconds = 86_400;

/** What is done in the process that composes documents, which has converters of its own and one document at a time. */
export function createDocumentWorkerMethods(
  { pandoc, fontFolders, memoryBytes, epoch }: DocumentWorkerSettings,
  log: Log,
) {
  const usual = { processes: 1, idleSeconds: converterIdleSeconds, memoryBytes, epoch, log };
  const engines: DocumentEngines = {
    pandoc: openPandoc({ ...usual, command: pandoc }),
    typst: openTypst({ ...usual, fontFolders }),
  };
  const reading = { pandoc: engines.pandoc, remembered: createBibliographyCache() };
  return {
    read: (request: DocumentReadRequest, { signal }: CallContext) => readDocument(reading, request, signal),
    write: (request: DocumentWriteRequest, context: CallContext) => writeDocument(engines, request, context),
    validate: (request: DocumentReadRequest, { signal }: CallContext) =>
      validateDocument(reading, request, signal),
  };
}

export type DocumentWorkerMethods = ReturnType<typeof createDocumentWorkerMethods>;

export interface GivenBibliography {
  readonly text: string;
  readonly format: BibliographyFormat | null;
}

export interface DocumentReadRequest {
  readonly text: string;
  /** Longest text, and longest bibliography, in bytes. */
  readonly mostBytes: number;
  readonly bibliography: GivenBibliography | null;
  /** What the caller wants; it goes before what the front matter says. */
  readonly layout: Partial<DocumentLayout>;
}

/** A document that has been read and judged; what is missing is to be found by whoever may. */
export interface ReadDocument {
  readonly ast: Uint8Array;
  readonly layout: DocumentLayout;
  readonly pictures: readonly WantedPicture[];
  readonly embedded: readonly EmbeddedPicture[];
  readonly references: readonly BibliographyItem[];
  /** Keys that are cited and not among the references. */
  readonly unknownKeys: readonly string[];
  readonly warnings: readonly string[];
}

const createSanitizePolicy = (stage: SanitizePolicy['stage']): SanitizePolicy => ({
  stage,
  mostPictureBytes: defaultPictureLimits.eachBytes,
});

/** What reading takes besides the text. */
export interface DocumentReader {
  readonly pandoc: Pandoc;
  readonly remembered: BibliographyCache;
}

export async function readDocument(
  reading: DocumentReader,
  request: DocumentReadRequest,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const {
    ast,
    layout: told,
    pictures,
    embedded,
    warnings,
  } = sanitizeAst(await parseMarkdown(reading.pandoc, request, signal), createSanitizePolicy('written'));
  const layout = { ...defaultLayout, ...told, ...request.layout };
  const keys = listCitedKeys(ast).map(({ key }) => key);
  const only = keys.includes('*') ? null : new Set(keys);
  const known = await readCachedBibliography(reading, request, layout.language, only, signal);
  const references = known?.references ?? [];
  const ids = new Set(references.map(({ id }) => id));
  return {
    ast: serializeAst(ast),
    layout,
    pictures,
    embedded,
    references,
    unknownKeys: keys.filter((key) => key !== '*' && !ids.has(key)),
    warnings: [...warnings, ...(known?.warnings ?? [])],
  };
}

async function validateDocument(
  reading: DocumentReader,
  request: DocumentReadRequest,
  signal: AbortSignal,
): Promise<CitationValidation> {
  const cited = listCitedKeys(await parseMarkdown(reading.pandoc, request, signal));
  const bibliography = await readCachedBibliography(reading, request, defaultLayout.language, null, signal);
  return validateCitations({ cited, bibliography });
}

/** The text as a tree; nothing of it has been judged. */
async function parseMarkdown(
  pandoc: Pandoc,
  { text, mostBytes }: DocumentReadRequest,
  signal: AbortSignal,
): Promise<PandocAst> {
  demandBoundedText(text, mostBytes);
  const { output } = await pandoc.convert(
    { options: { from: markdownReaderFormat, to: 'json' }, input: text },
    signal,
  );
  return parseAst(output);
}

async function readCachedBibliography(
  { pandoc, remembered }: DocumentReader,
  { bibliography, mostBytes }: DocumentReadRequest,
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
      `The bibliography has ${bytes} bytes; at most ${mostBytes} are allowed. Give only the entries that are cited.`,
      { details: { bytes, most: mostBytes } },
    );
  const terms = [format ?? '', language, ...(only ?? ['*'])];
  return remembered(text, terms, () => readBibliography(pandoc, text, format, signal, language, only));
}

export interface DocumentWriteRequest {
  readonly read: Pick<ReadDocument, 'ast' | 'layout' | 'pictures' | 'embedded'>;
  /** The bytes of those pictures that were found, by the names that the document gives them. */
  readonly found: ReadonlyMap<string, Uint8Array>;
  /** Null leaves citations as they are written. */
  readonly references: readonly BibliographyItem[] | null;
  /** CSL; null is Pandoc's own. */
  readonly style: string | null;
  readonly formats: readonly DocumentFormat[];
  readonly referenceDoc: Uint8Array | null;
}

export interface FormatFailure {
  readonly format: DocumentFormat;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface DocumentWriteResult {
  readonly built: readonly { readonly format: DocumentFormat; readonly written: WrittenDocument }[];
  readonly failures: readonly FormatFailure[];
  readonly warnings: readonly string[];
  /** Keys that are cited and that no bibliography has. */
  readonly missing: readonly string[];
}

/** How many of the steps are done, and what comes now. */
export type WriteStep = readonly [done: number, message: string];

/** Cites, then writes every format. One that fails does not take the others along. */
export async function writeDocument(
  engines: DocumentEngines,
  request: DocumentWriteRequest,
  { signal, report }: CallContext,
): Promise<DocumentWriteResult> {
  report([0, 'citing'] satisfies WriteStep);
  const { prepared, warnings, missing } = await prepareDocument(engines, request, signal);
  const built: { format: DocumentFormat; written: WrittenDocument }[] = [];
  const failures: FormatFailure[] = [];
  for (const [at, format] of request.formats.entries()) {
    report([at + 1, `writing ${format}`] satisfies WriteStep);
    try {
      built.push({ format, written: await writeFormat(format, prepared, engines, signal) });
    } catch (cause) {
      failures.push(toFormatFailure(format, cause, signal.aborted));
      if (signal.aborted && built.length === 0) throw cause;
    }
  }
  return { built, failures, warnings: [...warnings, ...listFormatWarnings(built)], missing };
}

/** Only whoever set the deadline knows what to say of it. */
function toFormatFailure(format: DocumentFormat, cause: unknown, isLate: boolean): FormatFailure {
  const error = asWorkcrateError(cause);
  if (error.code === 'stopping') throw error;
  return { format, code: isLate ? 'document_timeout' : error.code, message: publicMessage(error) };
}

async function prepareDocument(engines: DocumentEngines, request: DocumentWriteRequest, signal: AbortSignal) {
  const { layout } = request.read;
  const pictures = await collectPictures(request, signal);
  const names = new Map(pictures.map(({ name }) => [name.replace(/\.[^.]+$/, ''), name]));
  const named = renamePictures(parseAst(request.read.ast), names);
  const cited = await citeForAllFormats(engines, named, request, signal);
  const { ast, warnings } = sanitizeAst(cited.ast, createSanitizePolicy('cited'));
  const final = applyLayoutMetadata(unwrapCitations(ast), layout);
  const prepared: PreparedDocument = {
    ast: serializeAst(final),
    layout,
    pictures,
    referenceDoc: request.referenceDoc,
    hasRareCharacters: hasRareCharacters(final),
  };
  return { prepared, warnings: [...cited.warnings, ...warnings], missing: cited.missing };
}

async function collectPictures(
  { read, found }: DocumentWriteRequest,
  signal: AbortSignal,
): Promise<DocumentPicture[]> {
  const limits = defaultPictureLimits;
  const embedded = read.embedded.map(({ as, bytes }) =>
    sanitizePicture(bytes, { called: 'a picture in the text', as }, limits),
  );
  const among = async (name: string) => found.get(name) ?? null;
  return [
    ...embedded,
    ...(await findPictures(read.pictures, { artifact: among, file: among }, limits, signal)),
  ];
}

async function citeForAllFormats(
  { pandoc }: DocumentEngines,
  ast: PandocAst,
  { references, style, read }: DocumentWriteRequest,
  signal: AbortSignal,
): Promise<{ ast: PandocAst; warnings: string[]; missing: string[] }> {
  if (references === null) return { ast, warnings: [], missing: [] };
  const { language }: DocumentLayout = read.layout;
  const cited = await citeDocument(pandoc, { ast: serializeAst(ast), references, style, language, signal });
  const told = cited.missing.map((key) => `${key} is cited, but is in no bibliography.`);
  return { ast: parseAst(cited.ast), warnings: [...cited.warnings, ...told], missing: cited.missing };
}

/** What several formats say alike is said once. */
function listFormatWarnings(built: DocumentWriteResult['built']): string[] {
  const formatsOf = new Map<string, DocumentFormat[]>();
  for (const { format, written } of built)
    for (const warning of written.warnings)
      formatsOf.set(warning, [...(formatsOf.get(warning) ?? []), format]);
  return [...formatsOf].map(([warning, formats]) => `${formats.join(', ')}: ${warning}`);
}

const maxCachedBibliographies = 8;
/** A longer bibliography is read anew each time: what it takes in memory is many times its length. */
const maxCachedBibliographyLength = 1024 ** 2;

/**
 * A document is built many times, while its bibliography stays as it is; to convert one of a hundred entries takes a
 * fifth of the time of the whole. The ones used last are kept, for as long as the process lives.
 */
export function createBibliographyCache() {
  const known = new BoundedMap<string, Bibliography>({ mostEntries: maxCachedBibliographies });

  return async (
    text: string,
    terms: readonly string[],
    read: () => Promise<Bibliography>,
  ): Promise<Bibliography> => {
    if (text.length > maxCachedBibliographyLength) return read();
    const key = digestParts([text, ...terms]);
    const bibliography = known.get(key) ?? (await read());
    known.set(key, bibliography);
    return bibliography;
  };
}

export type BibliographyCache = ReturnType<typeof createBibliographyCache>;

const digestParts = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64');
