/** Opens what builds documents: worker processes, of which none starts before the first document. */
import type { SettingsOf } from '../../core/feature.ts';
import type { Caller } from '../../core/identity.ts';
import { toFairLimits } from '../../platform/concurrency/fair-queue.ts';
import { asWorkcrateError, isOurFault, WorkcrateError } from '../../platform/errors.ts';
import { createLog, type Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import {
  createDocumentBuilder,
  type BuildContext,
  type DocumentBuilder,
  type DocumentBuilderOptions,
  type DocumentBuildRequest,
  type DocumentBuildResult,
} from './documents.ts';
import type { documentSettings } from './settings.ts';
import { findFonts } from './typst/fonts.ts';
import { openDocumentWorkers } from './worker/open.ts';

type Config = SettingsOf<typeof documentSettings>;

export interface OpenDocumentsOptions extends Pick<DocumentBuilderOptions, 'library'> {
  readonly config: Config;
  readonly log: Log;
}

export function openDocuments({ config, library, log }: OpenDocumentsOptions): DocumentBuilder {
  // It logs the fonts that cannot be used.
  if (config.documentFonts.length > 0) findFonts(config.documentFonts, log);
  const workers = openDocumentWorkers({
    processes: config.maxDocuments,
    idleSeconds: config.documentIdle,
    memoryBytes: config.documentMemory,
    epoch: config.documentEpoch,
    pandoc: config.pandoc,
    fontFolders: config.documentFonts,
    log,
  });
  return createDocumentBuilder({
    workers,
    library,
    cslFolder: config.cslFolder,
    places: toFairLimits(config.maxDocuments, config.auth.length > 0),
    timeoutMs: config.documentTimeout * 1000,
    mostBytes: config.documentSize,
  });
}

/** Pandoc alone needs most of it. */
const leastMemory = 400 * 1024 ** 2;

/** Refuses settings with which no document could be built. It opens nothing. */
export function demandDocumentSettings(config: Config): void {
  if (config.documentFonts.length > 0) findFonts(config.documentFonts, createLog('off'));
  if (config.documentMemory >= leastMemory) return;
  throw new WorkcrateError(
    'config_invalid',
    '--document-memory takes 400MB or more: with less, no document can be built.',
  );
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
