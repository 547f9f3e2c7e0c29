/**
 * Opens what builds documents: worker processes and the Zotero library. No process starts before the first document.
 * The text is sanitized and built in `documents/`.
 */
import type { SettingsOf } from '../../core/feature.ts';
import type { Caller } from '../../core/identity.ts';
import type { Clock } from '../../platform/clock.ts';
import { toFairLimits } from '../../platform/concurrency/fair-queue.ts';
import { asWorkcrateError, isOurFault, WorkcrateError } from '../../platform/errors.ts';
import { createLog, type Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import {
  createDocumentBuilder,
  type BuildContext,
  type DocumentBuilder,
  type DocumentBuildRequest,
  type DocumentBuildResult,
} from './documents.ts';
import type { documentSettings } from './settings.ts';
import { findFonts } from './typst/fonts.ts';
import { openDocumentWorkers } from './worker/open.ts';
import { toZoteroAddress, type ReferenceLibrary } from './zotero/library.ts';
import { openZotero } from './zotero/zotero.ts';

type Config = SettingsOf<typeof documentSettings>;

export interface OpenDocumentsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens workers and library. */
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

type DocumentMetrics = Pick<Metrics, 'documentBuilt' | 'documentsTook' | 'watchDocuments'>;

/** The same builder, with metrics and log lines. Neither contains anything of a document. */
export function meterDocuments(
  documents: DocumentBuilder,
  metrics: DocumentMetrics,
  log: Log,
): DocumentBuilder {
  metrics.watchDocuments(documents.occupancy);

  async function build(
    caller: Caller,
    request: DocumentBuildRequest,
    building: BuildContext,
  ): Promise<DocumentBuildResult> {
    const began = performance.now();
    const asked = { user: caller.user, formats: request.formats };
    try {
      const result = await documents.build(caller, request, building);
      for (const { format } of result.built) metrics.documentBuilt(format, 'ok');
      for (const { format, code } of result.failures) metrics.documentBuilt(format, code);
      log.info('document.built', { ...asked, ...summarizeBuild(result), ms: millisecondsSince(began) });
      return result;
    } catch (cause) {
      const error = asWorkcrateError(cause);
      for (const format of request.formats) metrics.documentBuilt(format, error.code);
      log[isOurFault(error) ? 'error' : 'info']('document.failed', {
        ...asked,
        ms: millisecondsSince(began),
        error,
      });
      throw cause;
    } finally {
      metrics.documentsTook(performance.now() - began);
    }
  }

  return { ...documents, build };
}

const millisecondsSince = (began: number): number => Math.round(performance.now() - began);

const summarizeBuild = ({ built, failures, warnings }: DocumentBuildResult) => ({
  bytes: built.reduce((sum, { written }) => sum + written.bytes.length, 0),
  failed: failures.map(({ format, code }) => `${format}: ${code}`),
  warnings: warnings.length,
});
