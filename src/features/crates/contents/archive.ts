/**
 * A ZIP of stored (uncompressed) members, streamed while they are read, each verified by its sha256. It writes no
 * metadata and does not know what a crate is; the layout of the bytes is from `platform/zip/`.
 */
import { createHash } from 'node:crypto';
import { WorkcrateError } from '../../../platform/errors.ts';
import { digestWhileReading, type Digest } from '../../../core/files/files.ts';
import { createZipLayout } from '../../../platform/zip/zip.ts';

/** A file of the archive to be. Its digest is known in advance; it is read when its turn comes. */
export interface ArchiveMember extends Digest {
  readonly path: string;
  readonly modified: number;
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The error if its bytes differ; by default, that it was changed meanwhile. */
  mismatch?(): WorkcrateError;
}

export interface CrateArchive {
  readonly size: number;
  /** The archive itself, once. Rejects if a file differs from its digest: `crate_changed`, or `file_damaged`. */
  bytes(signal: AbortSignal, progress: (done: number) => void): AsyncIterable<Uint8Array>;
  /** Of what `bytes` has given; call it when that has ended. */
  sha256(): string;
}

/** A ZIP of uncompressed files, streamed while they are read: no copy is made, and each member is a range of it. */
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

/** The bytes of a member; fails if they are not as many as announced, or if their hash differs. */
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
    `${JSON.stringify(path.slice(0, 200))} changed while it was being packed, so no crate was made. Pack again when no run is writing to it.`,
  );
}
