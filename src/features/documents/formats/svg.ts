import { hash } from 'node:crypto';
import { posix } from 'node:path';
import type { DocumentPicture } from '../document.ts';
import { detectPictureKind } from '../pictures.ts';
import { readArchiveDirectory, packCompressedArchive, unpackArchive, type ArchivePart } from './archive.ts';
import type { DrawingJob } from './drawing-thread.ts';
import { drawSvgs, type DrawnSvg } from './drawing.ts';
import { editArchivePart } from './tree.ts';
import { describeUndrawnPicture, type FormatResult } from './work.ts';

const drawingDotsPerInch = 200;
/** Larger ones stay as they are. */
const maxSvgArchiveBytes = 64 * 1024 * 1024;
const imageRelationshipType = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/image';

/** An SVG, and where the document shows it. */
interface ShownSvg {
  readonly picture: DocumentPicture;
  readonly uses: readonly SvgUse[];
}

/** Adds a PNG beside each SVG of a DOCX or PPTX, for programs that cannot show SVG. */
export async function addPngFallbacks(
  format: 'docx' | 'pptx',
  bytes: Uint8Array,
  pictures: readonly DocumentPicture[],
  signal: AbortSignal,
): Promise<FormatResult> {
  const svgs = filterSvgPictures(pictures);
  if (svgs.length === 0) return { bytes, warnings: [] };
  const parts = await readPartsWithSvg(bytes, signal);
  const shown = findShownSvgs(parts, svgs);
  const drawn = await drawSvgs(shown.map(toDrawingJob), signal);
  const warnings = shown.flatMap(({ picture }, at) => {
    const result = drawn[at]!;
    return typeof result === 'string' ? [describeUndrawnPicture(format, picture, result)] : [];
  });
  const changed = shown.reduce((all, { uses }, at) => addDrawnSvg(all, uses, drawn[at]!), parts);
  return { bytes: changed === parts ? bytes : packCompressedArchive(changed), warnings };
}

/** Pandoc stores equal pictures once. */
function filterSvgPictures(pictures: readonly DocumentPicture[]): DocumentPicture[] {
  const svgs = pictures.filter(({ bytes }) => detectPictureKind(bytes)?.extension === 'svg');
  return [...new Map(svgs.map((picture) => [hash('sha256', picture.bytes), picture])).values()];
}

/** Empty if the archive is too large to be packed again. */
async function readPartsWithSvg(bytes: Uint8Array, signal: AbortSignal): Promise<readonly ArchivePart[]> {
  const unpacked = [...(await readArchiveDirectory(bytes, signal))].reduce((sum, { size }) => sum + size, 0);
  return unpacked > maxSvgArchiveBytes ? [] : unpackArchive(bytes, signal);
}

/** Compares bytes: a reference document may have SVGs of its own, which are left alone. */
function findShownSvgs(parts: readonly ArchivePart[], svgs: readonly DocumentPicture[]): ShownSvg[] {
  const [uses, bytesOf] = [findSvgUses(parts), new Map(parts.map(({ name, bytes }) => [name, bytes]))];
  const isOf = (picture: DocumentPicture, { media }: SvgUse): boolean => {
    const bytes = bytesOf.get(media);
    return bytes !== undefined && Buffer.from(bytes).equals(picture.bytes);
  };
  const all = svgs.map((picture) => ({ picture, uses: uses.filter((use) => isOf(picture, use)) }));
  // Slides have no pictures within a line, so nothing is missing there.
  return parts.length === 0 ? all : all.filter((shown) => shown.uses.length > 0);
}

function toDrawingJob({ picture, uses }: ShownSvg): DrawingJob {
  const widest = uses.reduce((most, { widthInches }) => Math.max(most, widthInches), 0);
  return { svg: picture.bytes, width: Math.ceil(widest * drawingDotsPerInch) };
}

function addDrawnSvg(
  parts: readonly ArchivePart[],
  uses: readonly SvgUse[],
  drawn: DrawnSvg,
): readonly ArchivePart[] {
  if (typeof drawn === 'string') return parts;
  // Equal pictures get equal names.
  const name = `svg-${hash('sha256', drawn).slice(0, 16)}.png`;
  return uses.reduce((all, use) => addPngToUse(all, use, { name, bytes: drawn }), parts);
}

function addPngToUse(
  parts: readonly ArchivePart[],
  use: SvgUse,
  { name, bytes }: ArchivePart,
): readonly ArchivePart[] {
  const { owner, list, id, target, media } = use;
  const beside = (path: string): string => posix.join(posix.dirname(path), name);
  const [png, pngId] = [beside(media), `${id}png`];
  const shown = editArchivePart(parts, owner, (text) => replaceWithPngBlip(text, id, pngId));
  const related = editArchivePart(shown, list, (text) =>
    text.replace(
      '</Relationships>',
      `<Relationship Id="${pngId}" Type="${imageRelationshipType}" Target="${beside(target)}"/></Relationships>`,
    ),
  );
  if (parts.some((part) => part.name === png)) return related;
  const typed = editArchivePart(related, '[Content_Types].xml', (text) =>
    text.replace('</Types>', `<Override PartName="/${png}" ContentType="image/png"/></Types>`),
  );
  return [...typed, { name: png, bytes }];
}

/** A part of an office document that shows an SVG. */
export interface SvgUse {
  /** The part, and the list of what it points to. */
  readonly owner: string;
  readonly list: string;
  /** The id by which the owner refers to the SVG, and the path from there. */
  readonly id: string;
  readonly target: string;
  /** The name of the part that the SVG is. */
  readonly media: string;
  /** The widest that it is shown; 0: nowhere. */
  readonly widthInches: number;
}

/** An inch in the units of office documents. */
const emuPerInch = 914_400;

function findSvgUses(parts: readonly ArchivePart[]): SvgUse[] {
  const texts = new Map(parts.map(({ name, bytes }) => [name, bytes]));
  return parts.flatMap(({ name: list, bytes }) => {
    const match = /^(.*)_rels\/([^/]+)\.rels$/.exec(list);
    const owner = match === null ? '' : `${match[1]}${match[2]}`;
    const text = texts.get(owner);
    return text === undefined
      ? []
      : findUsesInPart(decodePartText(text), decodePartText(bytes), { owner, list });
  });
}

const decodePartText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function findUsesInPart(text: string, list: string, names: Pick<SvgUse, 'owner' | 'list'>): SvgUse[] {
  return Array.from(list.matchAll(/<Relationship\s[^>]*>/g), ([tag]) => tag).flatMap((tag) => {
    const [id, target] = [readTagAttribute(tag, 'Id'), readTagAttribute(tag, 'Target')];
    if (!/\.svg$/i.test(target) || !readTagAttribute(tag, 'Type').endsWith('/image')) return [];
    const media = posix.join(posix.dirname(names.owner), target);
    return [{ ...names, id, target, media, widthInches: findWidestUse(text, id) }];
  });
}

const readTagAttribute = (tag: string, name: string): string =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '';

/** An element that shows a picture: its attributes and content. The size follows it. */
const blipPattern = /<a:blip((?:\s[^>]*?)?)(?:\/>|>([\s\S]*?)<\/a:blip>)/g;

function findWidestUse(text: string, id: string): number {
  const widths = Array.from(text.matchAll(blipPattern), ({ 0: blip, index }) => {
    if (!isBlipForId(blip, id)) return 0;
    const at = text.indexOf('<a:ext cx="', index + blip.length);
    return at < 0 ? 0 : Number.parseInt(text.slice(at + '<a:ext cx="'.length, at + 40), 10) / emuPerInch;
  });
  return widths.reduce((most, width) => Math.max(most, width), 0);
}

const isBlipForId = (blip: string, id: string): boolean => blip.includes(` r:embed="${id}"`);

/**
 * Puts the PNG where the picture is and the SVG into an extension: programs that know SVG use it, others the PNG. Pandoc
 * leaves the first empty in DOCX, and puts the SVG there in PPTX. A picture with another one there is left alone.
 */
function replaceWithPngBlip(text: string, id: string, pngId: string): string {
  return text.replaceAll(blipPattern, (blip, attributes: string, inner: string | undefined) => {
    if (!isBlipForId(blip, id)) return blip;
    const shown = readTagAttribute(attributes, 'r:embed');
    if (shown === '' && inner !== undefined)
      return `<a:blip r:embed="${pngId}"${attributes.trimEnd()}>${inner}</a:blip>`;
    if (shown !== id || (inner ?? '') !== '') return blip;
    return `<a:blip${attributes.trimEnd().replace(` r:embed="${id}"`, ` r:embed="${pngId}"`)}>${buildSvgBlipExtension(id)}</a:blip>`;
  });
}

const buildSvgBlipExtension = (id: string): string =>
  `<a:extLst><a:ext uri="{96DAC541-7B7A-43D3-8B79-37D633B846F1}"><asvg:svgBlip xmlns:asvg="http://schemas.microsoft.com/office/drawing/2016/SVG/main" r:embed="${id}"/></a:ext></a:extLst>`;
