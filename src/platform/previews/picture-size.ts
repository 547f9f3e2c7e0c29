/**
 * How many pixels a picture has, by its first bytes. A browser decodes all of them, and a small file can have more than
 * a machine can hold. Formats whose size is not found here count as too large when the file is.
 */

/** Width times height; null where it is not known. */
export function countPixels(start: Buffer): number | null {
  const size = readPng(start) ?? readGif(start) ?? readWebp(start) ?? readJpeg(start);
  return size === null ? null : size[0] * size[1];
}

type Size = readonly [width: number, height: number];

function readPng(start: Buffer): Size | null {
  if (start.length < 24 || start.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  return [start.readUInt32BE(16), start.readUInt32BE(20)];
}

function readGif(start: Buffer): Size | null {
  if (start.length < 10 || !/^GIF8[79]a/.test(start.toString('latin1', 0, 6))) return null;
  return [start.readUInt16LE(6), start.readUInt16LE(8)];
}

function readWebp(start: Buffer): Size | null {
  if (start.length < 30 || !/^RIFF....WEBPVP8/s.test(start.toString('latin1', 0, 15))) return null;
  switch (start.toString('latin1', 12, 16)) {
    case 'VP8X':
      return [1 + start.readUIntLE(24, 3), 1 + start.readUIntLE(27, 3)];
    case 'VP8 ':
      return [start.readUInt16LE(26) & 0x3f_ff, start.readUInt16LE(28) & 0x3f_ff];
    default: {
      const bits = start.readUInt32LE(21);
      return [1 + (bits & 0x3f_ff), 1 + ((bits >> 14) & 0x3f_ff)];
    }
  }
}

/** The frame header comes after segments of other kinds, whose lengths lead to it. */
function readJpeg(start: Buffer): Size | null {
  if (start.length < 4 || start.readUInt16BE(0) !== 0xff_d8) return null;
  let at = 2;
  while (at + 9 <= start.length && start[at] === 0xff) {
    const marker = start[at + 1]!;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [start.readUInt16BE(at + 7), start.readUInt16BE(at + 5)];
    at += 2 + start.readUInt16BE(at + 2);
  }
  return null;
}
