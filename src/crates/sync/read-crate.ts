import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { CratePlace, ReadCrate } from '../crate.ts';
import { readMetadata } from '../metadata/metadata.ts';
import type { Source } from '../../storage/source.ts';
import { openContainer, type CrateContainer } from '../sources/sources.ts';

/** The most file names of one crate that can be searched for, and the most characters of them. */
const mostNames = 200_000;
const mostOfNames = 16_000_000;

export interface ReadingOptions {
  /** The largest metadata file that is read, in bytes. */
  readonly maxMetadata: number;
  readonly signal: AbortSignal;
}

/** Reads what the index holds of a crate: its metadata, and the names of what is in it. */
export async function readCrate(
  source: Source,
  place: CratePlace,
  options: ReadingOptions,
): Promise<ReadCrate> {
  await using container = await openContainer(source, place, options);
  const metadata = readMetadata(await metadataIn(container, options));
  const files: string[] = [];
  let [fileCount, bytes, length] = [0, 0, 0];
  for await (const { path, size } of container.files(options.signal)) {
    fileCount++;
    bytes += size;
    length += path.length;
    if (files.length < mostNames && length <= mostOfNames) files.push(path);
  }
  const issues = [...metadata.issues, ...container.issues];
  const known = Number.isSafeInteger(bytes) ? bytes : null;
  return { place, root: container.root, metadata: { ...metadata, issues }, files, fileCount, bytes: known };
}

async function metadataIn(
  container: CrateContainer,
  { maxMetadata, signal }: ReadingOptions,
): Promise<Uint8Array> {
  try {
    return await container.metadata(maxMetadata, signal);
  } catch (error) {
    if (!isWorkcrateError(error, 'metadata_invalid')) throw error;
    throw new WorkcrateError(error.code, error.message, { details: absent });
  }
}

const absent = { kind: 'absent' };

/** Whether there are no metadata at all, which is another thing than bad ones. */
export const lacksMetadata = (error: unknown): boolean =>
  isWorkcrateError(error, 'metadata_invalid') && error.details['kind'] === absent.kind;
