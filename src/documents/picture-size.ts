import type { PictureKind } from './picture-kind.ts';

export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** What the head of a picture states, in pixels; null where it is damaged. An SVG has no pixels. */
export function pictureSize(bytes: Uint8Array, kind: PictureKind['extension']): PictureSize | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  switch (kind) {
    case 'png':
      return data.length >= 24 ? { width: data.readUInt32BE(16), height: data.readUInt32BE(20) } : null;
    case 'gif':
      return data.length >= 10 ? { width: data.readUInt16LE(6), height: data.readUInt16LE(8) } : null;
    case 'jpg':
      return jpegSize(data);
    case 'webp':
      return webpSize(data);
    case 'svg':
      return null;
  }
}

const START_OF_SCAN = 0xda;
const STANDALONE = new Set([0x01, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]);
/** Tables, which are numbered among the frames. */
const NO_FRAMES = new Set([0xc4, 0xc8, 0xcc]);

/** From segment to segment up to the frame. Each step goes on by two bytes at least. */
function jpegSize(data: Buffer): PictureSize | null {
  let at = 2;
  while (at + 9 <= data.length) {
    if (data[at] !== 0xff) return null;
    const marker = data[at + 1] as number;
    if (marker === 0xff) at += 1;
    else if (STANDALONE.has(marker)) at += 2;
    else if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAMES.has(marker))
      return { height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) };
    else if (marker === START_OF_SCAN) return null;
    else at += 2 + Math.max(2, data.readUInt16BE(at + 2));
  }
  return null;
}

/** By the kind of the first chunk: lossy, lossless, or extended. */
function webpSize(data: Buffer): PictureSize | null {
  if (data.length < 30) return null;
  const chunk = data.toString('latin1', 12, 16);
  if (chunk === 'VP8 ')
    return { width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff };
  if (chunk === 'VP8X') return { width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 };
  if (chunk !== 'VP8L') return null;
  const bits = data.readUInt32LE(21);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
