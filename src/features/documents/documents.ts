/**
 * Builds documents: takes a request, waits for a turn in the fair queue, and has a worker process read and write it. In
 * between it reads the user's pictures and asks the library for references, which the worker must not do. It parses no
 * Markdown (`worker/worker.ts`) and stores no result (`tools/build.ts`).
 */
import { createFairQueue, type FairLimits } from '../../platform/concurrency/fair-queue.ts';
import { isWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import { readCitationStyle } from './citations/styles.ts';
import type { CitationValidation } from './citations/validate.ts';
import type { DocumentFormat, DocumentLayout } from './document.ts';
import { readUserPictures, type UserFiles } from './user-files.ts';
import type { DocumentWorker, DocumentWorkers } from './worker/open.ts';
import type { GivenBibliography, KeptDocument, WriteStep, DocumentWriteResult } from './worker/worker.ts';
import type { ReferenceLibrary } from '../../core/reference-library.ts';

export { documentFormats, type DocumentFormat, type DocumentLayout } from './document.ts';
export type { UserFiles } from './user-files.ts';
export type { GivenBibliography } from './worker/worker.ts';

/** What a document is built from, and into which formats. */
export interface DocumentBuildRequest {
  readonly text: string;
  readonly formats: readonly DocumentFormat[];
  /** What the caller wants; the rest comes from the front matter, or is the default. */
  readonly layout: Partial<DocumentLayout>;
  readonly bibliography: GivenBibliography | null;
  readonly style: { readonly name: string | null; readonly content: string | null };
  /** False leaves citations as they are written. */
  readonly cites: boolean;
  readonly referenceDoc: Uint8Array | null;
}

export type DocumentBuildResult = DocumentWriteResult;

export interface DocumentBuilderOptions {
  readonly workers: DocumentWorkers;
  /** Looks up keys that are in no bibliography; null: there is no library. */
  readonly library: () => ReferenceLibrary | null;
  /** The operator's folder of citation styles; null: only the bundled ones. */
  readonly cslFolder: string | null;
  /** How many documents are built at once, in all and of one user. */
  readonly places: FairLimits;
  readonly timeoutMs: number;
  /** Longest text, in bytes. */
  readonly mostBytes: number;
}

export interface BuildContext {
  readonly signal: AbortSignal;
  /** Where its pictures are read from. */
  readonly pictures: UserFiles;
  progress(done: number, total: number, message: string): void;
}

export type DocumentBuilder = ReturnType<typeof createDocumentBuilder>;

/** Builds documents: Markdown and citations into PDF, DOCX and more. */
export function createDocumentBuilder(options: DocumentBuilderOptions) {
  const { workers, timeoutMs, mostBytes } = options;
  const queue = createFairQueue({
    ...options.places,
    refusals: { busy: buildQueueFullError, cancelled: buildCancelledError, closed: buildQueueClosedError },
  });

  /** The time limit starts when the turn comes: waiting does not count. */
  async function runInTurn<T>(
    { user }: Caller,
    signal: AbortSignal,
    work: (worker: DocumentWorker, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leave = await queue.enter({ user, signal });
    const deadline = createDeadline(timeoutMs, signal);
    try {
      return await workers.use((worker) => work(worker, deadline.signal), deadline.signal);
    } finally {
      deadline.clear();
      leave();
    }
  }

  return {
    mostBytes,
    occupancy: () => ({ running: queue.running(), queued: queue.queued() }),

    build: (
      caller: Caller,
      request: DocumentBuildRequest,
      context: BuildContext,
    ): Promise<DocumentBuildResult> =>
      runInTurn(caller, context.signal, (worker, signal) =>
        buildDocument(worker, request, { ...context, ...options, signal }),
      ),

    validate: (
      caller: Caller,
      { text, bibliography }: Pick<DocumentBuildRequest, 'text' | 'bibliography'>,
      signal: AbortSignal,
    ): Promise<CitationValidation> =>
      runInTurn(caller, signal, (worker) =>
        worker.call('validate', { text, bibliography, mostBytes, layout: {} }),
      ),

    async [Symbol.asyncDispose]() {
      queue.close();
      await workers[Symbol.asyncDispose]();
    },
  };
}

/** For progress, reading is one step, citing is one, and each format is one. */
async function buildDocument(
  worker: DocumentWorker,
  { text, bibliography, layout, formats, style, cites, referenceDoc }: DocumentBuildRequest,
  options: DocumentBuilderOptions & BuildContext,
): Promise<DocumentBuildResult> {
  const { mostBytes, cslFolder, pictures, signal, progress } = options;
  const library = options.library();
  const total = formats.length + 2;
  progress(0, total, 'reading');
  const csl = cites ? await readCitationStyle({ ...style, folder: cslFolder }) : null;
  const read = await worker.call('read', {
    text,
    bibliography: cites ? bibliography : null,
    layout,
    mostBytes,
  });
  const found = await readUserPictures(read.pictures, pictures, signal);
  const fromLibrary = cites
    ? await findLibraryReferences(library, read, signal)
    : { references: [], notes: [] };
  const isCited = cites && (bibliography !== null || library !== null);
  const uncited = cites && !isCited ? listUncitedKeys(read.unknownKeys) : [];
  const references = isCited ? [...read.references, ...fromLibrary.references] : null;
  const report = ([done, message]: WriteStep): void => progress(done + 1, total, message);
  const result = await worker.call(
    'write',
    { read, found, references, style: csl, formats, referenceDoc },
    { report },
  );
  if (isWorkcrateError(signal.reason, 'cancelled')) throw signal.reason;
  progress(total, total, 'written');
  const failures = result.failures.map((each) =>
    each.code === 'document_timeout' ? { ...each, message: publicMessage(signal.reason) } : each,
  );
  return {
    ...result,
    failures,
    warnings: [
      ...new Set([...read.warnings, ...fromLibrary.notes, ...warnOfUncited(uncited), ...result.warnings]),
    ],
    missing: [...result.missing, ...uncited],
  };
}

/** Labels of figures, tables, equations and sections are written like keys, and are none. */
const labelPattern = /^(?:fig|tbl|eq|sec)-/;

/** Keys that the document shows as they are written, since nothing was given to cite from. */
const listUncitedKeys = (keys: readonly string[]): string[] =>
  [...new Set(keys)].filter((key) => !labelPattern.test(key));

const maxUncitedInWarning = 5;

function warnOfUncited(keys: readonly string[]): string[] {
  if (keys.length === 0) return [];
  const more = keys.length > maxUncitedInWarning ? ', …' : '';
  const shown = keys.slice(0, maxUncitedInWarning).map((key) => `@${key}`);
  return [
    `No bibliography was given, so citations are printed as they are written (${shown.join(', ')}${more}). Give bibliographyContent or bibliographyFile.`,
  ];
}

/** Looks up in the library what the bibliography does not have. */
async function findLibraryReferences(
  library: ReferenceLibrary | null,
  { unknownKeys }: KeptDocument,
  signal: AbortSignal,
) {
  if (library === null || unknownKeys.length === 0) return { references: [], notes: [] };
  return library.references(unknownKeys, signal);
}

/** Aborts after `ms`, or when the other signal does, with an error that says which. */
function createDeadline(ms: number, other: AbortSignal) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(buildTimeoutError(ms)), ms);
  const cancel = (): void => stop.abort(buildCancelledError());
  other.addEventListener('abort', cancel, { once: true });
  if (other.aborted) cancel();
  return {
    signal: stop.signal,
    clear() {
      clearTimeout(timer);
      other.removeEventListener('abort', cancel);
    },
  };
}

function buildTimeoutError(ms: number): WorkcrateError {
  return new WorkcrateError(
    'document_timeout',
    `Building the document took longer than ${ms / 1000} seconds and was stopped. Ask for fewer formats at once, split the document, or ask the operator to raise --document-timeout.`,
  );
}

const buildCancelledError = (): WorkcrateError =>
  new WorkcrateError('cancelled', 'Building the document was cancelled.');

const buildQueueClosedError = (): WorkcrateError => new WorkcrateError('stopping', 'The server is stopping.');

function buildQueueFullError(running: number, queued: number): WorkcrateError {
  return new WorkcrateError(
    'documents_busy',
    `Too many documents are waiting to be built. Of yours, ${running} are being built and ${queued} are waiting. Try again later.`,
    { details: { running, queued } },
  );
}
