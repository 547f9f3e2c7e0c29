import { parsePath } from '../../paths/paths.ts';
import { isPlain, oddKind } from './odd-names.ts';
import { asRefusal, refused } from './refusal.ts';
import type { ProjectRoot } from './root.ts';

/**
 * The path from the project's folder on. What would lead elsewhere, or to another name, on any system is refused;
 * whether it is allowed is asked by others.
 */
export function relativePath(root: ProjectRoot | null, path: string): string {
  // The folder itself has no name, and an absolute path to it leaves none either.
  const rest = (root?.after(path) ?? path) || '.';
  try {
    return isPlain(rest) ? checkedNames(rest, path) : resolvedNames(rest, path);
  } catch (error) {
    throw asRefusal(error, path);
  }
}

/**
 * `..` that stays inside is resolved (E4), by the names alone: what comes out is what is asked for. One that leads out
 * is left for the check to refuse, and so is anything odd among the names that it takes away. What is left is checked
 * again: only there is `~` of `docs/../~root` at the beginning.
 */
function resolvedNames(rest: string, path: string): string {
  const names = rest.split('/');
  if (!names.includes('..') || rest.startsWith('/')) return checkedNames(parsePath(rest).join('/'), path);
  checkedNames(parsePath(names.filter((name) => name !== '..').join('/') || '.').join('/'), path);
  const left: string[] = [];
  for (const name of names)
    if (name !== '..') left.push(...(name === '' || name === '.' ? [] : [name]));
    else if (left.pop() === undefined) return parsePath(rest).join('/');
  return checkedNames(left.join('/'), path);
}

function checkedNames(relative: string, path: string): string {
  const kind = oddKind(relative);
  if (kind !== null) throw refused(kind, path);
  return relative;
}
