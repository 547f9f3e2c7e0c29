import { closeSync, fstatSync, linkSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { Fault } from './faults.ts';
import type { Components } from './names.ts';
import { ownedFile, type OpenFile } from './reading.ts';
import { walkMaking, walkToFolder, type Ground } from './walk.ts';

export function createFile(ground: Ground, path: Components): OpenFile {
  using place = walkToFolder(ground, path);
  const fd = place.folder.create(place.name);
  try {
    return ownedFile(fd, fstatSync(fd));
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export function makeFolder(ground: Ground, path: Components, owner: number | null): void {
  using trail = walkMaking(ground, path, owner);
  if (!trail.end.stats.isDirectory()) throw new Fault('not_folder');
}

export function renameEntry(ground: Ground, from: Components, to: Components): void {
  using source = walkToFolder(ground, from);
  using target = walkToFolder(ground, to);
  renameSync(source.folder.at(source.name), target.folder.at(target.name));
}

/** Looked at first, since not every system leaves a link in that place unfollowed. */
export function linkEntry(ground: Ground, from: Components, to: Components): void {
  using source = walkToFolder(ground, from);
  using entry = ground.footing.reach(source.folder, source.name);
  if (!entry.stats.isFile()) throw new Fault('not_regular');
  using target = walkToFolder(ground, to);
  linkSync(source.folder.at(source.name), target.folder.at(target.name));
}

/** The name may be exchanged between the two calls: the second then fails, or removes what took its place. */
export function removeEntry(ground: Ground, path: Components): void {
  using place = walkToFolder(ground, path);
  using entry = ground.footing.reach(place.folder, place.name);
  const remove = entry.stats.isDirectory() ? rmdirSync : unlinkSync;
  remove(place.folder.at(place.name));
}
