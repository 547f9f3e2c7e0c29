import { WorkcrateError } from '../../errors.ts';

/** The project's folder on the client's machine, which may be of another system. */
export interface ProjectRoot {
  /** As its system writes it, without a slash at its end. */
  readonly text: string;
  /** What follows the folder in an absolute path, with `/` between names; null for a path that is not below it. */
  after(path: string): string | null;
  join(relative: string): string;
}

const mostLength = 4096;

/** An absolute path of POSIX, a drive's or a share's. The root of a whole filesystem is no project. */
export function parseRoot(text: string): ProjectRoot {
  const isWindows = /^(?:[a-z]:[/\\]|\\\\[^/\\])/i.test(text);
  const root = (isWindows ? slashed(text) : text).replace(/(?<!\/)\/+$/, '');
  if (text.length > mostLength || !isFolder(root, isWindows)) throw notARoot();
  return isWindows ? windowsRoot(root) : posixRoot(root);
}

function posixRoot(root: string): ProjectRoot {
  return {
    text: root,
    after: (path) => restAfter(root, path),
    join: (relative) => (relative === '' ? root : `${root}/${relative}`),
  };
}

/** Backslashes are separators in absolute paths alone, which say by their beginning what system they are of. */
function windowsRoot(root: string): ProjectRoot {
  const text = root.replaceAll('/', '\\');
  return {
    text,
    // Long ones are refused anyway.
    after: (path) => (path.length > 2 * mostLength ? null : restAfter(root, slashed(path))),
    join: (relative) => (relative === '' ? text : `${text}\\${relative.replaceAll('/', '\\')}`),
  };
}

/** Letter by letter, but for that of a drive, which programs write as they like. */
const slashed = (path: string): string =>
  path.replaceAll('\\', '/').replace(/^[a-z]:/, (drive) => drive.toUpperCase());

function restAfter(root: string, path: string): string | null {
  if (path === root) return '';
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
}

function isFolder(root: string, isWindows: boolean): boolean {
  const below = isWindows
    ? /^(?:[A-Z]:|\/\/[^/]+\/[^/]+)\/(.+)$/s.exec(root)?.[1]
    : /^\/(.+)$/s.exec(root)?.[1];
  if (below === undefined || !root.isWellFormed() || /\p{Cc}/u.test(root)) return false;
  return below.split('/').every((name) => !['', '.', '..'].includes(name.trim()));
}

const notARoot = () =>
  new WorkcrateError(
    'invalid_input',
    'The project\'s folder has to be an absolute path without "..", and not the root of a filesystem. Name the folder that the project lies in.',
  );
