import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one colour. `claims` is the size that its head states, where it is not the true one. */
export function pngOf(width: number, height: number, claims = { width, height }): Uint8Array {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(claims.width, 0);
  head.writeUInt32BE(claims.height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc((1 + 3 * width) * height, 0x66);
  for (let row = 0; row < height; row++) rows[row * (1 + 3 * width)] = 0;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', head),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** The beginning of a JPEG: a segment of an application, a table, then the frame. */
export function jpegOf(width: number, height: number): Uint8Array {
  const frame = Buffer.from('ffffc2000b08000000000101110000', 'hex');
  frame.writeUInt16BE(height, 6);
  frame.writeUInt16BE(width, 8);
  const [start, table, scan] = ['ffd8ffe000040102', 'ffc40005000000', 'ffda0002'].map((hex) =>
    Buffer.from(hex, 'hex'),
  );
  return Buffer.concat([start!, table!, frame.subarray(0, 14), scan!]);
}

export function gifOf(width: number, height: number): Uint8Array {
  const head = Buffer.from('GIF89a\0\0\0\0\0\0\0;', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  return head;
}

/** The beginning of a WebP of the extended kind. */
export function webpOf(width: number, height: number): Uint8Array {
  const head = Buffer.alloc(30);
  head.write('RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0', 0, 'latin1');
  head.writeUIntLE(width - 1, 24, 3);
  head.writeUIntLE(height - 1, 27, 3);
  return head;
}

export const svg: Uint8Array = Buffer.from(
  '<?xml version="1.0"?>\n<!-- drawn --><svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><circle cx="9" cy="9" r="8"/></svg>',
);
