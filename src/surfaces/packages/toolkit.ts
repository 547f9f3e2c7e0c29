/** `workcrate/toolkit`: what features in packages of their own work with. It is loaded when they do. */
export { chooseTools, loadRoutes } from '../../features/tool-search/tool-search.ts';
export { createInterruptSignal } from '../../platform/command-line/signals.ts';
export { usageError } from '../../platform/command-line/usage-error.ts';
export { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
export { fetchBounded, FetchError, type FetchAnswer } from '../../platform/net/bounded-fetch.ts';
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
