import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { Picture } from '../document.ts';
import { pictureKind } from '../pictures.ts';
import { directoryOf, packCompressed, unpack, type Part } from './archive.ts';
import type { DrawingJob } from './drawing-thread.ts';
import { drawAll, type Drawn } from './drawing.ts';
import { edited } from './tree.ts';
import { undrawnWarning, type Result } from './work.ts';

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

/** A part of an office document that shows an SVG. */
export interface SvgUse {
  /** The part, and the list of what it points to. */
  readonly owner: string;
  readonly list: string;
  /** How the owner calls the SVG, and where it stands from there. */
  readonly id: string;
  readonly target: string;
  /** The name of the part that the SVG is. */
  readonly media: string;
  /** The widest that it is shown; 0: nowhere. */
  readonly widthInches: number;
}

/** An inch in the units of office documents. */
const INCH = 914_400;

function svgUses(parts: readonly Part[]): SvgUse[] {
  const texts = new Map(parts.map(({ name, bytes }) => [name, bytes]));
  return parts.flatMap(({ name: list, bytes }) => {
    const place = /^(.*)_rels\/([^/]+)\.rels$/.exec(list);
    const owner = place === null ? '' : `${place[1]}${place[2]}`;
    const text = texts.get(owner);
    return text === undefined ? [] : usesIn(textOf(text), textOf(bytes), { owner, list });
  });
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function usesIn(text: string, list: string, names: Pick<SvgUse, 'owner' | 'list'>): SvgUse[] {
  return Array.from(list.matchAll(/<Relationship\s[^>]*>/g), ([tag]) => tag).flatMap((tag) => {
    const [id, target] = [attributeOf(tag, 'Id'), attributeOf(tag, 'Target')];
    if (!/\.svg$/i.test(target) || !attributeOf(tag, 'Type').endsWith('/image')) return [];
    const media = posix.join(posix.dirname(names.owner), target);
    return [{ ...names, id, target, media, widthInches: widestOf(text, id) }];
  });
}

const attributeOf = (tag: string, name: string): string =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '';

/** A picture: by what it is shown, and what else is said of it. Its size stands behind it. */
const blips = /<a:blip((?:\s[^>]*?)?)(?:\/>|>([\s\S]*?)<\/a:blip>)/g;

function widestOf(text: string, id: string): number {
  const widths = Array.from(text.matchAll(blips), ({ 0: blip, index }) => {
    if (!shows(blip, id)) return 0;
    const at = text.indexOf('<a:ext cx="', index + blip.length);
    return at < 0 ? 0 : Number.parseInt(text.slice(at + '<a:ext cx="'.length, at + 40), 10) / INCH;
  });
  return widths.reduce((most, width) => Math.max(most, width), 0);
}

const shows = (blip: string, id: string): boolean => blip.includes(` r:embed="${id}"`);

/**
 * The text of a part with the SVG beside a PNG: programs that know SVG take it, others the PNG. Pandoc leaves its place
 * empty in DOCX, and puts the SVG there in PPTX. A picture that has another one in that place is left as it is.
 */
function withPng(text: string, id: string, pngId: string): string {
  return text.replaceAll(blips, (blip, attributes: string, inner: string | undefined) => {
    if (!shows(blip, id)) return blip;
    const shown = attributeOf(attributes, 'r:embed');
    if (shown === '' && inner !== undefined)
      return `<a:blip r:embed="${pngId}"${attributes.trimEnd()}>${inner}</a:blip>`;
    if (shown !== id || (inner ?? '') !== '') return blip;
    return `<a:blip${attributes.trimEnd().replace(` r:embed="${id}"`, ` r:embed="${pngId}"`)}>${svgBeside(id)}</a:blip>`;
  });
}

const svgBeside = (id: string): string =>
  `<a:extLst><a:ext uri="{96DAC541-7B7A-43D3-8B79-37D633B846F1}"><asvg:svgBlip xmlns:asvg="http://schemas.microsoft.com/office/drawing/2016/SVG/main" r:embed="${id}"/></a:ext></a:extLst>`;
