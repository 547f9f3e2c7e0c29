/**
 * The error that says that the index is damaged or deleted, and how other threads recognize it. What is done then is
 * decided in `crates.ts` and `workers.ts`.
 */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';

export { identifyIndex, removeLogOfDeletedIndex } from './index-file.ts';

const lostIndexKind = 'index_lost';

/** The index is damaged or deleted. The indexing process can rebuild it from the sources. */
export const lostIndexError = (cause: unknown, file: string | null): WorkcrateError =>
  new WorkcrateError('database_failed', 'The index of crates is damaged or deleted. It is being rebuilt.', {
    cause,
    details: { kind: lostIndexKind, file: file ?? '' },
  });

/** The identity of the lost index file; null for any other failure. Empty if the file is gone. */
export const getLostIndexFile = (error: unknown): string | null =>
  isWorkcrateError(error, 'database_failed') && error.details['kind'] === lostIndexKind
    ? String(error.details['file'])
    : null;
