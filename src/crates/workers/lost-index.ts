import { isWorkcrateError, WorkcrateError } from '../../errors.ts';

export { removeLogOfDeletedIndex } from './index-file.ts';

const lostKind = 'index_lost';

/** The index is damaged or deleted. It is made of the sources alone, so whoever writes to it can make it again. */
export const indexLost = (cause: unknown, file: string | null): WorkcrateError =>
  new WorkcrateError('database_failed', 'The index of crates is damaged or deleted. It is being made anew.', {
    cause,
    details: { kind: lostKind, file: file ?? '' },
  });

/** The file of an index that was lost; null for any other failure. Empty where there is none. */
export const lostIndexOf = (error: unknown): string | null =>
  isWorkcrateError(error, 'database_failed') && error.details['kind'] === lostKind
    ? String(error.details['file'])
    : null;
