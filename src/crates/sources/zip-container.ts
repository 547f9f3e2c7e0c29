import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { startTimeSlices } from '../../concurrency/yield.ts';
import { WorkcrateError } from '../../errors.ts';
import type { OpenSourceObject, Source } from '../../storage/source.ts';
import { fillBuffer } from '../../streams.ts';
import {
  MOST_DIRECTORY_BYTES,
  readMember,
  readZipDirectory,
  findStoredRange,
  type ZipDirectory,
  type ZipMember,
} from '../../zip/unzip.ts';
import type { CrateIssue } from '../crate.ts';
import type { CrateContainer, CrateFile, CrateFileReadOptions, StoredFileRange } from './container.ts';
import { getFolderPrefix, metadataFileNames } from './discover.ts';
import { createMemoryBudget, type MemoryReservation } from './memory.ts';

/** A crate in an archive, of which nothing is read but its directory and what is asked for. */
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

/** Null for what is no file of the crate. */
function memberToCrateFile(member: ZipMember, root: string): CrateFile | null {
  const { path, isFolder, size, compressedSize, modified, index } = member;
  if (path === null || isFolder || !path.startsWith(root)) return null;
  const problem = member.problem ?? describeMemberProblem(member);
  return { path: path.slice(root.length), size, compressedSize, modified, problem, member: index };
}

function describeMemberProblem({ isLink, isDuplicate }: ZipMember): string | null {
  if (isLink) return 'it is a link';
  return isDuplicate ? 'several entries have this name, of which the first is taken' : null;
}

const linkInArchiveError = ({ path }: CrateFile): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    `${JSON.stringify(path)} is a link in the archive, which is not followed. Ask for the file that it leads to.`,
  );

const noMetadataInArchiveError = (): WorkcrateError =>
  new WorkcrateError(
    'metadata_invalid',
    'There is no ro-crate-metadata.json in the archive, not three folders deep either.',
  );

/** Where in an archive the crate is. */
export interface ZipCrateLayout {
  readonly root: string;
  /** Which member its metadata is; null where there is none. */
  readonly metadata: number | null;
  readonly issues: readonly CrateIssue[];
  /** How many members have no safe path. */
  readonly unsafe: number;
}

interface CrateRootCandidate {
  readonly path: string;
  readonly member: number;
  readonly depth: number;
  /** Whether it is what a BagIt bag is about. */
  readonly isPayload: boolean;
}

/** As crates are met: at the root, in one folder, in the `data/` of a bag in a folder; and one more for good measure. */
const maxCrateRootDepth = 3;
/** How many of several are named. */
const maxNamedRivalRoots = 5;

/** Looks at all members once. The root that lies least deep is the crate's; of several, the rest is an issue. */
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
  // Of two of one name the first counts; of two names the newer.
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
    `The archive holds ${rivals.length + 1} crates that lie equally deep. Taken is the one in ` +
    `${JSON.stringify(first.path)}, and not ${named.join(', ')}${more}.`;
  return [{ code: 'several_roots', message, count: rivals.length + 1 }];
}

interface CachedZipDirectory {
  readonly directory: ZipDirectory;
  readonly layout: ZipCrateLayout;
}

/** In use until it is disposed. */
export interface ZipDirectoryInUse extends CachedZipDirectory, Disposable {}

interface ZipDirectoryCacheLimits {
  /** Of all that are kept for the next time. A larger one is not kept at all. */
  readonly keptBytes: number;
  readonly kept: number;
  /** Of those that are read and in use at a time, beside the small ones. */
  readonly usedBytes: number;
  readonly smallBytes: number;
}

const mebibyte = 1024 * 1024;
const defaultZipDirectoryCacheLimits: ZipDirectoryCacheLimits = {
  keptBytes: 64 * mebibyte,
  kept: 64,
  usedBytes: MOST_DIRECTORY_BYTES,
  smallBytes: mebibyte,
};

/** What archives hold: to list one and then to read from it takes its directory once. */
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
  /** Those used last, at the end. The stamp in the key is what keeps them right. */
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

  /** It may be dropped from what is kept while it is in use, and so is counted like one that was read. */
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

/** Two sources may have the same address, and yet be reached by different credentials. */
function createSourceKeys() {
  const numbers = new WeakMap<Source, number>();
  let last = 0;
  return (source: Source, { object: { stamp, name } }: OpenSourceObject): string => {
    const number = numbers.get(source) ?? ++last;
    numbers.set(source, number);
    return `${number}\0${stamp}\0${name}`;
  };
}

/** One for all, so that what is bounded is what this process holds. */
const zipDirectoryCache = createZipDirectoryCache();

/** All bytes of metadata, in memory; `size` of them are to come. */
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
