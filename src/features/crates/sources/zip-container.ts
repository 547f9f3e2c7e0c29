import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { startTimeSlices } from '../../../platform/concurrency/yield.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { OpenSourceObject, Source } from '../../../ports/storage/source.ts';
import { fillBuffer } from '../../../platform/streams.ts';
import {
  maxZipDirectoryBytes,
  readMember,
  readZipDirectory,
  findStoredRange,
  type ZipDirectory,
  type ZipMember,
} from '../../../platform/zip/unzip.ts';
import type { CrateIssue } from '../crate.ts';
import type { CrateContainer, CrateFile, CrateFileReadOptions, StoredFileRange } from './container.ts';
import { getFolderPrefix, metadataFileNames } from './discover.ts';
import { createMemoryBudget, type MemoryReservation } from './memory.ts';

/** A crate in a ZIP archive. Only its directory and the requested files are read. */
export async function createZipContainer(
  source: Source,
  object: OpenSourceObject,
  signal?: AbortSignal,
): Promise<CrateContainer> {
  const known = await zipDirectoryCache.of(source, object, signal);
  const { directory, layout } = known;
  const { root, metadata, issues, unsafe } = layout;

  async function* files(signal?: AbortSignal): AsyncGenerator<CrateFile> {
    const slices = startTimeSlices(signal);
    for (const member of directory) {
      if (slices.isOver()) await slices.next();
      signal?.throwIfAborted();
      const file = memberToCrateFile(member, root);
      if (file !== null) yield file;
    }
  }

  const memberOf = (file: CrateFile): ZipMember => directory.at(file.member!);

  async function* read(file: CrateFile, { limit, signal }: CrateFileReadOptions): AsyncGenerator<Uint8Array> {
    const member = memberOf(file);
    if (member.isLink) throw linkInArchiveError(file);
    yield* readMember(object, directory, member, { limit, ...(signal === undefined ? {} : { signal }) });
  }

  async function stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFileRange | null> {
    const member = memberOf(file);
    if (member.isLink || member.isEncrypted) return null;
    const range = await findStoredRange(object, directory, member, signal);
    const { name, stamp } = object.object;
    return range && { object: name, stamp, ...range, crc32: member.crc32 };
  }

  return {
    root,
    issues,
    unsafe,
    files,
    read,
    stored,
    async find(path) {
      const member = directory.find(root + path);
      return member && memberToCrateFile(member, root);
    },
    hasFolder: async (path) => directory.find(`${root}${path}/`)?.isFolder === true,
    async metadata(limit, signal) {
      const file = metadata === null ? null : memberToCrateFile(directory.at(metadata), root);
      if (file === null) throw noMetadataInArchiveError();
      return collectMetadataBytes(
        file.size,
        limit,
        read(file, { limit, ...(signal === undefined ? {} : { signal }) }),
      );
    },
    async [Symbol.asyncDispose]() {
      known[Symbol.dispose]();
      await object[Symbol.asyncDispose]();
    },
  };
}

/** Null if the member is not a file of the crate. */
function memberToCrateFile(member: ZipMember, root: string): CrateFile | null {
  const { path, isFolder, size, compressedSize, modified, index } = member;
  if (path === null || isFolder || !path.startsWith(root)) return null;
  const problem = member.problem ?? describeMemberProblem(member);
  return { path: path.slice(root.length), size, compressedSize, modified, problem, member: index };
}

function describeMemberProblem({ isLink, isDuplicate }: ZipMember): string | null {
  if (isLink) return 'it is a link';
  return isDuplicate ? 'several entries have this name; the first is used' : null;
}

const linkInArchiveError = ({ path }: CrateFile): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    `${JSON.stringify(path)} is a symbolic link in the archive, and links are not followed. Ask for the file that it points to.`,
  );

const noMetadataInArchiveError = (): WorkcrateError =>
  new WorkcrateError(
    'metadata_invalid',
    'There is no ro-crate-metadata.json in the archive, neither at the top nor up to three folders deep.',
  );

/** Where the crate is in an archive. */
export interface ZipCrateLayout {
  readonly root: string;
  /** The index of its metadata member; null if there is none. */
  readonly metadata: number | null;
  readonly issues: readonly CrateIssue[];
  /** How many members have no safe path. */
  readonly unsafe: number;
}

interface CrateRootCandidate {
  readonly path: string;
  readonly member: number;
  readonly depth: number;
  /** Whether it is the payload of a BagIt bag. */
  readonly isPayload: boolean;
}

/** Real crates are at the root, in a folder, or in the `data/` of a bag in a folder. One level more to be safe. */
const maxCrateRootDepth = 3;
/** How many other roots an issue names. */
const maxNamedRivalRoots = 5;

/** Visits all members once. The least deep root is that of the crate; others at its depth are an issue. */
async function findCrateInZip(directory: ZipDirectory, signal?: AbortSignal): Promise<ZipCrateLayout> {
  const roots = new Map<string, CrateRootCandidate>();
  const slices = startTimeSlices(signal);
  let unsafe = 0;
  for (const { path, isFolder, isLink, index } of directory) {
    if (slices.isOver()) await slices.next();
    signal?.throwIfAborted();
    if (path === null) unsafe++;
    else if (!isFolder && !isLink) addRootCandidate(roots, directory, path, index);
  }
  const [first, ...others] = [...roots.values()].sort(compareRootCandidates);
  if (first === undefined) return { root: '', metadata: null, issues: [], unsafe };
  const rivals = others.filter((other) => rankRootCandidate(other) === rankRootCandidate(first));
  return { root: first.path, metadata: first.member, issues: listRivalRootIssues(first, rivals), unsafe };
}

function addRootCandidate(
  roots: Map<string, CrateRootCandidate>,
  directory: ZipDirectory,
  path: string,
  member: number,
): void {
  const folder = getFolderPrefix(path);
  const rank = metadataFileNames.indexOf(path.slice(folder.length));
  const depth = folder.split('/').length - 1;
  if (rank === -1 || depth > maxCrateRootDepth) return;
  // Of two members with the same name the first counts; of both names the newer one.
  if (roots.has(folder) && (rank > 0 || directory.find(path)?.index !== member)) return;
  const isPayload =
    /(?:^|\/)data\/$/.test(folder) && directory.find(`${folder.slice(0, -5)}bagit.txt`) !== null;
  roots.set(folder, { path: folder, member, depth, isPayload });
}

const rankRootCandidate = ({ depth, isPayload }: CrateRootCandidate): number =>
  2 * depth + (isPayload ? 0 : 1);

const compareRootCandidates = (a: CrateRootCandidate, b: CrateRootCandidate): number =>
  rankRootCandidate(a) - rankRootCandidate(b) ||
  a.path.length - b.path.length ||
  Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));

function listRivalRootIssues(first: CrateRootCandidate, rivals: readonly CrateRootCandidate[]): CrateIssue[] {
  if (rivals.length === 0) return [];
  const named = rivals.slice(0, maxNamedRivalRoots).map(({ path }) => JSON.stringify(path));
  const more = rivals.length > maxNamedRivalRoots ? ` and ${rivals.length - maxNamedRivalRoots} more` : '';
  const message =
    `The archive contains ${rivals.length + 1} crates at the same depth. The one used is in ` +
    `${JSON.stringify(first.path)}, not in ${named.join(', ')}${more}.`;
  return [{ code: 'several_roots', message, count: rivals.length + 1 }];
}

interface CachedZipDirectory {
  readonly directory: ZipDirectory;
  readonly layout: ZipCrateLayout;
}

/** In use until it is disposed of. */
export interface ZipDirectoryInUse extends CachedZipDirectory, Disposable {}

interface ZipDirectoryCacheLimits {
  /** The total size of the cache. A larger directory is not cached. */
  readonly keptBytes: number;
  readonly kept: number;
  /** The total size of directories in use at a time, without small ones. */
  readonly usedBytes: number;
  readonly smallBytes: number;
}

const mebibyte = 1024 * 1024;
const defaultZipDirectoryCacheLimits: ZipDirectoryCacheLimits = {
  keptBytes: 64 * mebibyte,
  kept: 64,
  usedBytes: maxZipDirectoryBytes,
  smallBytes: mebibyte,
};

/** Caches directories of archives, so that listing an archive and then reading from it reads the directory once. */
export function createZipDirectoryCache({
  keptBytes,
  kept: mostKept,
  usedBytes,
  smallBytes,
}: ZipDirectoryCacheLimits = defaultZipDirectoryCacheLimits) {
  const memory = createMemoryBudget({
    bytes: usedBytes,
    small: smallBytes,
    mostWaiting: 1000,
    mostMs: 300_000,
  });
  /** Least recently used first. The stamp in the key makes sure that entries are current. */
  const kept = new BoundedMap<string, CachedZipDirectory>({
    mostEntries: mostKept,
    mostWeight: keptBytes,
    weigh: ({ directory }) => directory.heldBytes,
  });
  const keyOf = createSourceKeys();

  async function read(object: OpenSourceObject, signal?: AbortSignal): Promise<ZipDirectoryInUse> {
    using held = new DisposableStack();
    const shares: MemoryReservation[] = [];
    const reserve = async (bytes: number): Promise<void> =>
      void shares.push(held.use(await memory.take(bytes, signal)));
    const directory = await readZipDirectory(object, { reserve, ...(signal && { signal }) });
    for (const share of shares) share.shrinkTo(directory.heldBytes);
    const layout = await findCrateInZip(directory, signal);
    const moved = held.move();
    return { directory, layout, [Symbol.dispose]: () => moved.dispose() };
  }

  /** It may be evicted from the cache while it is in use, so it counts like one that was read. */
  async function used(known: CachedZipDirectory, signal?: AbortSignal): Promise<ZipDirectoryInUse> {
    const share = await memory.take(known.directory.heldBytes, signal);
    return { ...known, [Symbol.dispose]: () => share[Symbol.dispose]() };
  }

  return {
    memory,
    async of(source: Source, object: OpenSourceObject, signal?: AbortSignal): Promise<ZipDirectoryInUse> {
      const key = keyOf(source, object);
      const known = kept.get(key);
      const found = known ? await used(known, signal) : await read(object, signal);
      kept.set(key, { directory: found.directory, layout: found.layout });
      return found;
    },
  };
}

/** Two sources may have the same address but different credentials, so the address is no key. */
function createSourceKeys() {
  const numbers = new WeakMap<Source, number>();
  let last = 0;
  return (source: Source, { object: { stamp, name } }: OpenSourceObject): string => {
    const number = numbers.get(source) ?? ++last;
    numbers.set(source, number);
    return `${number}\0${stamp}\0${name}`;
  };
}

/** One cache for all sources, so that its limits are those of the process. */
const zipDirectoryCache = createZipDirectoryCache();

/** Reads metadata of `size` bytes into memory. */
export async function collectMetadataBytes(
  size: number,
  limit: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (size > limit)
    throw new WorkcrateError(
      'too_large',
      `The metadata of the crate has ${size} bytes, and the limit is ${limit}. Raise --max-metadata.`,
    );
  const whole = Buffer.allocUnsafeSlow(size);
  return whole.subarray(0, await fillBuffer(whole, bytes));
}
