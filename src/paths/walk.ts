import { closeSync, fchownSync, mkdirSync, readlinkSync } from 'node:fs';
import { isUtf8 } from 'node:buffer';
import { errnoOf } from '../errors.ts';
import { Fault } from './faults.ts';
import type { Footing, Held } from './footing.ts';
import type { Components } from './names.ts';
import { Trail } from './trail.ts';

/** Where walks begin, and what they may do on the way. */
export interface Ground {
  readonly directory: string;
  readonly footing: Footing;
  readonly links: 'refuse' | 'within';
  readonly hidden: 'allow' | 'refuse';
}

/** A name in a folder that is held, whether or not anything stands there. */
export interface Place extends Disposable {
  readonly folder: Held;
  readonly name: string;
}

const mostLinks = 40;

type Reach = (folder: Held, name: string) => Held;

/** Walks from the root to what `path` names, component by component. The last one is followed too. */
export function walk(ground: Ground, path: readonly string[], reach: Reach = ground.footing.reach): Trail {
  const trail = new Trail(ground.footing.root(ground.directory));
  try {
    follow(ground, trail, path.toReversed(), reach);
    return trail;
  } catch (error) {
    trail[Symbol.dispose]();
    throw error;
  }
}

/** Walks to the folder that holds what `path` names. The last name is not followed, whatever it is. */
export function walkToFolder(ground: Ground, path: Components): Place {
  const name = path.at(-1);
  if (name === undefined) throw new Fault('empty');
  const trail = walk(ground, path.slice(0, -1));
  return { folder: trail.end, name, [Symbol.dispose]: () => trail[Symbol.dispose]() };
}

/**
 * Walks to a folder, and makes each that is missing on the way. `owner` gets every folder on the way that belongs to
 * the server: below a user's folder, only this function can have made it.
 */
export function walkMaking(ground: Ground, path: Components, owner: number | null): Trail {
  return walk(ground, path, (folder, name) => {
    const next = reachOrMake(ground, folder, name);
    if (owner !== null) giveFolder(next, owner);
    return next;
  });
}

function reachOrMake(ground: Ground, folder: Held, name: string): Held {
  try {
    return ground.footing.reach(folder, name);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  makeUnlessThere(folder.at(name));
  return ground.footing.reach(folder, name);
}

/** By a descriptor, since a path could lead to another folder of the server by now. */
function giveFolder(folder: Held, owner: number): void {
  if (!folder.stats.isDirectory() || folder.stats.uid !== process.getuid?.()) return;
  try {
    const fd = folder.open();
    try {
      fchownSync(fd, owner, owner);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
}

function makeUnlessThere(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function follow(ground: Ground, trail: Trail, ahead: string[], reach: Reach): void {
  let links = 0;
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    // Only a link's target can hold this. Our own steps are retraced: the kernel's `..` can be moved.
    if (name === '..') {
      trail.back();
      continue;
    }
    if (ground.hidden === 'refuse' && name.startsWith('.')) throw new Fault('hidden');
    const next = reach(trail.end, name);
    if (!next.stats.isSymbolicLink()) {
      trail.step(next);
      continue;
    }
    next[Symbol.dispose]();
    if (ground.links === 'refuse') throw new Fault('link');
    if (++links > mostLinks) throw new Fault('link_loop');
    ahead.push(...targetOf(trail.end, name).toReversed());
  }
}

function targetOf(folder: Held, name: string): string[] {
  const target = readTarget(folder.at(name));
  const text = target.toString('utf8');
  if (!isUtf8(target) || text.startsWith('/')) throw new Fault('link');
  return text.split('/').filter((part) => part !== '' && part !== '.');
}

function readTarget(path: string): Buffer {
  try {
    return readlinkSync(path, { encoding: 'buffer' });
  } catch (error) {
    // It was a link a moment ago.
    if (errnoOf(error) === 'EINVAL') throw new Fault('changed');
    throw error;
  }
}
