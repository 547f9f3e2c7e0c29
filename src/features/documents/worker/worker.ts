/**
 * What a worker process does: read, write and validate one document at a time, with its own converters. It reads no
 * file of a user and asks no library: `documents.ts` does that between reading and writing.
 */
import { createHash, randomUUID } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import {
  asWorkcrateError,
  isWorkcrateError,
  publicMessage,
  WorkcrateError,
  type ErrorCode,
} from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { CallContext } from '../../../platform/workers/workers.ts';
import {
  readBibliography,
  type Bibliography,
  type BibliographyFormat,
  type BibliographyItem,
} from '../citations/bibliography.ts';
import { citeDocument, rememberCitations } from '../citations/cite.ts';
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
  checkBoundedText,
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
import { setWordsAside, type WordsSetAside } from './plain-words.ts';

export interface DocumentWorkerSettings {
  /** An installed Pandoc; null: the packaged one. */
  readonly pandoc: string | null;
  readonly fontFolders: readonly string[];
  readonly memoryBytes: number;
  /** Date of all documents, in seconds since 1970; null: now. */
  readonly epoch: number | null;
}

/** Converters live as long as this process, which ends when it is idle. */
const converterIdleSeconds = 86_400;

export function createDocumentWorkerMethods(
  { pandoc, fontFolders, memoryBytes, epoch }: DocumentWorkerSettings,
  log: Log,
) {
  const usual = { processes: 1, idleSeconds: converterIdleSeconds, memoryBytes, epoch, log };
  const engines: DocumentEngines = {
    pandoc: rememberCitations(openPandoc({ ...usual, command: pandoc })),
    typst: openTypst({ ...usual, fontFolders }),
  };
  const reader = { pandoc: engines.pandoc, bibliographies: createBibliographyCache() };
  const trees = createTreeKeeper();
  return {
    read: async (request: DocumentReadRequest, { signal }: CallContext): Promise<KeptDocument> => {
      const { ast, ...read } = await readDocument(reader, request, signal);
      return { ...read, tree: trees.keep(ast) };
    },
    write: async (request: KeptWriteRequest, context: CallContext) =>
      writeDocument(
        engines,
        { ...request, read: { ...request.read, ast: trees.take(request.read.tree) } },
        context,
      ),
    validate: (request: DocumentReadRequest, { signal }: CallContext) =>
      validateDocument(reader, request, signal),
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
  /** What the caller wants; it overrides the front matter. */
  readonly layout: Partial<DocumentLayout>;
}

/** A document that has been read and sanitized. The server finds the pictures and keys that are missing. */
export interface ReadDocument {
  readonly ast: PandocAst;
  readonly layout: DocumentLayout;
  readonly pictures: readonly WantedPicture[];
  readonly embedded: readonly EmbeddedPicture[];
  readonly references: readonly BibliographyItem[];
  /** Keys that are cited and not among the references. */
  readonly unknownKeys: readonly string[];
  readonly warnings: readonly string[];
}

/** What the server sees of it. The tree stays here: nobody else needs it, and it is large. */
export type KeptDocument = Omit<ReadDocument, 'ast'> & { readonly tree: string };

/** Keeps the tree of the document that is being built: one, and until it is written. */
function createTreeKeeper() {
  let kept: { readonly name: string; readonly ast: PandocAst } | null = null;
  return {
    /** Gives its name. */
    keep(ast: PandocAst): string {
      kept = { name: randomUUID(), ast };
      return kept.name;
    },
    take(name: string): PandocAst {
      const taken = kept;
      kept = null;
      if (taken?.name === name) return taken.ast;
      throw new WorkcrateError(
        'document_failed',
        'The document was lost between reading and writing. Build it again.',
      );
    },
  };
}

const createSanitizePolicy = (stage: SanitizePolicy['stage']): SanitizePolicy => ({
  stage,
  mostPictureBytes: defaultPictureLimits.eachBytes,
});

/** What reading needs besides the text. */
export interface DocumentReader {
  readonly pandoc: Pandoc;
  readonly bibliographies: BibliographyCache;
}

export async function readDocument(
  reader: DocumentReader,
  request: DocumentReadRequest,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const {
    ast,
    layout: frontMatter,
    pictures,
    embedded,
    warnings,
  } = sanitizeAst(await parseMarkdown(reader.pandoc, request, signal), createSanitizePolicy('written'));
  const layout = { ...defaultLayout, ...frontMatter, ...request.layout };
  const keys = listCitedKeys(ast).map(({ key }) => key);
  const only = keys.includes('*') ? null : new Set(keys);
  const known = await readCachedBibliography(reader, request, layout.language, only, signal);
  const references = known?.references ?? [];
  const ids = new Set(references.map(({ id }) => id));
  return {
    ast,
    layout,
    pictures,
    embedded,
    references,
    unknownKeys: keys.filter((key) => key !== '*' && !ids.has(key)),
    warnings: [...warnings, ...(known?.warnings ?? [])],
  };
}

async function validateDocument(
  reader: DocumentReader,
  request: DocumentReadRequest,
  signal: AbortSignal,
): Promise<CitationValidation> {
  const cited = listCitedKeys(await parseMarkdown(reader.pandoc, request, signal));
  const bibliography = await readCachedBibliography(reader, request, defaultLayout.language, null, signal);
  return validateCitations({ cited, bibliography });
}

/** The text as a tree that is not sanitized yet. */
async function parseMarkdown(
  pandoc: Pandoc,
  { text, mostBytes }: DocumentReadRequest,
  signal: AbortSignal,
): Promise<PandocAst> {
  checkBoundedText(text, mostBytes);
  const short = setWordsAside(text);
  const json = short === null ? null : await convertShortText(pandoc, short, signal);
  return parseAst(Buffer.from(json ?? (await convertMarkdown(pandoc, text, signal))));
}

/** Null if the whole text has to be read: also for an error, which should quote the text as it was written. */
async function convertShortText(
  pandoc: Pandoc,
  { text, restore }: WordsSetAside,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return restore(await convertMarkdown(pandoc, text, signal));
  } catch (error) {
    if (isWorkcrateError(error, 'document_invalid')) return null;
    throw error;
  }
}

async function convertMarkdown(pandoc: Pandoc, input: string, signal: AbortSignal): Promise<string> {
  const options = { from: markdownReaderFormat, to: 'json' };
  const { output } = await pandoc.convert({ options, input }, signal);
  return Buffer.from(output).toString();
}

async function readCachedBibliography(
  { pandoc, bibliographies }: DocumentReader,
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
  return bibliographies(text, terms, () => readBibliography(pandoc, text, format, signal, language, only));
}

export interface DocumentWriteRequest {
  readonly read: Pick<ReadDocument, 'ast' | 'layout' | 'pictures' | 'embedded'>;
  /** The bytes of the pictures that were found, by the names in the document. */
  readonly found: ReadonlyMap<string, Uint8Array>;
  /** Null leaves citations as they are written. */
  readonly references: readonly BibliographyItem[] | null;
  /** CSL; null: Pandoc's default style. */
  readonly style: string | null;
  readonly formats: readonly DocumentFormat[];
  readonly referenceDoc: Uint8Array | null;
}

/** As the server asks for it. */
export type KeptWriteRequest = Omit<DocumentWriteRequest, 'read'> & {
  readonly read: Pick<KeptDocument, 'tree' | 'layout' | 'pictures' | 'embedded'>;
};

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

/** How many steps are done, and what comes next. */
export type WriteStep = readonly [done: number, message: string];

/** Cites, then writes every format. If one fails, the others are still written. */
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

/** The server set the deadline, so it replaces the message of a timeout. */
function toFormatFailure(format: DocumentFormat, cause: unknown, isLate: boolean): FormatFailure {
  const error = asWorkcrateError(cause);
  if (error.code === 'stopping') throw error;
  return { format, code: isLate ? 'document_timeout' : error.code, message: publicMessage(error) };
}

async function prepareDocument(engines: DocumentEngines, request: DocumentWriteRequest, signal: AbortSignal) {
  const { layout } = request.read;
  const pictures = await collectPictures(request, signal);
  const names = new Map(pictures.map(({ name }) => [name.replace(/\.[^.]+$/, ''), name]));
  const named = renamePictures(request.read.ast, names);
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
  const cited = await citeDocument(pandoc, { ast, references, style, language, signal });
  const unknown = cited.missing.map((key) => `${key} is cited, but is in no bibliography.`);
  return { ...cited, warnings: [...cited.warnings, ...unknown] };
}

/** A warning of several formats is given once. */
function listFormatWarnings(built: DocumentWriteResult['built']): string[] {
  const formatsOf = new Map<string, DocumentFormat[]>();
  for (const { format, written } of built)
    for (const warning of written.warnings)
      formatsOf.set(warning, [...(formatsOf.get(warning) ?? []), format]);
  return [...formatsOf].map(([warning, formats]) => `${formats.join(', ')}: ${warning}`);
}

const maxCachedBibliographies = 8;
/** Longer ones are not cached: in memory they take many times their length. */
const maxCachedBibliographyLength = 1024 ** 2;

/**
 * A document is often built many times with the same bibliography, and converting a hundred entries takes a fifth of the
 * whole time. Keeps those that were used last, as long as the process lives.
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
