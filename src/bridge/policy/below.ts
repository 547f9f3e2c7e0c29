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
    const relative = isPlain(rest) ? rest : parsePath(rest).join('/');
    const kind = oddKind(relative);
    if (kind !== null) throw refused(kind, path);
    return relative;
  } catch (error) {
    throw asRefusal(error, path);
  }
}
