import { closeSync, createReadStream, type Stats } from 'node:fs';
import { entriesOf, entryOf, type Entry, type Listing } from './entries.ts';
import { Fault } from './faults.ts';
import type { Components } from './names.ts';
import { walk, type Ground } from './walk.ts';

/** An open regular file. Streams made from `fd` must leave closing to this: `autoClose: false`. */
export interface OpenFile extends Disposable {
  readonly fd: number;
  /** As judged before opening: type and inode cannot have changed since, the size can. */
  readonly stats: Stats;
}

export function openFile(ground: Ground, path: Components): OpenFile {
  using trail = walk(ground, path);
  const { end } = trail;
  if (!end.stats.isFile()) throw new Fault('not_regular');
  return ownedFile(end.open(), end.stats);
}

/** All bytes of an open file, from its start. Closing it is left to whoever opened it. */
export function readOpenFile({ fd }: OpenFile): AsyncIterable<Uint8Array> {
  return createReadStream('', { fd, autoClose: false, start: 0 }) as AsyncIterable<Uint8Array>;
}

export function stat(ground: Ground, path: Components): Entry {
  using trail = walk(ground, path);
  return entryOf(path.at(-1) ?? '.', trail.end.stats);
}

export function list(ground: Ground, path: Components, mostEntries: number): Listing {
  using trail = walk(ground, path);
  return entriesOf(trail.end, mostEntries);
}

export function ownedFile(fd: number, stats: Stats): OpenFile {
  let isOpen = true;
  return {
    fd,
    stats,
    // Once only: by the second time the number may be somebody else's file.
    [Symbol.dispose]() {
      if (!isOpen) return;
      isOpen = false;
      closeSync(fd);
    },
  };
}
