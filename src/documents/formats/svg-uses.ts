import { posix } from 'node:path';
import type { Part } from './archive.ts';

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

export function svgUses(parts: readonly Part[]): SvgUse[] {
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
export function withPng(text: string, id: string, pngId: string): string {
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
