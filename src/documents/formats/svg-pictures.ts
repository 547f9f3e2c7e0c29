import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { Picture } from '../document.ts';
import { pictureKind } from '../picture-kind.ts';
import { directoryOf, unpack, type Part } from './archive.ts';
import { packCompressed } from './compressed.ts';
import { drawAll, type Drawn } from './drawing.ts';
import type { DrawingJob } from './drawing-thread.ts';
import { edited } from './parts.ts';
import { svgUses, withPng, type SvgUse } from './svg-uses.ts';
import { undrawnWarning } from './warnings.ts';
import type { Result } from './work.ts';

const DOTS_PER_INCH = 200;
/** Larger ones stay as they are. */
const MOST_UNPACKED = 64 * 1024 * 1024;
const imageType = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/image';

/** An SVG, and where the document shows it. */
interface Shown {
  readonly picture: Picture;
  readonly uses: readonly SvgUse[];
}

/** A DOCX or PPTX in which each SVG has a PNG beside it, for programs that show no SVG. */
export async function withPngs(
  format: 'docx' | 'pptx',
  bytes: Uint8Array,
  pictures: readonly Picture[],
  signal: AbortSignal,
): Promise<Result> {
  const svgs = svgsIn(pictures);
  if (svgs.length === 0) return { bytes, warnings: [] };
  const parts = await partsOf(bytes, signal);
  const shown = shownIn(parts, svgs);
  const drawn = await drawAll(shown.map(jobOf), signal);
  const warnings = shown.flatMap(({ picture }, at) => {
    const result = drawn[at]!;
    return typeof result === 'string' ? [undrawnWarning(format, picture, result)] : [];
  });
  const changed = shown.reduce((all, { uses }, at) => withDrawn(all, uses, drawn[at]!), parts);
  return { bytes: changed === parts ? bytes : packCompressed(changed), warnings };
}

/** Those that are alike are one in the document. */
function svgsIn(pictures: readonly Picture[]): Picture[] {
  const svgs = pictures.filter(({ bytes }) => pictureKind(bytes)?.extension === 'svg');
  return [...new Map(svgs.map((picture) => [hash('sha256', picture.bytes), picture])).values()];
}

/** None, where it is too large to be packed anew. */
async function partsOf(bytes: Uint8Array, signal: AbortSignal): Promise<readonly Part[]> {
  const unpacked = [...(await directoryOf(bytes, signal))].reduce((sum, { size }) => sum + size, 0);
  return unpacked > MOST_UNPACKED ? [] : unpack(bytes, signal);
}

/** By their bytes. A reference document may have further ones, which are its own. */
function shownIn(parts: readonly Part[], svgs: readonly Picture[]): Shown[] {
  const [uses, bytesOf] = [svgUses(parts), new Map(parts.map(({ name, bytes }) => [name, bytes]))];
  const isOf = (picture: Picture, { media }: SvgUse): boolean => {
    const bytes = bytesOf.get(media);
    return bytes !== undefined && Buffer.from(bytes).equals(picture.bytes);
  };
  const all = svgs.map((picture) => ({ picture, uses: uses.filter((use) => isOf(picture, use)) }));
  // Slides show no picture within a line, so that nothing is missing there.
  return parts.length === 0 ? all : all.filter((shown) => shown.uses.length > 0);
}

function jobOf({ picture, uses }: Shown): DrawingJob {
  const widest = uses.reduce((most, { widthInches }) => Math.max(most, widthInches), 0);
  return { svg: picture.bytes, width: Math.ceil(widest * DOTS_PER_INCH) };
}

function withDrawn(parts: readonly Part[], uses: readonly SvgUse[], drawn: Drawn): readonly Part[] {
  if (typeof drawn === 'string') return parts;
  // The same name is the same picture.
  const name = `svg-${hash('sha256', drawn).slice(0, 16)}.png`;
  return uses.reduce((all, use) => withUse(all, use, { name, bytes: drawn }), parts);
}

function withUse(parts: readonly Part[], use: SvgUse, { name, bytes }: Part): readonly Part[] {
  const { owner, list, id, target, media } = use;
  const beside = (path: string): string => posix.join(posix.dirname(path), name);
  const [png, pngId] = [beside(media), `${id}png`];
  const shown = edited(parts, owner, (text) => withPng(text, id, pngId));
  const related = edited(shown, list, (text) =>
    text.replace(
      '</Relationships>',
      `<Relationship Id="${pngId}" Type="${imageType}" Target="${beside(target)}"/></Relationships>`,
    ),
  );
  if (parts.some((part) => part.name === png)) return related;
  const typed = edited(related, '[Content_Types].xml', (text) =>
    text.replace('</Types>', `<Override PartName="/${png}" ContentType="image/png"/></Types>`),
  );
  return [...typed, { name: png, bytes }];
}
