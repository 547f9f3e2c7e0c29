import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import { errnoOf, WorkcrateError } from '../../errors.ts';

const mostLinks = 40;

/**
 * Where a path below a folder leads when its links are followed, from that folder on. A link that leads out is refused
 * without a look at what is there. What is exchanged meanwhile is for whoever opens the place to refuse.
 */
export function followed(folder: string, path: string): string {
  const ahead = namesIn(path);
  let [passed, links]: [string[], number] = [[], 0];
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '..') {
      if (passed.pop() === undefined) throw astray('link', path);
      continue;
    }
    const place = join(folder, ...passed, name);
    if (!lstatSync(place).isSymbolicLink()) {
      passed.push(name);
      continue;
    }
    if (++links > mostLinks) throw astray('link_loop', path);
    const target = targetOf(place, path);
    if (isAbsolute(target)) passed = [];
    ahead.unshift(...(isAbsolute(target) ? namesAfter(folder, target, path) : namesIn(target)));
  }
  return passed.join('/');
}

function targetOf(place: string, path: string): string {
  try {
    return readlinkSync(place);
  } catch (error) {
    // It was a link a moment ago.
    if (errnoOf(error) === 'EINVAL') throw astray('changed', path);
    throw error;
  }
}

/** Name by name and nothing folded: what `..` means behind a link shows only once that is followed. */
function namesAfter(folder: string, target: string, path: string): string[] {
  const [above, names] = [namesIn(folder), namesIn(target)];
  if (!above.every((name, at) => names[at] === name)) throw astray('link', path);
  return names.slice(above.length);
}

const namesIn = (path: string): string[] =>
  path.split(sep === '/' ? '/' : /[/\\]/).filter((name) => name !== '' && name !== '.');

const reasons = {
  link: 'it leads through a link to elsewhere',
  link_loop: 'its links form a loop',
  changed: 'it was replaced during the check; call again',
};

const astray = (kind: keyof typeof reasons, path: string): WorkcrateError =>
  new WorkcrateError('path_refused', `SecurityError: The path was refused: ${reasons[kind]}.`, {
    details: { kind, path },
  });
