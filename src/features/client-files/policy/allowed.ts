/**
 * The allow-list, and how any path becomes one relative to the project's folder. What is not listed is denied.
 * Suspicious forms of a path are recognized in `refusal.ts`.
 */
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { openBelow, parsePath } from '../../../platform/paths/paths.ts';
import type { PolicyOptions } from './policy.ts';
import {
  toPolicyRefusal,
  hasHiddenName,
  isPlainPath,
  isRefusal,
  findOddKind,
  parseRoot,
  oddPathError,
  type ProjectRoot,
} from './refusal.ts';

const defaultAllowedPaths = ['docs', 'src', 'tests', '.guide', '.todo'];
/** Hidden folders that belong to the project all the same. */
const allowedHiddenFolders = ['.guide', '.todo'];

/** An allow-list: paths that may be asked for, with everything below them that is not hidden. */
export interface AllowList {
  /** From the project's folder; `.` is that folder. */
  readonly paths: readonly string[];
  /** Absolute ones that are not below the project's folder, and so allow nothing. */
  readonly elsewhere: readonly string[];
  /** Takes a path relative to the project whose names were checked. */
  refuses(relative: string): 'hidden' | 'not_allowed' | null;
}

/**
 * Names are compared letter by letter, and no folder is excluded by its name: so a system that takes `SRC` for `src`
 * can lead to less than is allowed and never to more.
 */
export function createAllowList(paths: readonly string[] | null, root: ProjectRoot | null): AllowList {
  const read = (paths ?? defaultAllowedPaths).map((path) => [path, toAllowedPath(path, root)] as const);
  const named = [...new Set(read.map(([, relative]) => relative).filter((path) => path !== null))];
  const known = [...new Set([...named, ...(named.includes('') ? allowedHiddenFolders : [])])];
  return {
    paths: named.map((path) => path || '.'),
    elsewhere: read.filter(([, relative]) => relative === null).map(([path]) => path),
    refuses(relative) {
      const above = known.filter((path) => isWithinFolder(path, relative));
      if (above.some((path) => !hasHiddenName(afterFolder(path, relative)))) return null;
      return above.length === 0 ? 'not_allowed' : 'hidden';
    },
  };
}

/** Whether a path is the folder or lies below it: `docs-secret` is not in `docs`. */
export function isWithinFolder(folder: string, path: string): boolean {
  return folder === '' || path === folder || (path.startsWith(folder) && path[folder.length] === '/');
}

/** The path from a folder on that it lies in. */
export function afterFolder(folder: string, path: string): string {
  return folder === '' ? path : path.slice(folder.length + 1);
}

function toAllowedPath(path: string, root: ProjectRoot | null): string | null {
  const isAbsolute = /^(?:[/\\]|[a-z]:[/\\])/i.test(path);
  if (isAbsolute && (root === null || root.after(path) === null)) return null;
  if (path === '')
    throw new WorkcrateError(
      'config_invalid',
      'A path of --client-paths or --client-list-paths is empty. Write "." for all.',
    );
  try {
    // Whoever sets a path with a wildcard means more than a file of that name.
    return toRelativePath(root && { ...root, isPosix: false }, path);
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

/**
 * Looks at allowed paths before there is a client. Fails with `config_invalid` for those that can be right in no
 * project; returns a warning for each that allows nothing in a project that is known, or in most that may come.
 */
export function checkAllowedSetting({ root, read, list }: PolicyOptions): string[] {
  const folder = root === null ? null : parseRoot(root);
  const elsewhere = [read, list ?? []].flatMap((paths) => createAllowList(paths, folder).elsewhere);
  return [...new Set(elsewhere)].map((path) => {
    checkProjectFolder(path);
    const where = root === null ? 'a project that it lies in' : `a project other than ${root}`;
    return `${path} is absolute, and allows something only in ${where}. Name it from the project's folder, such as docs, to allow it in each.`;
  });
}

function checkProjectFolder(path: string): void {
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

/**
 * The path from the project's folder on. What would lead elsewhere, or to another name, on any system is refused;
 * whether it is allowed is asked by others.
 */
export function toRelativePath(root: ProjectRoot | null, path: string): string {
  const below = root?.after(path) ?? null;
  // The folder itself has no name, and an absolute path to it leaves none either.
  const rest = (below ?? path) || '.';
  try {
    return isPlainPath(rest) ? checkNames(root, rest, path) : resolveNames(root, rest, path);
  } catch (error) {
    throw toPolicyRefusal(error, path, below !== null);
  }
}

/**
 * `..` that stays inside is resolved (E4), by the names alone: what comes out is what is asked for, and is checked as if
 * it had been given. Only there are `~` of `docs/../~root` and `C:` of `docs/../C:x` at the beginning. A `..` that leads
 * out is left for the check to refuse, and so is anything odd among the names that it takes away.
 */
function resolveNames(root: ProjectRoot | null, rest: string, path: string): string {
  const names = rest.split('/');
  if (!names.includes('..') || rest.startsWith('/')) return checkNames(root, joinNames(rest), path);
  const left: string[] = [];
  for (const name of names)
    if (name !== '..') left.push(...(name === '' || name === '.' ? [] : [name]));
    else if (left.pop() === undefined) return joinNames(rest);
  const resolved = checkNames(root, joinNames(left.join('/') || '.'), path);
  checkNames(root, joinNames(names.filter((name) => name !== '..').join('/') || '.'), path);
  return resolved;
}

/** Names with single slashes between them. Only in the first does a colon name a drive: `findOddKind` judges others. */
function joinNames(path: string): string {
  const first = /^(?:\.?\/)*[^/]*/.exec(path)![0];
  parsePath(first + path.slice(first.length).replaceAll(':', '_'));
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  return names.join('/');
}

function checkNames(root: ProjectRoot | null, relative: string, path: string): string {
  const kind = findOddKind(relative, root?.isPosix === true);
  if (kind !== null) throw oddPathError(kind, path);
  return relative;
}

/** Allowed paths that lead to nothing, where the client's files are on this machine. */
export function findMissingAllowed(folder: string, lists: readonly AllowList[]): string[] {
  const root = openBelow(folder, { links: 'within' });
  const missing = lists.flatMap(({ paths, elsewhere }) => [
    ...elsewhere,
    ...paths.filter((path) => !pathExists(() => root.stat(parsePath(path)))),
  ]);
  return [...new Set(missing)];
}

/** What may not be looked at is there. */
function pathExists(look: () => unknown): boolean {
  try {
    look();
    return true;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return false;
    if (isWorkcrateError(error, 'path_refused')) return true;
    throw error;
  }
}
