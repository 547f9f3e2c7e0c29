/**
 * Opens what builds documents: worker processes and the Zotero library. No process starts before the first document.
 * The text is sanitized and built in `documents/`.
 */
import type { Clock } from '../platform/clock.ts';
import { toFairLimits } from '../platform/concurrency/fair-queue.ts';
import type { ServerConfig as Config } from './settings.ts';
import { createDocumentBuilder, type DocumentBuilder } from '../features/documents/documents.ts';
import { findFonts } from '../features/documents/typst/fonts.ts';
import { openDocumentWorkers } from '../features/documents/worker/open.ts';
import { toZoteroAddress, type ReferenceLibrary } from '../features/documents/zotero/library.ts';
import { openZotero } from '../features/documents/zotero/zotero.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { createLog, type Log } from '../platform/observability/log.ts';

export interface OpenDocumentsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens workers and library: the part of the composition root for documents. */
export function openDocuments(options: OpenDocumentsOptions): {
  readonly documents: DocumentBuilder;
  readonly library: ReferenceLibrary | null;
} {
  const { config, log } = options;
  // It logs the fonts that cannot be used.
  if (config.documentFonts.length > 0) findFonts(config.documentFonts, log);
  const library = openLibrary(options);
  const workers = openDocumentWorkers({
    processes: config.maxDocuments,
    idleSeconds: config.documentIdle,
    memoryBytes: config.documentMemory,
    epoch: config.documentEpoch,
    pandoc: config.pandoc,
    fontFolders: config.documentFonts,
    log,
  });
  const documents = createDocumentBuilder({
    workers,
    library,
    cslFolder: config.cslFolder,
    places: toFairLimits(config.maxDocuments, config.auth.length > 0),
    timeoutMs: config.documentTimeout * 1000,
    mostBytes: config.documentSize,
  });
  return { documents, library };
}

/** Pandoc alone needs most of it. */
const leastMemory = 400 * 1024 ** 2;

/** Refuses settings with which no document could be built. It opens nothing. */
export function demandDocumentSettings(config: Config): void {
  const { zoteroLibrary: library, zoteroUrl: url, zoteroKey: key } = config;
  if (library !== null) toZoteroAddress({ url, library, key });
  if (config.documentFonts.length > 0) findFonts(config.documentFonts, createLog('off'));
  if (config.documentMemory >= leastMemory) return;
  throw new WorkcrateError(
    'config_invalid',
    '--document-memory takes 400MB or more: with less, no document can be built.',
  );
}

function openLibrary({ config, clock, log }: OpenDocumentsOptions): ReferenceLibrary | null {
  const { zoteroLibrary: library, zoteroUrl: url, zoteroKey: key } = config;
  return library === null ? null : openZotero({ url, library, key, clock, log });
}
