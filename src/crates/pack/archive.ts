/**
 * A ZIP of stored (uncompressed) members, streamed while they are read, each verified by its sha256. It writes no
 * metadata and does not know what a crate is; the layout of the bytes is from `zip/`.
 */
import { createHash } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import { digestWhileReading, type Digest } from '../../files/files.ts';
import { createZipLayout } from '../../zip/zip.ts';

/** A file of the archive to be: known to the byte, and read when its turn comes. */
export interface ArchiveMember extends Digest {
  readonly path: string;
  readonly modified: number;
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** What it means that its bytes are others; by default, that it was changed meanwhile. */
  mismatch?(): WorkcrateError;
}

export interface CrateArchive {
  readonly size: number;
  /** The archive itself, once. Rejects where a file is not what it was: `crate_changed`, or `file_damaged`. */
  bytes(signal: AbortSignal, progress: (done: number) => void): AsyncIterable<Uint8Array>;
  /** Of what `bytes` has given; ask when it is at its end. */
  sha256(): string;
}

/** A ZIP of stored files, written while they are read: there is no copy, and any member can be had by its range. */
export function createArchive(members: readonly ArchiveMember[]): CrateArchive {
  const entries = members.map(({ path: name, size, crc32, modified }) => ({ name, size, crc32, modified }));
  const layout = createZipLayout(entries);
  const hash = createHash('sha256');

  async function* pieces(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const part of layout.parts(0, layout.size)) {
      if ('bytes' in part) yield part.bytes;
      else yield* readVerifiedMember(members[part.entry]!, signal);
    }
  }

  return {
    size: layout.size,
    async *bytes(signal, progress) {
      let done = 0;
      for await (const piece of pieces(signal)) {
        signal.throwIfAborted();
        hash.update(piece);
        done += piece.length;
        yield piece;
        progress(done);
      }
    },
    sha256: () => hash.digest('hex'),
  };
}

/** The bytes of a member, as many as were announced, and at the end the proof that they are those. */
async function* readVerifiedMember(member: ArchiveMember, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const through = digestWhileReading(member.read(signal));
  let left = member.size;
  for await (const chunk of through.bytes) {
    if (chunk.length > left) throw memberMismatchError(member);
    left -= chunk.length;
    yield chunk;
  }
  if (left > 0 || through.digest().sha256 !== member.sha256) throw memberMismatchError(member);
}

const memberMismatchError = (member: ArchiveMember): WorkcrateError =>
  member.mismatch?.() ?? fileChangedWhilePackingError(member.path);

export function fileChangedWhilePackingError(path: string): WorkcrateError {
  return new WorkcrateError(
    'crate_changed',
    `${JSON.stringify(path.slice(0, 200))} changed while it was packed, so nothing was. Pack again when no run writes to it.`,
  );
}
