import type { OpenSourceObject, Source } from '../../storage/source.ts';
import { readZipDirectory, type ZipDirectory } from '../zip/zip.ts';
import { layoutOf, type Layout } from './zip-layout.ts';

interface Known {
  readonly directory: ZipDirectory;
  readonly layout: Layout;
}

/** Of some 150 bytes each. */
const mostMembers = 1_000_000;
const mostDirectories = 64;

/** Those read last, for each source as long as it is there. The stamp in the key is what keeps them right. */
const known = new WeakMap<Source, Map<string, Known>>();

/** What an archive holds: to list it and then to read from it takes its directory once. */
export async function directoryOf(
  source: Source,
  object: OpenSourceObject,
  signal?: AbortSignal,
): Promise<Known> {
  const kept = known.get(source) ?? new Map<string, Known>();
  known.set(source, kept);
  const { name, stamp } = object.object;
  const key = `${stamp}\0${name}`;
  const found = kept.get(key) ?? (await read(object, signal));
  kept.delete(key);
  if (found.directory.length <= mostMembers) kept.set(key, found);
  dropOldest(kept);
  return found;
}

async function read(object: OpenSourceObject, signal?: AbortSignal): Promise<Known> {
  const directory = await readZipDirectory(object, signal === undefined ? {} : { signal });
  return { directory, layout: await layoutOf(directory, signal) };
}

function dropOldest(kept: Map<string, Known>): void {
  let members = kept.values().reduce((sum, { directory }) => sum + directory.length, 0);
  for (const [key, { directory }] of kept) {
    if (members <= mostMembers && kept.size <= mostDirectories) return;
    kept.delete(key);
    members -= directory.length;
  }
}
