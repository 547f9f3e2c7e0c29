import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { asWorkcrateError, publicMessage, WorkcrateError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { CallContext } from '../../workers/workers.ts';
import {
  readBibliography,
  type Bibliography,
  type BibliographyFormat,
  type CslItem,
} from '../citations/bibliography.ts';
import { cite } from '../citations/cite.ts';
import { validateCitations, type Validation } from '../citations/validate.ts';
import {
  usualLayout,
  type Format,
  type Layout,
  type Picture,
  type Prepared,
  type Written,
} from '../document.ts';
import { writeFormat, type Engines } from '../formats/formats.ts';
import { openPandoc, type Pandoc } from '../pandoc/pandoc.ts';
import { findPictures, judgePicture, usualPictureLimits } from '../pictures.ts';
import {
  citedKeys,
  demandBounded,
  hasRareCharacters,
  judge,
  parseAst,
  readerFormat,
  renamePictures,
  unwrapCites,
  withMetadata,
  writeAst,
  type Ast,
  type EmbeddedPicture,
  type Policy,
  type WantedPicture,
} from '../sanitize/markdown.ts';
import { openTypst } from '../typst/typst.ts';

export interface ComposingSettings {
  /** A Pandoc of the machine; null: the packaged one. */
  readonly pandoc: string | null;
  readonly fontFolders: readonly string[];
  readonly memoryBytes: number;
  /** Seconds since 1970 that all documents are dated, null: now. */
  readonly epoch: number | null;
}

/** They live as long as the process that has them, which ends when it is idle. */
const idleSeconds = 86_400;

/** What is done in the process that composes documents, which has converters of its own and one document at a time. */
export function createComposing({ pandoc, fontFolders, memoryBytes, epoch }: ComposingSettings, log: Log) {
  const usual = { processes: 1, idleSeconds, memoryBytes, epoch, log };
  const engines: Engines = {
    pandoc: openPandoc({ ...usual, command: pandoc }),
    typst: openTypst({ ...usual, fontFolders }),
  };
  const reading = { pandoc: engines.pandoc, remembered: rememberBibliographies() };
  return {
    read: (request: ReadRequest, { signal }: CallContext) => readDocument(reading, request, signal),
    write: (request: WriteRequest, context: CallContext) => writeDocument(engines, request, context),
    validate: (request: ReadRequest, { signal }: CallContext) => validate(reading, request, signal),
  };
}

export type ComposingMethods = ReturnType<typeof createComposing>;

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

const policy = (stage: Policy['stage']): Policy => ({
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

async function validate(reading: Reading, request: ReadRequest, signal: AbortSignal): Promise<Validation> {
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

export interface WriteRequest {
  readonly read: Pick<ReadDocument, 'ast' | 'layout' | 'pictures' | 'embedded'>;
  /** The bytes of those pictures that were found, by the names that the document gives them. */
  readonly found: ReadonlyMap<string, Uint8Array>;
  /** Null leaves citations as they are written. */
  readonly references: readonly CslItem[] | null;
  /** CSL; null is Pandoc's own. */
  readonly style: string | null;
  readonly formats: readonly Format[];
  readonly referenceDoc: Uint8Array | null;
}

export interface Failure {
  readonly format: Format;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface WriteResult {
  readonly built: readonly { readonly format: Format; readonly written: Written }[];
  readonly failures: readonly Failure[];
  readonly warnings: readonly string[];
  /** Keys that are cited and that no bibliography has. */
  readonly missing: readonly string[];
}

/** How many of the steps are done, and what comes now. */
export type Step = readonly [done: number, message: string];

/** Cites, then writes every format. One that fails does not take the others along. */
export async function writeDocument(
  engines: Engines,
  request: WriteRequest,
  { signal, report }: CallContext,
): Promise<WriteResult> {
  report([0, 'citing'] satisfies Step);
  const { prepared, warnings, missing } = await prepare(engines, request, signal);
  const built: { format: Format; written: Written }[] = [];
  const failures: Failure[] = [];
  for (const [at, format] of request.formats.entries()) {
    report([at + 1, `writing ${format}`] satisfies Step);
    try {
      built.push({ format, written: await writeFormat(format, prepared, engines, signal) });
    } catch (cause) {
      failures.push(failureOf(format, cause, signal.aborted));
      if (signal.aborted && built.length === 0) throw cause;
    }
  }
  return { built, failures, warnings: [...warnings, ...warningsOf(built)], missing };
}

/** Only whoever set the deadline knows what to say of it. */
function failureOf(format: Format, cause: unknown, isLate: boolean): Failure {
  const error = asWorkcrateError(cause);
  if (error.code === 'stopping') throw error;
  return { format, code: isLate ? 'document_timeout' : error.code, message: publicMessage(error) };
}

async function prepare(engines: Engines, request: WriteRequest, signal: AbortSignal) {
  const { layout } = request.read;
  const pictures = await picturesOf(request, signal);
  const names = new Map(pictures.map(({ name }) => [name.replace(/\.[^.]+$/, ''), name]));
  const named = renamePictures(parseAst(request.read.ast), names);
  const cited = await citeAll(engines, named, request, signal);
  const { ast, warnings } = judge(cited.ast, policy('cited'));
  const final = withMetadata(unwrapCites(ast), layout);
  const prepared: Prepared = {
    ast: writeAst(final),
    layout,
    pictures,
    referenceDoc: request.referenceDoc,
    hasRareCharacters: hasRareCharacters(final),
  };
  return { prepared, warnings: [...cited.warnings, ...warnings], missing: cited.missing };
}

async function picturesOf({ read, found }: WriteRequest, signal: AbortSignal): Promise<Picture[]> {
  const limits = usualPictureLimits;
  const embedded = read.embedded.map(({ as, bytes }) =>
    judgePicture(bytes, { called: 'a picture in the text', as }, limits),
  );
  const among = async (name: string) => found.get(name) ?? null;
  return [
    ...embedded,
    ...(await findPictures(read.pictures, { artifact: among, file: among }, limits, signal)),
  ];
}

async function citeAll(
  { pandoc }: Engines,
  ast: Ast,
  { references, style, read }: WriteRequest,
  signal: AbortSignal,
): Promise<{ ast: Ast; warnings: string[]; missing: string[] }> {
  if (references === null) return { ast, warnings: [], missing: [] };
  const { language }: Layout = read.layout;
  const cited = await cite(pandoc, { ast: writeAst(ast), references, style, language, signal });
  const told = cited.missing.map((key) => `${key} is cited, but is in no bibliography.`);
  return { ast: parseAst(cited.ast), warnings: [...cited.warnings, ...told], missing: cited.missing };
}

/** What several formats say alike is said once. */
function warningsOf(built: WriteResult['built']): string[] {
  const formatsOf = new Map<string, Format[]>();
  for (const { format, written } of built)
    for (const warning of written.warnings)
      formatsOf.set(warning, [...(formatsOf.get(warning) ?? []), format]);
  return [...formatsOf].map(([warning, formats]) => `${formats.join(', ')}: ${warning}`);
}

const mostEntries = 8;
/** A longer bibliography is read anew each time: what it takes in memory is many times its length. */
const mostLength = 1024 ** 2;

/**
 * A document is built many times, while its bibliography stays as it is; to convert one of a hundred entries takes a
 * fifth of the time of the whole. The ones used last are kept, for as long as the process lives.
 */
export function rememberBibliographies() {
  const known = new BoundedMap<string, Bibliography>({ mostEntries });

  return async (
    text: string,
    terms: readonly string[],
    read: () => Promise<Bibliography>,
  ): Promise<Bibliography> => {
    if (text.length > mostLength) return read();
    const key = digestOf([text, ...terms]);
    const bibliography = known.get(key) ?? (await read());
    known.set(key, bibliography);
    return bibliography;
  };
}

export type Remembered = ReturnType<typeof rememberBibliographies>;

const digestOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64');
