import { WorkcrateError } from '../errors.ts';
import type { Belongings } from './belongings.ts';
import type { Picture } from './document.ts';
import { pictureKind } from './picture-kind.ts';
import { pictureSize } from './picture-size.ts';
import { judgeSvg } from './syntax/svg.ts';

/** Where pictures of the caller's are had from; both say null where there is no such thing. */
export type PictureSources = Belongings;

export interface PictureLimits {
  readonly eachBytes: number;
  /** Of all pictures of a document. */
  readonly allBytes: number;
  /** Width times height: what a picture takes in memory is not told by its bytes. */
  readonly pixels: number;
  /** Of the longer side. */
  readonly side: number;
}

const megabyte = 1024 * 1024;

/** A4 at 600 dots per inch has 35 million pixels. */
export const usualPictureLimits: PictureLimits = {
  eachBytes: 20 * megabyte,
  allBytes: 50 * megabyte,
  pixels: 50_000_000,
  side: 20_000,
};

/** A picture that the document names, and what it is called from now on, without an extension. */
export interface Wanted {
  readonly wanted: string;
  readonly as: string;
}

/** Finds each picture: an artifact of that name or else the newest file, or a file by its id. One after the other. */
export async function findPictures(
  wanted: readonly Wanted[],
  from: PictureSources,
  limits: PictureLimits,
  signal: AbortSignal,
): Promise<Picture[]> {
  const pictures: Picture[] = [];
  let room = limits.allBytes;
  for (const { wanted: name, as } of wanted) {
    signal.throwIfAborted();
    const bytes = await bytesOf(name, from, limits);
    room -= bytes.length;
    if (room < 0) throw tooMuch(name, limits);
    pictures.push(judgePicture(bytes, { called: name, as }, limits));
  }
  return pictures;
}

async function bytesOf(name: string, from: PictureSources, limits: PictureLimits): Promise<Uint8Array> {
  const found = isFileId(name)
    ? await from.file(name, limits.eachBytes)
    : ((await from.artifact(name, limits.eachBytes)) ?? (await from.file(name, limits.eachBytes)));
  if (found !== null) return demandShort(found, name, limits);
  throw refused(
    name,
    `There is no picture ${shown(name)} among your artifacts and files. list_artifacts and list_files show what there is; save it in /artifacts, or upload it with request_upload.`,
  );
}

const isFileId = (name: string): boolean => /^file_[0-9a-f]{24}$/.test(name);

/** Tells what a picture is by its bytes, and refuses what no document should hold. For those in the text as well. */
export function judgePicture(
  bytes: Uint8Array,
  { called, as }: { readonly called: string; readonly as: string },
  limits: PictureLimits,
): Picture {
  demandShort(bytes, called, limits);
  const kind = pictureKind(bytes);
  if (kind === null)
    throw refused(
      called,
      `${shown(called)} is not a picture that a document can hold: give PNG, JPEG, GIF, WebP or SVG. Its bytes are looked at, not its name.`,
    );
  const name = `${as}.${kind.extension}`;
  if (kind.extension === 'svg') return { name, called, bytes: judgeSvg(bytes, called) };
  demandSize(pictureSize(bytes, kind.extension), called, limits);
  return { name, called, bytes };
}

function demandShort(bytes: Uint8Array, name: string, { eachBytes }: PictureLimits): Uint8Array {
  if (bytes.length <= eachBytes) return bytes;
  throw refused(
    name,
    `The picture ${shown(name)} has ${bytes.length} bytes, and ${eachBytes} is the most. Save it smaller.`,
  );
}

function demandSize(size: ReturnType<typeof pictureSize>, name: string, limits: PictureLimits): void {
  if (size === null || size.width === 0 || size.height === 0)
    throw refused(
      name,
      `The picture ${shown(name)} is damaged: it does not say how large it is. Save it again.`,
    );
  const { width, height } = size;
  if (Math.max(width, height) <= limits.side && width * height <= limits.pixels) return;
  throw refused(
    name,
    `The picture ${shown(name)} has ${width} × ${height} pixels. At most ${limits.side} on a side and ${limits.pixels} in all are taken: save it smaller.`,
  );
}

function tooMuch(name: string, { allBytes }: PictureLimits): WorkcrateError {
  return refused(
    name,
    `With ${shown(name)} the pictures of the document have more than ${allBytes} bytes in all. Save them smaller.`,
  );
}

function refused(name: string, message: string): WorkcrateError {
  return new WorkcrateError('document_invalid', message, { details: { picture: cut(name) } });
}

const cut = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name).toWellFormed();
const shown = (name: string): string => JSON.stringify(cut(name));
