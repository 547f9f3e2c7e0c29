import { WorkcrateError } from '../../errors.ts';
import type { OpenSourceObject, Source } from '../../storage/source.ts';
import { startTimeSlices } from '../../concurrency/yield.ts';
import { readMember, storedRange, type ZipMember } from '../../unzip/unzip.ts';
import type { CrateContainer, CrateFile, ReadingFile, StoredFile } from './contents.ts';
import { directories } from './directories.ts';
import { gathered } from './gathered.ts';

/** A crate in an archive, of which nothing is read but its directory and what is asked for. */
export async function zipContainer(
  source: Source,
  object: OpenSourceObject,
  signal?: AbortSignal,
): Promise<CrateContainer> {
  const known = await directories.of(source, object, signal);
  const { directory, layout } = known;
  const { root, metadata, issues, unsafe } = layout;

  async function* files(signal?: AbortSignal): AsyncGenerator<CrateFile> {
    const slices = startTimeSlices(signal);
    for (const member of directory) {
      if (slices.isOver()) await slices.next();
      signal?.throwIfAborted();
      const file = fileOf(member, root);
      if (file !== null) yield file;
    }
  }

  const memberOf = (file: CrateFile): ZipMember => directory.at(file.member!);

  async function* read(file: CrateFile, { limit, signal }: ReadingFile): AsyncGenerator<Uint8Array> {
    const member = memberOf(file);
    if (member.isLink) throw linked(file);
    yield* readMember(object, directory, member, { limit, ...(signal === undefined ? {} : { signal }) });
  }

  async function stored(file: CrateFile, signal?: AbortSignal): Promise<StoredFile | null> {
    const member = memberOf(file);
    if (member.isLink || member.isEncrypted) return null;
    const range = await storedRange(object, directory, member, signal);
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
      return member && fileOf(member, root);
    },
    async metadata(limit, signal) {
      const file = metadata === null ? null : fileOf(directory.at(metadata), root);
      if (file === null) throw nowhere();
      return gathered(file.size, limit, read(file, { limit, ...(signal === undefined ? {} : { signal }) }));
    },
    async [Symbol.asyncDispose]() {
      known[Symbol.dispose]();
      await object[Symbol.asyncDispose]();
    },
  };
}

/** Null for what is no file of the crate. */
function fileOf(member: ZipMember, root: string): CrateFile | null {
  const { path, isFolder, size, compressedSize, modified, index } = member;
  if (path === null || isFolder || !path.startsWith(root)) return null;
  const problem = member.problem ?? oddity(member);
  return { path: path.slice(root.length), size, compressedSize, modified, problem, member: index };
}

function oddity({ isLink, isDuplicate }: ZipMember): string | null {
  if (isLink) return 'it is a link';
  return isDuplicate ? 'several entries have this name, of which the first is taken' : null;
}

const linked = ({ path }: CrateFile): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    `${JSON.stringify(path)} is a link in the archive, which is not followed. Ask for the file that it leads to.`,
  );

const nowhere = (): WorkcrateError =>
  new WorkcrateError(
    'metadata_invalid',
    'There is no ro-crate-metadata.json in the archive, not three folders deep either.',
  );
