import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { createAllowed } from './allowed.ts';
import type { PolicyOptions } from './policy.ts';
import { parseRoot } from './root.ts';

/**
 * Looks at allowed paths before there is a client. Fails with `config_invalid` for those that can be right in no
 * project; returns a warning for each that allows nothing in a project that is known, or in most that may come.
 */
export function checkAllowed({ root, read, list }: PolicyOptions): string[] {
  const folder = root === null ? null : parseRoot(root);
  const elsewhere = [read, list ?? []].flatMap((paths) => createAllowed(paths, folder).elsewhere);
  return [...new Set(elsewhere)].map((path) => {
    demandFolder(path);
    const where = root === null ? 'a project that it lies in' : `a project other than ${root}`;
    return `${path} is absolute, and allows something only in ${where}. Name it from the project's folder, such as docs, to allow it in each.`;
  });
}

function demandFolder(path: string): void {
  try {
    parseRoot(path);
  } catch (error) {
    if (!isWorkcrateError(error, 'invalid_input')) throw error;
    throw new WorkcrateError(
      'config_invalid',
      `${JSON.stringify(path)} cannot be allowed in any project: it is a whole filesystem, or holds "..". Name a folder from the project down, such as docs, or "." for all of it.`,
      { cause: error },
    );
  }
}
