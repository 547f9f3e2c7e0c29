/**
 * Opens and lists files of a client that runs on this machine. Links are resolved first, then the result is checked
 * against the allow-list and opened through `platform/paths/` without following any. That the client sees the same files is
 * proven in `filesystem-challenge.ts`.
 */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import { yieldToEventLoop } from '../../../platform/concurrency/yield.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import {
  openBelow,
  rootPath,
  joinComponents,
  parseName,
  type Components,
  type OpenFile,
  type FolderRoot,
} from '../../../platform/paths/paths.ts';
import { mayBeShortName, type PathPolicy, type PathPurpose, type RawEnd } from '../policy/policy.ts';
import { clientRefusedError, notAFileError, notAFolderError, localPathNotFoundError } from './failures.ts';
import type { FileRequest, RawEntry } from './file-request.ts';

/** Where a path leads once its links are followed; that was checked again. */
interface DirectLocation {
  readonly root: FolderRoot;
  readonly path: Components;
}

const maxDirectEntries = 1_000_000;
const maxDirectDepth = 64;

/** A file of the client's on this machine, held open. */
export function openDirectly(request: FileRequest, policy: PathPolicy): OpenFile {
  return withDirectErrors(request, () => {
    const { root, path } = locateDirectly(request, policy, 'read');
    return root.open(path);
  });
}

/** The entries of a client's folder on this machine, links as links. It yields to the event loop in between. */
export async function* listDirectly(
  request: FileRequest,
  policy: PathPolicy,
): AsyncGenerator<RawEntry, RawEnd> {
  const { root, path } = withDirectErrors(request, () => locateDirectly(request, policy, 'list'));
  const depth = request.recursive ? maxDirectDepth : 0;
  const found = withDirectErrors(request, () =>
    root.tree(path, { mostEntries: maxDirectEntries, mostDepth: depth }),
  );
  const next = () => withDirectErrors(request, () => found.next());
  let count = 0;
  let step = next();
  for (; !step.done; step = next()) {
    if (++count % 2000 === 0) await yieldToEventLoop();
    const { path: name, stats } = step.value;
    if (name === null) continue;
    const type = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : null;
    const kind = type ?? (stats.isSymbolicLink() ? 'link' : 'other');
    yield { path: name, type: kind, size: Number(stats.size), mtime: Number(stats.mtimeMs) };
  }
  const { cut, unentered, unreadable } = step.value;
  const isCut = cut || (request.recursive && unentered > 0);
  return { end: isCut ? 'cut' : 'whole', hidden: unreadable };
}

/**
 * Links are followed first, then what they lead to is judged, and opened below the project without following any: so
 * neither a link nor an exchange of something for one leads to what is not allowed.
 */
function locateDirectly(
  { root, path }: FileRequest,
  policy: PathPolicy,
  purpose: PathPurpose,
): DirectLocation {
  const directory = realpathSync(root!);
  const judged = policy.judge(followLinks(directory, path.relative) || '.', purpose).relative;
  return {
    root: openBelow(directory, { links: 'refuse' }),
    path: parseNames(openBelow(directory, { links: 'refuse' }), judged),
  };
}

/** The names as they are. One that may be short for another has to be that very entry: it could be short for a hidden one. */
function parseNames(root: FolderRoot, path: string): Components {
  let above = rootPath;
  for (const name of path === '' ? [] : path.split('/')) {
    if (mayBeShortName(name) && !root.list(above).entries.some((entry) => entry.name === name))
      throw new WorkcrateError('path_not_found', 'There is nothing of that very name.');
    above = joinComponents(above, parseName(name));
  }
  return above;
}

/** As the client would have said it. */
function withDirectErrors<T>(request: FileRequest, act: () => T): T {
  const { relative: path } = request.path;
  try {
    return act();
  } catch (error) {
    const errno = getErrno(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR' || isWorkcrateError(error, 'path_not_found'))
      throw localPathNotFoundError(path, request.root ?? '');
    if (errno === 'EACCES' || errno === 'EPERM' || isRefusedFor(error, 'denied'))
      throw clientRefusedError(path, 'permission was denied (via: "upload" lets your shell send it)');
    if (errno === 'ENAMETOOLONG' || isRefusedFor(error, 'too_long'))
      throw clientRefusedError(
        path,
        'its whole path is longer than this system takes (via: "upload" can do it)',
      );
    if (isRefusedFor(error, 'not_regular')) throw notAFileError(path);
    if (isRefusedFor(error, 'not_folder')) throw notAFolderError(path);
    throw error;
  }
}

const isRefusedFor = (error: unknown, kind: string): boolean =>
  isWorkcrateError(error, 'path_refused') && error.details['kind'] === kind;

const maxDirectLinks = 40;

/**
 * Where a path below a folder leads when its links are followed, from that folder on. A link that leads out is refused
 * without a look at what is there. If something is swapped meanwhile, opening it fails.
 */
export function followLinks(folder: string, path: string): string {
  const ahead = splitPathNames(path);
  let [passed, links]: [string[], number] = [[], 0];
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '..') {
      if (passed.pop() === undefined) throw linkRefusedError('link', path);
      continue;
    }
    const location = join(folder, ...passed, name);
    if (!lstatSync(location).isSymbolicLink()) {
      passed.push(name);
      continue;
    }
    if (++links > maxDirectLinks) throw linkRefusedError('link_loop', path);
    const target = readDirectLink(location, path);
    if (isAbsolute(target)) passed = [];
    ahead.unshift(...(isAbsolute(target) ? cutFolderNames(folder, target, path) : splitPathNames(target)));
  }
  return passed.join('/');
}

function readDirectLink(location: string, path: string): string {
  try {
    return readlinkSync(location);
  } catch (error) {
    // It was a link a moment ago.
    if (getErrno(error) === 'EINVAL') throw linkRefusedError('changed', path);
    throw error;
  }
}

/** Name by name and nothing folded: what `..` means behind a link shows only once that is followed. */
function cutFolderNames(folder: string, target: string, path: string): string[] {
  const [above, names] = [splitPathNames(folder), splitPathNames(target)];
  if (!above.every((name, at) => names[at] === name)) throw linkRefusedError('link', path);
  return names.slice(above.length);
}

const splitPathNames = (path: string): string[] =>
  path.split(sep === '/' ? '/' : /[/\\]/).filter((name) => name !== '' && name !== '.');

const directFailureReasons = {
  link: 'it leads through a link to elsewhere',
  link_loop: 'its links form a loop',
  changed: 'it was replaced during the check; call again',
};

const linkRefusedError = (kind: keyof typeof directFailureReasons, path: string): WorkcrateError =>
  new WorkcrateError('path_refused', `SecurityError: The path was refused: ${directFailureReasons[kind]}.`, {
    details: { kind, path },
  });
