import { Readable } from 'node:stream';
import { WorkcrateError } from '../../errors.ts';
import { digestOf, fileDamaged, mediaTypeOf, type Files, type StoredFile } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { Place } from '../../sandbox/sandbox.ts';
import type { Member } from './archive.ts';
import { createNaming, type Naming } from './names.ts';
import type { Origin, PackedFile } from './packed.ts';
import { readAgain, type Measured, type PlaceFile } from './place-files.ts';

/** What a crate is put together from, while that goes on. */
export interface Gathering {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly place: Place | null;
  readonly signal: AbortSignal;
  /** When it is packed, for files that are made for the crate. */
  readonly now: number;
  readonly naming: Naming;
  /** What the archive will hold, in this order. */
  readonly members: Member[];
  /** What the caller should know: what is left out, and why. */
  readonly notes: string[];
}

export type GatheringOptions = Pick<Gathering, 'files' | 'caller' | 'place' | 'signal' | 'now'>;

export function startGathering(options: GatheringOptions): Gathering {
  return { ...options, naming: createNaming(), members: [], notes: [] };
}

/** As which executions keep NUL, since no database takes that. */
export const nulSign = '\u2400';

/** How a file is to be named and described. */
export interface Labels {
  readonly folder: string;
  readonly name: string;
  readonly knownAs: string | null;
  readonly description: string;
  readonly origin?: Origin | null;
}

/** A file of the store, whose digest is known. Null where its bytes are gone. */
export async function addStored(
  gathering: Gathering,
  stored: StoredFile,
  labels: Labels,
): Promise<PackedFile | null> {
  const { files } = gathering;
  await using object = await files.open(stored);
  if (object === null) return null;
  const { size, sha256, crc32, createdAt: modified, mediaType } = stored;
  return add(gathering, labels, mediaType, {
    size,
    sha256,
    crc32,
    modified,
    read: (signal) => readStored(files, stored, signal),
    // Nothing writes to a stored file.
    mismatch: () => fileDamaged(stored),
  });
}

async function* readStored(
  files: Pick<Files, 'open'>,
  stored: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using object = await files.open(stored);
  if (object === null)
    throw new WorkcrateError('bytes_gone', `The bytes of ${stored.name} are gone. Pack without it.`);
  yield* object.read(0, object.size, signal);
}

/** A file of the user's place that has been measured. */
export function addFromPlace(
  gathering: Gathering,
  file: PlaceFile,
  measured: Measured,
  labels: Labels,
): PackedFile {
  const read = (signal: AbortSignal) => readAgain(file, signal);
  return add(gathering, labels, mediaTypeOf(labels.name), { ...measured, read });
}

/** Text that is made for the crate. */
export async function addText(
  gathering: Gathering,
  text: string,
  mediaType: string,
  labels: Labels,
): Promise<PackedFile> {
  const member = await textMember('', text, gathering.now);
  return { ...add(gathering, labels, mediaType, member), modified: null };
}

export async function textMember(path: string, text: string, modified: number): Promise<Member> {
  const bytes = Buffer.from(text);
  const read = () => Readable.from(bytes.length === 0 ? [] : [bytes]);
  return { path, modified, read, ...(await digestOf(read())) };
}

function add(
  { naming, members }: Gathering,
  labels: Labels,
  mediaType: string,
  member: Omit<Member, 'path'>,
): PackedFile {
  const path = naming(labels.folder, labels.name);
  members.push({ ...member, path });
  const { size, sha256, modified } = member;
  const { knownAs, description, origin = null } = labels;
  return { path, knownAs, description, size, sha256, mediaType, modified, origin };
}
