/** `workcrate/toolkit`: what features in packages of their own work with. It is loaded when they do. */
export { chooseListedTools, loadRoutes } from '../../features/tool-search/tool-search.ts';
export { createInterruptSignal } from '../../platform/command-line/signals.ts';
export { usageError } from '../../platform/command-line/usage-error.ts';
export { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
export {
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchHeaders,
  type FetchPolicy,
} from '../../platform/net/bounded-fetch.ts';
export { findNearest } from '../../platform/text/edit-distance.ts';
export { cleanFilename, splitExtension, toSavedName } from '../../platform/text/filenames.ts';
export { createGlob } from '../../platform/text/glob.ts';
export {
  escapeControls,
  formatBytes,
  formatDuration,
  quoteName,
  quoteShort,
  toPlainJson,
} from '../../platform/text/text.ts';
export { packageVersion } from '../../platform/version.ts';
export { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
export { createFairQueue, toFairLimits } from '../../platform/concurrency/fair-queue.ts';
export type { Clock } from '../../platform/clock.ts';
export { isLoopbackHost } from '../../platform/net/addresses.ts';
export type { Log } from '../../platform/observability/log.ts';
export type { Files } from '../../core/files/files.ts';
export { linkShape, toLinkAnswer } from '../../core/links/link-result.ts';
export type { Links } from '../../core/links/links.ts';
export { listAs, makeText } from '../../core/offer/schema.ts';
export { declareTool, type DeclaredTool, type ToolAnswer, type ToolContext } from '../../core/offer/tool.ts';
export type {
  CslReference,
  CslValue,
  FoundReferences,
  ReferenceLibrary,
} from '../../core/reference-library.ts';
