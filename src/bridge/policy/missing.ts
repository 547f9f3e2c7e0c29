import { isWorkcrateError } from '../../errors.ts';
import { belowRoot, parsePath } from '../../paths/paths.ts';
import type { Allowed } from './allowed.ts';

/** Allowed paths that lead to nothing, where the client's files are on this machine. */
export function missingOf(folder: string, lists: readonly Allowed[]): string[] {
  const root = belowRoot(folder, { links: 'within' });
  const missing = lists.flatMap(({ paths, elsewhere }) => [
    ...elsewhere,
    ...paths.filter((path) => !isThere(() => root.stat(parsePath(path)))),
  ]);
  return [...new Set(missing)];
}

/** What may not be looked at is there. */
function isThere(look: () => unknown): boolean {
  try {
    look();
    return true;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return false;
    if (isWorkcrateError(error, 'path_refused')) return true;
    throw error;
  }
}
