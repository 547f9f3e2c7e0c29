import { WorkcrateError } from '../../errors.ts';
import { relativePath } from './below.ts';
import { hiddenIn } from './odd-names.ts';
import { isRefusal } from './refusal.ts';
import type { ProjectRoot } from './root.ts';

const usual = ['docs', 'src', 'tests', '.guide', '.todo'];
/** Hidden folders that belong to the project all the same. */
const shownOfHidden = ['.guide', '.todo'];

/** Paths that may be asked for, with all below them that is not hidden. */
export interface Allowed {
  /** From the project's folder; `.` is that folder. */
  readonly paths: readonly string[];
  /** Absolute ones that are not below the project's folder, and so allow nothing. */
  readonly elsewhere: readonly string[];
  /** Takes a path from the project's folder whose names have been judged. */
  refuses(relative: string): 'hidden' | 'not_allowed' | null;
}

/**
 * Names are compared letter by letter, and no folder is excluded by its name: so a system that takes `SRC` for `src`
 * can lead to less than is allowed and never to more.
 */
export function createAllowed(paths: readonly string[] | null, root: ProjectRoot | null): Allowed {
  const read = (paths ?? usual).map((path) => [path, relativeOf(path, root)] as const);
  const named = [...new Set(read.map(([, relative]) => relative).filter((path) => path !== null))];
  const known = [...new Set([...named, ...(named.includes('') ? shownOfHidden : [])])];
  return {
    paths: named.map((path) => path || '.'),
    elsewhere: read.filter(([, relative]) => relative === null).map(([path]) => path),
    refuses(relative) {
      const above = known.filter((path) => isWithin(path, relative));
      if (above.some((path) => !hiddenIn(afterFolder(path, relative)))) return null;
      return above.length === 0 ? 'not_allowed' : 'hidden';
    },
  };
}

/** Whether a path is the folder or lies below it: `docs-secret` is not in `docs`. */
export function isWithin(folder: string, path: string): boolean {
  return folder === '' || path === folder || (path.startsWith(folder) && path[folder.length] === '/');
}

/** The path from a folder on that it lies in. */
export function afterFolder(folder: string, path: string): string {
  return folder === '' ? path : path.slice(folder.length + 1);
}

function relativeOf(path: string, root: ProjectRoot | null): string | null {
  const isAbsolute = /^(?:[/\\]|[a-z]:[/\\])/i.test(path);
  if (isAbsolute && (root === null || root.after(path) === null)) return null;
  if (path === '')
    throw new WorkcrateError(
      'config_invalid',
      'A path of --client-paths or --client-list-paths is empty. Write "." for all.',
    );
  try {
    return relativePath(root, path);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new WorkcrateError(
      'config_invalid',
      `--client-paths or --client-list-paths names a path that cannot be allowed. ${error.message}`,
      {
        cause: error,
      },
    );
  }
}
