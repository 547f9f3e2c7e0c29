/** QR codes of short texts such as URLs: `drawQr` makes the modules, `renderQr` a picture of them for a page. */
import { encode } from 'uqr';
import { html, raw, type Html } from './html.ts';

/** Dark modules are true; rows from the top. */
export type QrModules = readonly (readonly boolean[])[];

/** What version 20 takes with error correction M; a phone reads larger codes badly from a screen. */
const maxQrTextBytes = 666;

/** Null where the text is too long. */
export const drawQr = (text: string): QrModules | null =>
  Buffer.byteLength(text) > maxQrTextBytes ? null : encode(text, { ecc: 'M', border: 0 }).data;

/** The text as a picture with the margin that readers need, dark on white in every colour scheme; null if it is too long. */
export function renderQr(text: string, label: string): Html | null {
  const modules = drawQr(text);
  if (modules === null) return null;
  const side = modules.length + 8;
  const runs = modules.flatMap((row, y) =>
    findRuns(row).map(([x, width]) => `M${x + 4} ${y + 4}h${width}v1h-${width}z`),
  );
  const picture = raw(
    `<rect width="${side}" height="${side}" fill="#fff"/><path fill="#000" d="${runs.join('')}"/>`,
  );
  return html`<svg class="qr" viewBox="0 0 ${side} ${side}" role="img" aria-label="${label}">
    ${picture}
  </svg>`;
}

/** Where dark modules follow each other in a row, and how many. */
function findRuns(row: readonly boolean[]): [start: number, length: number][] {
  const runs: [number, number][] = [];
  for (const [x, isDark] of row.entries()) {
    if (!isDark) continue;
    if (row[x - 1] === true) runs.at(-1)![1]++;
    else runs.push([x, 1]);
  }
  return runs;
}
