/**
 * Builds documents: takes a request, waits for a turn in the fair queue, and has a worker process read and write it. In
 * between it reads the user's pictures and asks the library for references, which the worker must not do. It parses no
 * Markdown (`worker/worker.ts`) and stores no result (`tools/build.ts`).
 */
import { createFairQueue, type FairLimits } from '../concurrency/fair-queue.ts';
import { isWorkcrateError, publicMessage, WorkcrateError } from '../errors.ts';
import type { Caller } from '../identity.ts';
import { readCitationStyle } from './citations/styles.ts';
import type { CitationValidation } from './citations/validate.ts';
import type { DocumentFormat, DocumentLayout } from './document.ts';
import { readUserPictures, type UserFiles } from './user-files.ts';
import type { DocumentWorker, DocumentWorkers } from './worker/open.ts';
import type { GivenBibliography, ReadDocument, WriteStep, DocumentWriteResult } from './worker/worker.ts';
import type { ReferenceLibrary } from './zotero/library.ts';

export { documentFormats, type DocumentFormat, type DocumentLayout } from './document.ts';
export type { UserFiles } from './user-files.ts';
export type { GivenBibliography } from './worker/worker.ts';

/** What a document is to be built of, and into. */
export interface DocumentBuildRequest {
  readonly text: string;
  readonly formats: readonly DocumentFormat[];
  /** What the caller wants; the rest is as the front matter says, or as usual. */
  readonly layout: Partial<DocumentLayout>;
  readonly bibliography: GivenBibliography | null;
  readonly style: { readonly name: string | null; readonly content: string | null };
  /** False leaves citations as they are written. */
  readonly cites: boolean;
  readonly referenceDoc: Uint8Array | null;
}

export type DocumentBuildResult = DocumentWriteResult;

export interface DocumentBuilderOptions {
  readonly composers: DocumentWorkers;
  /** Where keys are looked up that no bibliography has; null: nowhere. */
  readonly library: ReferenceLibrary | null;
  /** Folder of citation styles; null: our own alone. */
  readonly cslFolder: string | null;
  /** Documents at once. */
  readonly places: FairLimits;
  readonly timeoutMs: number;
  /** Longest text, in bytes. */
  readonly mostBytes: number;
}

export interface BuildContext {
  readonly signal: AbortSignal;
  /** Where its pictures are had from. */
  readonly pictures: UserFiles;
  progress(done: number, total: number, message: string): void;
}

export type DocumentBuilder = ReturnType<typeof createDocumentBuilder>;

/** Builds documents: Markdown and citations into PDF, DOCX and more. */
export function createDocumentBuilder(options: DocumentBuilderOptions) {
  const { composers, timeoutMs, mostBytes } = options;
  const queue = createFairQueue({
    ...options.places,
    refusals: { busy: buildQueueFullError, cancelled: buildCancelledError, closed: buildQueueClosedError },
  });

  /** The time that somebody waits for a turn is not counted. */
  async function inTurn<T>(
    { user }: Caller,
    signal: AbortSignal,
    work: (composer: DocumentWorker, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const leave = await queue.enter({ user, signal });
    const deadline = createDeadline(timeoutMs, signal);
    try {
      return await composers.use((composer) => work(composer, deadline.signal), deadline.signal);
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
      building: BuildContext,
    ): Promise<DocumentBuildResult> =>
      inTurn(caller, building.signal, (composer, signal) =>
        buildDocument(composer, request, { ...building, ...options, signal }),
      ),

    validate: (
      caller: Caller,
      { text, bibliography }: Pick<DocumentBuildRequest, 'text' | 'bibliography'>,
      signal: AbortSignal,
    ): Promise<CitationValidation> =>
      inTurn(caller, signal, (composer) =>
        composer.call('validate', { text, bibliography, mostBytes, layout: {} }),
      ),

    async [Symbol.asyncDispose]() {
      queue.close();
      await composers[Symbol.asyncDispose]();
    },
  };
}

/** Reading is a step, citing another, and then each format. */
async function buildDocument(
  composer: DocumentWorker,
  { text, bibliography, layout, formats, style, cites, referenceDoc }: DocumentBuildRequest,
  options: DocumentBuilderOptions & BuildContext,
): Promise<DocumentBuildResult> {
  const { mostBytes, cslFolder, library, pictures, signal, progress } = options;
  const total = formats.length + 2;
  progress(0, total, 'reading');
  const csl = cites ? await readCitationStyle({ ...style, folder: cslFolder }) : null;
  const read = await composer.call('read', {
    text,
    bibliography: cites ? bibliography : null,
    layout,
    mostBytes,
  });
  const found = await readUserPictures(read.pictures, pictures, signal);
  const lent = cites ? await findLibraryReferences(library, read, signal) : { references: [], notes: [] };
  // Somebody who gives no bibliography, and has none, may write about @things.
  const isCited = cites && (bibliography !== null || library !== null);
  const references = isCited ? [...read.references, ...lent.references] : null;
  const report = ([done, message]: WriteStep): void => progress(done + 1, total, message);
  const result = await composer.call(
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
    warnings: [...new Set([...read.warnings, ...lent.notes, ...result.warnings])],
  };
}

/** What the bibliography does not have is looked for in the library. */
async function findLibraryReferences(
  library: ReferenceLibrary | null,
  { unknownKeys }: ReadDocument,
  signal: AbortSignal,
) {
  if (library === null || unknownKeys.length === 0) return { references: [], notes: [] };
  return library.references(unknownKeys, signal);
}

/** Fires after a while, or when the other does, always with an error that says which. */
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
