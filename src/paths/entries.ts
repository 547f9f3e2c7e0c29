import { isUtf8 } from 'node:buffer';
import { lstatSync, opendirSync, type Dirent, type Stats } from 'node:fs';
import { WorkcrateError } from '../errors.ts';
import { Fault } from './faults.ts';
import type { Held } from './footing.ts';

export interface Entry {
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

export interface Listing {
  /** Sorted by the bytes of their names. */
  readonly entries: Entry[];
  /** How many were left out because their names are not UTF-8: no string can name them again. */
  readonly unreadable: number;
}

export function entryOf(name: string, stats: Stats): Entry {
  return { name, type: typeOf(stats), size: stats.size, modified: stats.mtimeMs };
}

export function entriesOf(folder: Held, mostEntries: number): Listing {
  if (!folder.stats.isDirectory()) throw new Fault('not_folder');
  const names = boundedNames(folder, mostEntries);
  const readable = names.filter((name) => isUtf8(name)).sort((a, b) => a.compare(b));
  const entries = readable.flatMap((bytes) => {
    const name = bytes.toString('utf8');
    const stats = lstatSync(folder.at(name), { throwIfNoEntry: false });
    return stats === undefined ? [] : [entryOf(name, stats)];
  });
  return { entries, unreadable: names.length - readable.length };
}

/** A folder filled by somebody hostile is given up on before it fills memory. */
function boundedNames(folder: Held, mostEntries: number): Buffer[] {
  const names: Buffer[] = [];
  for (const name of namesIn(folder)) {
    if (names.length === mostEntries) throw tooMany(mostEntries);
    names.push(name);
  }
  return names;
}

/** The names in a folder as bytes, read piece by piece. */
export function* namesIn(folder: Held): Generator<Buffer, void> {
  for (const { name } of direntsIn(folder)) yield name;
}

/** The same, with the type that the folder tells of each. */
export function* direntsIn(folder: Held): Generator<Dirent<Buffer>, void> {
  // Node's types know Buffer names of readdir only.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 1024 };
  using reader = opendirSync(folder.at('.'), options);
  for (let next = reader.readSync(); next !== null; next = reader.readSync())
    yield next as unknown as Dirent<Buffer>;
}

function tooMany(mostEntries: number): WorkcrateError {
  return new WorkcrateError('too_large', `The folder holds more than ${mostEntries} entries.`, {
    details: { limit: mostEntries },
  });
}

function typeOf(stats: Stats): Entry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
