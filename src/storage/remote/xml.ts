import { WorkcrateError } from '../../errors.ts';

/**
 * Enough of XML for the answers of stores. Whoever answers may be hostile: every step goes forward, so that the time
 * grows with the length of the text and no faster.
 */

/** The text of the first element of that name, or null. */
export function element(xml: string, name: string): string | null {
  const end = `</${name}>`;
  for (let at = afterStart(xml, name, 0); at !== -1; at = afterStart(xml, name, at)) {
    const next = xml.indexOf('<', at);
    if (next === -1) return null;
    if (xml.startsWith(end, next)) return unescaped(xml.slice(at, next));
    at = next;
  }
  return null;
}

/** What stands within each element of that name, which does not hold another of the same name. */
export function elements(xml: string, name: string): string[] {
  const end = `</${name}>`;
  const found: string[] = [];
  for (let at = afterStart(xml, name, 0); at !== -1; at = afterStart(xml, name, at)) {
    const next = xml.indexOf(end, at);
    if (next === -1) break;
    found.push(xml.slice(at, next));
    at = next + end.length;
  }
  return found;
}

/** Where the next start tag of that name ends, or -1. */
function afterStart(xml: string, name: string, from: number): number {
  const start = `<${name}`;
  for (let at = xml.indexOf(start, from); at !== -1; at = xml.indexOf(start, at + 1)) {
    // No attribute goes beyond the next tag, so nothing is looked at twice.
    attributes.lastIndex = at + start.length;
    if (attributes.test(xml)) return attributes.lastIndex;
  }
  return -1;
}

const attributes = /(?:\s[^<>]*)?>/y;

/**
 * The text, if it is a whole document of that root. Something between us and the store may answer in its place with a
 * page of its own and `200`, and that must not be taken for a list of nothing.
 */
export function documentOf(xml: string, root: string): string {
  const body = xml.replace(declaration, '').trimEnd();
  const isBegun = new RegExp(`^<${root}(?:[\\s/][^<>]*)?>`).test(body);
  if (isBegun && (body.endsWith(`</${root}>`) || /^<[^<>]*\/>$/.test(body))) return xml;
  throw new WorkcrateError(
    'storage_failed',
    'The store did not answer as such a store does. See that its address is right, and what stands between.',
    { cause: new Error(`the answer is no whole ${root}`) },
  );
}

const declaration = /^\s*(?:<\?xml[^<>]*>\s*)?/;

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|quot|apos|amp));/gi, (_, dec, hex, name) =>
    name === undefined
      ? String.fromCodePoint(Math.min(0x10ffff, dec === undefined ? parseInt(hex, 16) : Number(dec)))
      : entities[name.toLowerCase()]!,
  );
}
