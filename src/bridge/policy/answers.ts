import type { ClientPath } from '../client-file.ts';
import { isWithin, type Allowed } from './allowed.ts';
import { relativePath } from './below.ts';
import { isRefusal } from './refusal.ts';
import type { ProjectRoot } from './root.ts';

/** From where on a client tells paths: the project's folder, or the folder that was asked for. */
export type From = 'root' | 'folder';

export interface Grounds {
  readonly root: ProjectRoot | null;
  readonly allowed: Allowed;
}

/** What to make of a path that a client gave back. */
export type Verdict =
  | { readonly is: 'seen'; readonly relative: string }
  /** It may not be seen, which the client need not know. */
  | { readonly is: 'hidden' }
  /** It is not below what was asked for, or written to lead elsewhere. */
  | { readonly is: 'outside' };

const hidden: Verdict = { is: 'hidden' };
const outside: Verdict = { is: 'outside' };
const leadsElsewhere = new Set<unknown>([
  'absolute',
  'backslash',
  'drive',
  'encoded',
  'look_alike',
  'nul',
  'traversal',
  'unc',
]);

export function judgedAnswer(
  { root, allowed }: Grounds,
  asked: ClientPath,
  answered: string,
  from: From,
): Verdict {
  try {
    const relative = relativePath(root, fromRoot(asked, answered, from));
    if (!isWithin(asked.relative, relative)) return outside;
    return allowed.refuses(relative) === null ? { is: 'seen', relative } : hidden;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return leadsElsewhere.has(error.details['kind']) ? outside : hidden;
  }
}

/** An absolute path is never told from a folder, whatever the client says. */
function fromRoot(asked: ClientPath, answered: string, from: From): string {
  const isWhole = from === 'root' || asked.relative === '' || /^(?:[/\\]|[a-z]:)/i.test(answered);
  return isWhole ? answered : `${asked.relative}/${answered}`;
}
