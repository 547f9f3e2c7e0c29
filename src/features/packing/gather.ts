import { Readable } from 'node:stream';
import { WorkcrateError } from '../../platform/errors.ts';
import {
  computeDigest,
  fileDamagedError,
  guessMediaType,
  type Files,
  type StoredFile,
} from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import type { ArchiveMember } from '../crates/contents/archive.ts';
import type { ChainStep } from './chain.ts';
import {
  createMemberNaming,
  type FileOfRun,
  type FileOrigin,
  type MemberNaming,
  type MissingFile,
  type PackedFile,
} from './packed.ts';
import type { KeptBytes, RecordedBytes } from './recorded-bytes.ts';

/** What was collected for a crate so far. */
export interface PackCollector {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  /** What was kept of the runs' results. */
  readonly kept: KeptBytes;
  readonly workspace: Workspace | null;
  readonly signal: AbortSignal;
  /** The time of packing, for files that are made for the crate. */
  readonly now: number;
  readonly naming: MemberNaming;
  /** What the archive will hold, in this order. */
  readonly members: ArchiveMember[];
  /** Files of runs that can be those of later runs too. */
  readonly shared: SharedFiles;
  /** Notes for the caller: what is left out, and why. */
  readonly notes: string[];
  /** What is described without its bytes, by run and reason. */
  readonly missing: Map<string, MissingGroup>;
}

interface MissingGroup {
  readonly title: string;
  readonly reason: string;
  readonly names: string[];
}

export type PackCollectorOptions = Pick<
  PackCollector,
  'files' | 'kept' | 'caller' | 'workspace' | 'signal' | 'now'
>;

export function createPackCollector(options: PackCollectorOptions): PackCollector {
  return {
    ...options,
    naming: createMemberNaming(),
    members: [],
    shared: createSharedFiles(),
    notes: [],
    missing: new Map(),
  };
}

/**
 * The files of runs by path and hash, so that one step's result is the same entity as the next one's input. A copy that
 * a run got under its own path is found by name and hash; it then has both paths.
 */
function createSharedFiles() {
  const byPath = new Map<string, SharedFile>();
  const byName = new Map<string, SharedFile>();
  const toKey = (name: string, sha256: string): string => `${sha256} ${name}`;
  const getName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  return {
    /** The file with exactly this path inside. */
    findByPath: (path: string, sha256: string): FileOfRun | null =>
      byPath.get(toKey(path, sha256))?.file ?? null,

    /** The file with this path, else one with its name, which from now on has this path too. */
    findCopy(path: string, sha256: string): FileOfRun | null {
      const found = byPath.get(toKey(path, sha256)) ?? byName.get(toKey(getName(path), sha256));
      if (found === undefined) return null;
      if (!found.paths.includes(path)) found.paths.push(path);
      byPath.set(toKey(path, sha256), found);
      return found.file;
    },

    /** `paths` are the names of the file, of which there may be more later. */
    add(file: FileOfRun, paths: string[], sha256: string): void {
      const shared = { file, paths };
      byPath.set(toKey(paths[0]!, sha256), shared);
      const name = toKey(getName(paths[0]!), sha256);
      if (!byName.has(name)) byName.set(name, shared);
    },
  };
}

interface SharedFile {
  readonly file: FileOfRun;
  readonly paths: string[];
}

export type SharedFiles = ReturnType<typeof createSharedFiles>;

/** How a file is named and described in the crate. */
export interface PackedFileLabels {
  readonly folder: string;
  readonly name: string;
  readonly knownAs: readonly string[];
  readonly description: string;
  readonly origin?: FileOrigin | null;
}

/** Adds a stored file, whose digest is known. Null if its bytes are gone. */
export async function addStoredFile(
  collector: PackCollector,
  stored: StoredFile,
  labels: PackedFileLabels,
): Promise<PackedFile | null> {
  const { files } = collector;
  await using object = await files.open(stored);
  if (object === null) return null;
  const { size, sha256, crc32, createdAt: modified, mediaType } = stored;
  return addMember(collector, labels, mediaType, {
    size,
    sha256,
    crc32,
    modified,
    read: (signal) => readStoredFileToPack(files, stored, signal),
    // Stored files are never changed, so another digest means damage.
    mismatch: () => fileDamagedError(stored),
  });
}

async function* readStoredFileToPack(
  files: Pick<Files, 'open'>,
  stored: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using object = await files.open(stored);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
  yield* object.read(0, object.size, signal);
}

/** Adds bytes that were found by a recorded hash. */
export function addRecordedBytes(
  collector: PackCollector,
  labels: PackedFileLabels,
  { modified, ...bytes }: RecordedBytes,
): PackedFile {
  const member = { ...bytes, modified: modified ?? collector.now };
  return { ...addMember(collector, labels, guessMediaType(labels.name), member), modified };
}

/** What is known of a file of a run, which is all that the record has of it. */
export interface MissingFileLabels extends PackedFileLabels {
  readonly size: number | null;
  readonly sha256: string | null;
}

/** Describes a file of which the crate has no bytes, and says why, to readers of the crate and to the caller. */
export function describeMissingFile(
  { naming, missing }: PackCollector,
  { title }: Pick<ChainStep, 'title'>,
  labels: MissingFileLabels,
  reason: string,
): MissingFile {
  const { folder, name, knownAs, description, origin = null, size, sha256 } = labels;
  const key = `${title}\n${reason}`;
  const group = missing.get(key) ?? { title, reason, names: [] };
  group.names.push(name);
  missing.set(key, group);
  return { path: naming(folder, name), knownAs, description, size, sha256, origin, missing: reason };
}

const maxNamedMissing = 5;
const maxQuotedName = 200;

/** One sentence for each run and reason. */
export function listMissingNotes({ missing }: PackCollector): string[] {
  return [...missing.values()].map(({ title, reason, names }) => {
    const few = names.slice(0, maxNamedMissing).map(quotePackedName).join(', ');
    const more = names.length > maxNamedMissing ? ` and ${names.length - maxNamedMissing} more` : '';
    return `Described, but not in the crate: ${few}${more} of ${title}: ${reason}.`;
  });
}

/** Quoted, so that a file name cannot imitate a note. */
const quotePackedName = (name: string): string =>
  JSON.stringify(name.length > maxQuotedName ? `${name.slice(0, maxQuotedName).toWellFormed()}…` : name);

/** Adds a text file that is made for the crate. */
export async function addTextFile(
  collector: PackCollector,
  text: string,
  mediaType: string,
  labels: PackedFileLabels,
): Promise<PackedFile> {
  const member = await createTextMember('', text, collector.now);
  return { ...addMember(collector, labels, mediaType, member), modified: null };
}

export async function createTextMember(path: string, text: string, modified: number): Promise<ArchiveMember> {
  const bytes = Buffer.from(text);
  const read = () => Readable.from(bytes.length === 0 ? [] : [bytes]);
  return { path, modified, read, ...(await computeDigest(read())) };
}

function addMember(
  { naming, members }: PackCollector,
  labels: PackedFileLabels,
  mediaType: string,
  member: Omit<ArchiveMember, 'path'>,
): PackedFile {
  const path = naming(labels.folder, labels.name);
  members.push({ ...member, path });
  const { size, sha256, modified } = member;
  const { knownAs, description, origin = null } = labels;
  return { path, knownAs, description, size, sha256, mediaType, modified, origin };
}
