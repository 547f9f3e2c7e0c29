import { WorkcrateError } from '../../errors.ts';
import { cleanFilename } from '../../filenames.ts';
import { digestOf, mediaTypeOf } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import type { LinkTerms, SharedLink } from '../../links/links.ts';
import { zipLayout } from '../../zip/zip.ts';
import { lastingName, type Source } from '../../storage/source.ts';
import type { CratePlace } from '../crate.ts';
import { archiveOf, type Member } from '../pack/archive.ts';
import type { CrateContainer, CrateFile } from '../sources/sources.ts';
import type { DigestRange } from './digest-range.ts';
import type { InsideOptions } from './opened.ts';
import type { Reference } from './reference.ts';

export interface WatchingPack {
  readonly signal: AbortSignal;
  report(done: number, total: number | null): void;
}

interface Wanted {
  readonly caller: Caller;
  readonly place: CratePlace;
  readonly source: Source;
  readonly container: CrateContainer;
  readonly terms: LinkTerms;
  readonly sha256: string | null;
}

/** An archive, or metadata alone, is linked to as it stands; a folder is packed as a file of the caller's first. */
export async function wholeCrate(
  options: InsideOptions & { readonly digestRange: DigestRange },
  wanted: Wanted,
  watching: WatchingPack,
): Promise<SharedLink<string | null>> {
  const { caller, place, terms } = wanted;
  if (place.kind === 'folder') return packedFolder(options, wanted, watching);
  const { object, stamp, size: end, modified } = place;
  const source = lastingName(wanted.source);
  const range = { object, stamp, start: 0, end };
  const sha256 = wanted.sha256 ?? (await options.digestRange(wanted.source, range, watching.signal));
  const filename = cleanFilename(object.slice(object.lastIndexOf('/') + 1));
  const described = { filename, mediaType: mediaTypeOf(filename), crc32: null, sha256 };
  const reference: Reference = { source, ...range, modified, ...described };
  return options.links.shareElsewhere(caller, JSON.stringify(reference), terms);
}

/** Each file is read twice: an archive says what is in it before it says it. None is before there is room for all. */
async function packedFolder(
  { files, links }: InsideOptions,
  { caller, place, container, terms }: Wanted,
  { signal, report }: WatchingPack,
): Promise<SharedLink> {
  const listed = await filesToPack(container, files.maxFileSize, signal);
  await files.demandRoom(caller, sizeAsArchive(listed));
  const members: Member[] = [];
  for (const file of listed) {
    const read = (until: AbortSignal) => container.read(file, { limit: file.size, signal: until });
    const digest = await digestOf(read(signal));
    members.push({ ...digest, path: file.path, modified: file.modified ?? place.modified, read });
    report(members.length, listed.length);
  }
  const archive = archiveOf(members);
  const name = `${place.locator.replace(/\/+$/, '').split('/').at(-1) || 'crate'}.zip`;
  const kept = { name, mediaType: 'application/zip', origin: 'crate', keepSeconds: terms.ttlSeconds };
  const { id } = await files.add(
    caller,
    kept,
    archive.bytes(signal, () => {}),
    signal,
  );
  return links.share(caller, id, terms);
}

const mostFiles = 100_000;

async function filesToPack(
  container: CrateContainer,
  mostBytes: number,
  signal: AbortSignal,
): Promise<CrateFile[]> {
  const listed: CrateFile[] = [];
  let bytes = 0;
  for await (const file of container.files(signal)) {
    signal.throwIfAborted();
    bytes += file.size;
    listed.push(file);
    if (listed.length > mostFiles) throw wholeTooLargeError(`has more than ${mostFiles} files`);
    if (bytes > mostBytes) throw wholeTooLargeError(`takes more than ${mostBytes} bytes`);
  }
  return listed;
}

const sizeAsArchive = (listed: readonly CrateFile[]): number =>
  zipLayout(
    listed.map(({ path: name, size, modified }) => ({ name, size, crc32: 0, modified: modified ?? 0 })),
  ).size;

const wholeTooLargeError = (what: string): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `This crate is a folder that ${what}, and so is not packed into one archive. Take its files one by one: list_crate_files, then link_crate_file.`,
  );
