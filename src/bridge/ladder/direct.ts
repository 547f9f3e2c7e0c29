import { realpathSync } from 'node:fs';
import { yieldToEventLoop } from '../../concurrency/yield.ts';
import { errnoOf, isWorkcrateError } from '../../errors.ts';
import { belowRoot, here, parsePath, type Components, type OpenFile, type Root } from '../../paths/paths.ts';
import type { Policy, Purpose, RawEnd } from '../policy/policy.ts';
import type { Errand, RawEntry } from './errand.ts';
import { mayNot, noFile, noFolder, notThere } from './failures.ts';
import { followed } from './links.ts';

/** Where a path leads when its links are followed, judged there once more. */
interface Place {
  readonly root: Root;
  readonly path: Components;
}

const mostLooked = 1_000_000;
const mostDepth = 64;

/** A file of the client's on this machine, held open. */
export function openDirectly(errand: Errand, policy: Policy): OpenFile {
  return explained(errand, () => {
    const { root, path } = placeOf(errand, policy, 'read');
    return root.open(path);
  });
}

/** What stands in a folder of the client's on this machine, links as links. Others get their turn in between. */
export async function* listDirectly(errand: Errand, policy: Policy): AsyncGenerator<RawEntry, RawEnd> {
  const { root, path } = explained(errand, () => placeOf(errand, policy, 'list'));
  const depth = errand.recursive ? mostDepth : 0;
  const found = explained(errand, () => root.tree(path, { mostEntries: mostLooked, mostDepth: depth }));
  const next = () => explained(errand, () => found.next());
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
  const isCut = cut || (errand.recursive && unentered > 0);
  return { end: isCut ? 'cut' : 'whole', hidden: unreadable };
}

/**
 * Links are followed first, then what they lead to is judged, and opened below the project without following any: so
 * neither a link nor an exchange of something for one leads to what is not allowed.
 */
function placeOf({ root, path }: Errand, policy: Policy, purpose: Purpose): Place {
  const directory = realpathSync(root!);
  const judged = policy.judge(followed(directory, path.relative) || '.', purpose).relative;
  return {
    root: belowRoot(directory, { links: 'refuse' }),
    path: judged === '' ? here : parsePath(judged),
  };
}

/** As the client would have said it. */
function explained<T>(errand: Errand, act: () => T): T {
  const { relative: path } = errand.path;
  try {
    return act();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR' || isWorkcrateError(error, 'path_not_found'))
      throw notThere(path, 'server');
    if (errno === 'EACCES' || errno === 'EPERM' || isRefused(error, 'denied'))
      throw mayNot(path, 'permission was denied');
    if (errno === 'ENAMETOOLONG' || isRefused(error, 'too_long'))
      throw mayNot(path, 'its whole path is longer than this system takes (via: "upload" can do it)');
    if (isRefused(error, 'not_regular')) throw noFile(path);
    if (isRefused(error, 'not_folder')) throw noFolder(path);
    throw error;
  }
}

const isRefused = (error: unknown, kind: string): boolean =>
  isWorkcrateError(error, 'path_refused') && error.details['kind'] === kind;
