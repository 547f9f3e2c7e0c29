import { crc32, deflateSync } from 'node:zlib';
import { svg } from './refused-pictures.testing.ts';

/** Within all bounds, and Pandoc takes half a second for each of many paragraphs, in little memory. */
export const endlessForPandoc = '[[[[[[a]]]]]]\n\n'.repeat(2000);

/** A small picture whose filter Typst would compute for days. */
export const endlessForTypst = `![x](${svg(
  '<filter id="f"><feTurbulence baseFrequency="0.05" numOctaves="100000000"/></filter><rect width="900" height="900" filter="url(#f)"/>',
)})`;

/** A text that Pandoc reads at once, in hundreds of megabytes. */
export const largeForPandoc = 'word '.repeat(600_000);

const side = 7000;
const pixels = deflateSync(Buffer.alloc((side * 4 + 1) * side), { level: 1 });

/** A PNG that takes 200 MB once it is unpacked, and next to nothing before; another one for another remark. */
export function largePicture(remark: string): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 6], 8);
  const text = chunk('tEXt', Buffer.from(`Comment\0${remark}`));
  const parts = [chunk('IHDR', head), text, chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}

function chunk(type: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), bytes]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(bytes.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
