import { WorkcrateError } from '../../errors.ts';

/** How many names of uploads on their way are gathered at the most. */
export const mostStaged = 100_000;

export const tooManyStaged = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    `There are more than ${mostStaged} objects below staging/ in the store. Remove those that are old, or set another prefix.`,
  );

/** The last name of a page, which must come after that of the page before: else a listing would have no end. */
export function advanced(before: string, name: string): string {
  // Stores order by the bytes of UTF-8.
  if (Buffer.compare(Buffer.from(name), Buffer.from(before)) > 0) return name;
  throw new WorkcrateError(
    'storage_failed',
    'The store lists the same names again and again. Check whether it supports paging, and any proxy in between.',
  );
}
