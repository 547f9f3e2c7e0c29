/**
 * Lists and reads the files of a crate, from wherever the crate is, and shares them (`share.ts`). It opens crates with
 * `sources/`; it neither searches for crates nor verifies that metadata and files agree.
 */
import { startTimeSlices } from '../../../platform/concurrency/yield.ts';
import { guessMediaType } from '../../../core/files/files.ts';
import { createGlob } from '../../../platform/text/glob.ts';
import type { Caller } from '../../../core/identity.ts';
import type { LinkTerms, SharedLink } from '../../../core/links/links.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { openCrateContainer, type CrateContainer, type CrateFile } from '../sources/sources.ts';
import { unknownSourceError } from './copies.ts';
import { maxInlineTextBytes } from './inline-text.ts';
import { createCrateSharing, requireCrateFile, type CrateContentsOptions, type OpenCrate } from './share.ts';

export interface CrateFileListing extends CrateListPage {
  readonly locator: string;
  /** How many entries are left out because their names are unsafe. */
  readonly unsafe: number;
}

export type CrateContents = ReturnType<typeof createCrateContents>;

/** Lists, reads and shares the files of crates, without copying the crates. */
export function createCrateContents(options: CrateContentsOptions) {
  async function open(caller: Caller, crateId: string, signal: AbortSignal): Promise<OpenCrate> {
    const place = await options.find(caller, crateId, signal);
    const source = options.sourceOf(place.source);
    if (source === null) throw unknownSourceError(place.source);
    return { place, source, container: await openCrateContainer(source, place, { signal }) };
  }

  return {
    /** Opens the crate itself, for callers that read much of it. */
    open,

    async list(
      caller: Caller,
      crateId: string,
      request: CrateListRequest,
      signal: AbortSignal,
    ): Promise<CrateFileListing> {
      const fits = request.glob === null ? () => true : createGlob(request.glob);
      const { place, container } = await open(caller, crateId, signal);
      await using _held = container;
      const page = await listCratePage(container, fits, request, signal);
      return { locator: place.locator, ...page, unsafe: container.unsafe };
    },

    /** A link to the list of all files that match, a line each, which is stored as long as the link is valid. */
    async linkList(
      caller: Caller,
      crateId: string,
      { glob, toLine }: CrateListExport,
      terms: LinkTerms,
      signal: AbortSignal,
    ): Promise<SharedLink> {
      const fits = glob === null ? () => true : createGlob(glob);
      const { container } = await open(caller, crateId, signal);
      await using _held = container;
      const kept = {
        name: `${crateId}-files.jsonl`,
        mediaType: 'text/plain; charset=utf-8',
        origin: 'crate',
        keepSeconds: terms.ttlSeconds,
      };
      const lines = writeMatchingFiles(container, fits, toLine, signal);
      const { id } = await options.files.add(caller, kept, lines, signal);
      return await options.links.share(caller, id, terms);
    },

    /** A file as text if it is small and text; otherwise only its size and type. */
    async read(caller: Caller, crateId: string, path: string, signal: AbortSignal) {
      const { container } = await open(caller, crateId, signal);
      await using _held = container;
      const file = await requireCrateFile(container, path);
      const described = { size: file.size, mediaType: guessMediaType(path) };
      if (file.size > maxInlineTextBytes) return { ...described, text: null };
      const bytes = await collectBytes(container.read(file, { limit: maxInlineTextBytes, signal }));
      return { ...described, text: decodeCrateText(bytes) };
    },

    /** The size and type of a file. */
    async describe(caller: Caller, crateId: string, path: string, signal: AbortSignal) {
      const { container } = await open(caller, crateId, signal);
      await using _held = container;
      const { size } = await requireCrateFile(container, path);
      return { size, mediaType: guessMediaType(path) };
    },

    /** The verified bytes of a file. */
    async *stream(caller: Caller, crateId: string, path: string, signal: AbortSignal) {
      const { container } = await open(caller, crateId, signal);
      await using _held = container;
      const file = await requireCrateFile(container, path);
      yield* container.read(file, { limit: Number.MAX_SAFE_INTEGER, signal });
    },

    ...createCrateSharing(options, open),

    /** Files of crates as inputs of a run. Each is opened only when it is copied. */
    async inputs(
      caller: Caller,
      wanted: readonly { readonly crateId: string; readonly path: string; readonly name: string }[],
      signal: AbortSignal,
    ) {
      const found = [];
      for (const { crateId, path, name } of wanted) {
        const { container } = await open(caller, crateId, signal);
        await using _held = container;
        const { size } = await requireCrateFile(container, path);
        const origin = { crate_id: crateId, path };
        const read = (until: AbortSignal) => this.stream(caller, crateId, path, until);
        found.push({ name, origin, size, open: read });
      }
      return found;
    },
  };
}

/** Null if the bytes are not text. */
function decodeCrateText(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

export interface CrateListRequest {
  readonly glob: string | null;
  readonly limit: number;
  readonly offset: number;
}

export interface CrateListExport extends Pick<CrateListRequest, 'glob'> {
  /** A file as a line, without a line break. */
  toLine(file: CrateFile): string;
}

export interface CrateListPage {
  /** How many match in all. */
  readonly total: number;
  readonly files: readonly CrateFile[];
  readonly next: number | null;
}

/** A page also ends when it has this size as JSON, since names may have up to 4 KiB. */
const maxListPageBytes = 4 * 1024 * 1024;
/** What JSON adds to each name. */
const jsonBytesPerListedFile = 120;

/** One page of the files that match. All files are visited, since all matches are counted. */
async function listCratePage(
  container: CrateContainer,
  fits: (path: string) => boolean,
  { limit, offset }: Omit<CrateListRequest, 'glob'>,
  signal: AbortSignal,
): Promise<CrateListPage> {
  const files: CrateFile[] = [];
  let [total, bytes, isFull] = [0, 0, false];
  for await (const file of findMatchingFiles(container, fits, signal)) {
    if (total++ < offset || isFull) continue;
    bytes += jsonBytesPerListedFile + Buffer.byteLength(JSON.stringify(file.path));
    isFull = files.length >= limit || (bytes > maxListPageBytes && files.length > 0);
    if (!isFull) files.push(file);
  }
  const next = offset + files.length < total && files.length > 0 ? offset + files.length : null;
  return { total, files, next };
}

/** Lines are written many at a time. */
const listChunkCharacters = 64 * 1024;

async function* writeMatchingFiles(
  container: CrateContainer,
  fits: (path: string) => boolean,
  toLine: CrateListExport['toLine'],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let text = '';
  for await (const file of findMatchingFiles(container, fits, signal)) {
    text += `${toLine(file)}\n`;
    if (text.length < listChunkCharacters) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

/** Others have their turn meanwhile: patterns can be costly, and files many. */
async function* findMatchingFiles(
  container: CrateContainer,
  fits: (path: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<CrateFile> {
  const slices = startTimeSlices(signal);
  for await (const file of container.files(signal)) {
    if (slices.isOver()) await slices.next();
    signal.throwIfAborted();
    if (fits(file.path)) yield file;
  }
}
