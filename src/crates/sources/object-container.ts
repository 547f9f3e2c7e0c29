import {
  crateChanged,
  crateGone,
  isSourceName,
  type OpenSourceObject,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../../storage/source.ts';
import { WorkcrateError } from '../../errors.ts';
import { isShortPath } from '../../unzip/unzip.ts';
import type { CrateContainer, CrateFile, ReadingFile, StoredFile } from './contents.ts';
import { gathered } from './gathered.ts';
import { folderOf } from './place.ts';

/** A crate whose files are objects of their own: a folder of them, or metadata that describe what is elsewhere. */
export function objectContainer(
  source: Source,
  kind: 'folder' | 'detached',
  metadata: OpenSourceObject,
): CrateContainer {
  const { name, size } = metadata.object;
  const folder = folderOf(name);
  let unsafe = 0;

  async function* files(signal?: AbortSignal): AsyncGenerator<CrateFile> {
    unsafe = 0;
    if (kind === 'detached') return yield fileOf(metadata.object, folder);
    for await (const object of objectsBelow(source, folder, signal)) {
      const path = object.name.slice(folder.length);
      if (isHidden(path)) continue;
      if (isSafe(path)) yield fileOf(object, folder);
      else unsafe++;
    }
  }

  async function find(path: string, signal?: AbortSignal): Promise<CrateFile | null> {
    const object = folder + path;
    if (!isSourceName(path) || isHidden(path) || !isSafe(path)) return null;
    if (kind === 'detached' && object !== name) return null;
    const found = await source.stat(object, signal);
    return found && fileOf(found, folder);
  }

  async function* read(file: CrateFile, { limit, signal }: ReadingFile): AsyncGenerator<Uint8Array> {
    if (file.size > limit) throw tooLarge(file, limit);
    const object = folder + file.path;
    await using open = await source.open(object, signal);
    if (open === null) throw crateGone(source.url, object);
    if (!isSame(open.object, file)) throw crateChanged(source.url, object);
    yield* open.read(0, open.size, signal);
  }

  async function stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFile | null> {
    const found = await source.stat(folder + file.path, signal);
    if (found === null) throw crateGone(source.url, folder + file.path);
    if (!isSame(found, file)) throw crateChanged(source.url, found.name);
    return { object: found.name, stamp: found.stamp, start: 0, end: found.size, crc32: null };
  }

  return {
    root: '',
    issues: [],
    get unsafe() {
      return unsafe;
    },
    files,
    find,
    read,
    stored,
    // Read from what was opened, and so of the stamp that was asked for.
    metadata: (limit, signal) => gathered(size, limit, metadata.read(0, size, signal)),
    [Symbol.asyncDispose]: () => metadata[Symbol.asyncDispose](),
  };
}

async function* objectsBelow(
  source: Source,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<SourceObject> {
  for (let after: string | null | undefined; after !== null;) {
    const page: SourcePage = await source.list({
      prefix,
      ...(after === undefined ? {} : { after }),
      ...(signal === undefined ? {} : { signal }),
    });
    yield* page.objects;
    after = page.next;
  }
}

const fileOf = ({ name, size, modified }: SourceObject, folder: string): CrateFile => ({
  path: name.slice(folder.length),
  size,
  compressedSize: size,
  modified,
  problem: null,
  member: null,
});

const isSame = (object: SourceObject, file: CrateFile): boolean =>
  object.size === file.size && object.modified === file.modified;

const isHidden = (path: string): boolean => path.split('/').some((part) => part.startsWith('.'));

/** Names that are no paths elsewhere, or that a terminal would not show as they are. */
const isSafe = (path: string): boolean =>
  // oxlint-disable-next-line no-control-regex
  isShortPath(path) && !/[\u0000-\u001f\u007f-\u009f\\]|^[a-z]:/i.test(path);

const tooLarge = ({ path, size }: CrateFile, limit: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${JSON.stringify(path)} has ${size} bytes, and the limit is ${limit}. Ask for a link to it instead.`,
  );
