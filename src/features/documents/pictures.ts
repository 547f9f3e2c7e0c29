/**
 * Finds the pictures of a document and refuses what no document should contain, by the bytes alone. It reads no file
 * and fetches nothing: `user-files.ts` reads them, and `sanitize/links.ts` decides which names are allowed.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { DocumentPicture } from './document.ts';
import { sanitizeSvg } from './sanitize/svg.ts';
import type { UserFiles } from './user-files.ts';

/** Where the caller's pictures are read from; both return null if there is no such picture. */
export type DocumentPictureFiles = UserFiles;

export interface PictureLimits {
  readonly eachBytes: number;
  /** Of all pictures of a document. */
  readonly allBytes: number;
  /** Width times height: a small file can need much memory. */
  readonly pixels: number;
  /** Of the longer side. */
  readonly side: number;
}

const bytesPerMegabyte = 1024 * 1024;

/** A4 at 600 dots per inch has 35 million pixels. */
export const defaultPictureLimits: PictureLimits = {
  eachBytes: 20 * bytesPerMegabyte,
  allBytes: 50 * bytesPerMegabyte,
  pixels: 50_000_000,
  side: 20_000,
};

/** A picture that the document names, and its new name, without an extension. */
export interface PictureRequest {
  readonly wanted: string;
  readonly as: string;
}

/** Finds each picture: an artifact of that name, else the newest file, or a file by its id. */
export async function findPictures(
  wanted: readonly PictureRequest[],
  from: DocumentPictureFiles,
  limits: PictureLimits,
  signal: AbortSignal,
): Promise<DocumentPicture[]> {
  const pictures: DocumentPicture[] = [];
  let room = limits.allBytes;
  for (const { wanted: name, as } of wanted) {
    signal.throwIfAborted();
    const bytes = await readPictureBytes(name, from, limits);
    room -= bytes.length;
    if (room < 0) throw picturesTooLargeError(name, limits);
    pictures.push(sanitizePicture(bytes, { called: name, as }, limits));
  }
  return pictures;
}

async function readPictureBytes(
  name: string,
  from: DocumentPictureFiles,
  limits: PictureLimits,
): Promise<Uint8Array> {
  const found = isFileId(name)
    ? await from.file(name, limits.eachBytes)
    : ((await from.artifact(name, limits.eachBytes)) ?? (await from.file(name, limits.eachBytes)));
  if (found !== null) return checkPictureBytes(found, name, limits);
  throw pictureRefusedError(
    name,
    `There is no picture ${quotePictureName(name)} among your artifacts and files. list_artifacts and list_files show what there is; save it in /artifacts, or upload it with request_upload.`,
  );
}

const isFileId = (name: string): boolean => /^file_[0-9a-f]{24}$/.test(name);

/** Detects the kind of a picture by its bytes, and refuses what no document should contain. */
export function sanitizePicture(
  bytes: Uint8Array,
  { called, as }: { readonly called: string; readonly as: string },
  limits: PictureLimits,
): DocumentPicture {
  checkPictureBytes(bytes, called, limits);
  const kind = detectPictureKind(bytes);
  if (kind === null)
    throw pictureRefusedError(
      called,
      `${quotePictureName(called)} is not a picture that a document can contain: use PNG, JPEG, GIF, WebP or SVG. The bytes decide, not the name.`,
    );
  const name = `${as}.${kind.extension}`;
  if (kind.extension === 'svg') return { name, called, bytes: sanitizeSvg(bytes, called) };
  checkPictureSize(readPictureSize(bytes, kind.extension), called, limits);
  return { name, called, bytes };
}

function checkPictureBytes(bytes: Uint8Array, name: string, { eachBytes }: PictureLimits): Uint8Array {
  if (bytes.length <= eachBytes) return bytes;
  throw pictureRefusedError(
    name,
    `The picture ${quotePictureName(name)} has ${bytes.length} bytes; at most ${eachBytes} are allowed. Save a smaller version.`,
  );
}

function checkPictureSize(
  size: ReturnType<typeof readPictureSize>,
  name: string,
  limits: PictureLimits,
): void {
  if (size === null || size.width === 0 || size.height === 0)
    throw pictureRefusedError(
      name,
      `The picture ${quotePictureName(name)} is damaged: its width and height cannot be read. Save it again.`,
    );
  const { width, height } = size;
  if (Math.max(width, height) <= limits.side && width * height <= limits.pixels) return;
  throw pictureRefusedError(
    name,
    `The picture ${quotePictureName(name)} has ${width} × ${height} pixels. At most ${limits.side} on a side and ${limits.pixels} in all are allowed: save a smaller version.`,
  );
}

function picturesTooLargeError(name: string, { allBytes }: PictureLimits): WorkcrateError {
  return pictureRefusedError(
    name,
    `With ${quotePictureName(name)}, the pictures of the document have more than ${allBytes} bytes in all. Save smaller versions.`,
  );
}

function pictureRefusedError(name: string, message: string): WorkcrateError {
  return new WorkcrateError('document_invalid', message, { details: { picture: cutPictureName(name) } });
}

const cutPictureName = (name: string): string =>
  (name.length > 80 ? `${name.slice(0, 80)}…` : name).toWellFormed();
const quotePictureName = (name: string): string => JSON.stringify(cutPictureName(name));

/** What a picture is, by its bytes: its name may say anything. */
export interface PictureKind {
  readonly extension: 'png' | 'jpg' | 'gif' | 'webp' | 'svg';
  readonly mediaType: string;
}

const pngKind = { extension: 'png', mediaType: 'image/png' } as const;
const jpgKind = { extension: 'jpg', mediaType: 'image/jpeg' } as const;
const gifKind = { extension: 'gif', mediaType: 'image/gif' } as const;
const webpKind = { extension: 'webp', mediaType: 'image/webp' } as const;
const svgKind = { extension: 'svg', mediaType: 'image/svg+xml' } as const;

/** How far to look for the root element of an SVG: comments and a DOCTYPE may come before it. */
const svgSniffBytes = 4096;

export function detectPictureKind(bytes: Uint8Array): PictureKind | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, svgSniffBytes));
  const text = start.toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return pngKind;
  if (text.startsWith('\xff\xd8\xff')) return jpgKind;
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return gifKind;
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return webpKind;
  return isSvgStart(text) ? svgKind : null;
}

/** XML in UTF-8 whose first element is `svg`. */
function isSvgStart(start: string): boolean {
  const text = start.replace(/^\xef\xbb\xbf/, '').trimStart();
  if (!text.startsWith('<')) return false;
  const root = /<([a-zA-Z][^\s/>]*)/.exec(text.replaceAll(/<!--[\s\S]*?-->/g, ''));
  return root !== null && /^(?:[\w.-]+:)?svg$/.test(root[1] ?? '');
}

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** The size in pixels that the head of a picture states; null if it is damaged, and for SVG. */
export function readPictureSize(bytes: Uint8Array, kind: PictureKind['extension']): PictureSize | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  switch (kind) {
    case 'png':
      return data.length >= 24 ? { width: data.readUInt32BE(16), height: data.readUInt32BE(20) } : null;
    case 'gif':
      return data.length >= 10 ? { width: data.readUInt16LE(6), height: data.readUInt16LE(8) } : null;
    case 'jpg':
      return readJpegSize(data);
    case 'webp':
      return readWebpSize(data);
    case 'svg':
      return null;
  }
}

const jpegStartOfScan = 0xda;
const jpegStandaloneMarkers = new Set([0x01, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]);
/** Tables, whose markers are between those of frames. */
const jpegNonFrameMarkers = new Set([0xc4, 0xc8, 0xcc]);

/** Goes from segment to segment up to the frame. Each step is at least two bytes, so it ends. */
function readJpegSize(data: Buffer): PictureSize | null {
  let at = 2;
  while (at + 9 <= data.length) {
    if (data[at] !== 0xff) return null;
    const marker = data[at + 1] as number;
    if (marker === 0xff) at += 1;
    else if (jpegStandaloneMarkers.has(marker)) at += 2;
    else if (marker >= 0xc0 && marker <= 0xcf && !jpegNonFrameMarkers.has(marker))
      return { height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) };
    else if (marker === jpegStartOfScan) return null;
    else at += 2 + Math.max(2, data.readUInt16BE(at + 2));
  }
  return null;
}

/** By the kind of the first chunk: lossy, lossless, or extended. */
function readWebpSize(data: Buffer): PictureSize | null {
  if (data.length < 30) return null;
  const chunk = data.toString('latin1', 12, 16);
  if (chunk === 'VP8 ')
    return { width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff };
  if (chunk === 'VP8X') return { width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 };
  if (chunk !== 'VP8L') return null;
  const bits = data.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
