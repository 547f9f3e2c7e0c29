/**
 * Reads XML that others wrote: every tag of a document (`scanXml`), or single elements of an answer (`findElements`).
 * Hostile text costs no more time than its length, since each pattern is tried at one place and ends at the next `<`.
 * It builds no tree, knows no namespaces and fetches nothing; entities that a document declares are never used.
 */

export interface XmlTag {
  readonly kind: 'start' | 'end' | 'empty';
  /** As it is written, with its prefix. */
  readonly name: string;
  /** The text between the name and the end of the tag, see `parseAttributes`. */
  readonly rest: string;
  readonly at: number;
  readonly end: number;
}

/** It declares nothing of its own: a DOCTYPE that does is an error. */
export interface XmlDoctype {
  readonly kind: 'doctype';
  readonly at: number;
  readonly end: number;
}

/** `<?xml …?>` and the like. */
interface XmlInstruction {
  readonly kind: 'instruction';
  readonly at: number;
  readonly end: number;
}

/** Of these, a document has no more than that to whoever reads it here: comments and CDATA are passed over. */
type XmlMarkup = XmlTag | XmlDoctype | XmlInstruction;

type XmlProblem = 'tag' | 'attribute' | 'declaration' | 'cut_off' | 'too_many' | 'too_deep';

export class XmlError extends Error {
  override readonly name = 'XmlError';
  readonly problem: XmlProblem;
  readonly at: number;

  constructor(problem: XmlProblem, at: number, message: string = problem) {
    super(message);
    this.problem = problem;
    this.at = at;
  }
}

export interface XmlLimits {
  readonly mostElements: number;
  readonly mostDepth: number;
}

// The name has to end where it ends: else a long one would be tried again at each of its letters.
const xmlTag =
  /<(\/?)([^\s<>/="'!?]+)(?=[\s/>])([^<>"'/]*(?:(?:"[^"<]*"|'[^'<]*'|\/(?!>))[^<>"'/]*)*)(\/?)>/y;
const doctypeForm = /<!DOCTYPE\s+[^\s<>[\]"']+(?:\s+[A-Z]+|\s+"[^"]*"|\s+'[^']*')*\s*>/y;
const attributeForm = /\s+([^\s<>/="'!?]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;

/** All tags in their order, with what is declared before them. Throws `XmlError` where the text is no XML. */
export function* scanXml(text: string, limits: XmlLimits): Generator<XmlMarkup> {
  let [count, depth] = [0, 0];
  for (let at = text.indexOf('<'); at !== -1;) {
    const found = readMarkup(text, at);
    const isElement = found.kind === 'start' || found.kind === 'empty';
    if (isElement && ++count > limits.mostElements) throw new XmlError('too_many', at);
    if (found.kind === 'start' && ++depth > limits.mostDepth) throw new XmlError('too_deep', at);
    if (found.kind === 'end') depth = Math.max(0, depth - 1);
    if (found.kind !== 'comment') yield found;
    at = text.indexOf('<', found.end);
  }
}

function readMarkup(
  text: string,
  at: number,
): XmlMarkup | { readonly kind: 'comment'; readonly end: number } {
  if (text.startsWith('<!--', at)) return { kind: 'comment', end: findAfter(text, '-->', at, 4) };
  if (text.startsWith('<![CDATA[', at)) return { kind: 'comment', end: findAfter(text, ']]>', at, 9) };
  if (text.startsWith('<?', at)) return { kind: 'instruction', at, end: findAfter(text, '?>', at, 2) };
  if (text.startsWith('<!', at)) {
    doctypeForm.lastIndex = at;
    if (!doctypeForm.test(text)) throw new XmlError('declaration', at);
    return { kind: 'doctype', at, end: doctypeForm.lastIndex };
  }
  const tag = readTag(text, at);
  if (tag === null || (tag.kind === 'end' && tag.rest.trim() !== '')) throw new XmlError('tag', at);
  return tag;
}

function findAfter(text: string, end: string, at: number, skipped: number): number {
  const found = text.indexOf(end, at + skipped);
  if (found === -1) throw new XmlError('cut_off', at);
  return found + end.length;
}

/** The tag that begins there; null where none does. */
function readTag(text: string, at: number): XmlTag | null {
  xmlTag.lastIndex = at;
  const found = xmlTag.exec(text);
  if (found === null) return null;
  const [, closing, name, rest, empty] = found;
  if (closing === '/' && empty === '/') return null;
  const kind = closing === '/' ? 'end' : empty === '/' ? 'empty' : 'start';
  return { kind, name: name!, rest: rest!, at, end: xmlTag.lastIndex };
}

/** Names and values as they are written, in their order: references in them are not resolved. */
export function parseAttributes({ rest, at }: XmlTag): (readonly [name: string, value: string])[] {
  const attributes: (readonly [string, string])[] = [];
  let end = 0;
  attributeForm.lastIndex = 0;
  for (let found; (found = attributeForm.exec(rest)) !== null; end = attributeForm.lastIndex)
    attributes.push([found[1]!, found[2] ?? found[3]!]);
  const stray = rest.slice(end).trimStart();
  if (stray !== '') throw new XmlError('attribute', at, stray[0]);
  return attributes;
}

const predefined: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The character of `&name;`; null if it is not predefined in XML. */
export function decodeReference(name: string): string | null {
  const [, hexadecimal, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(name) ?? [];
  const code = Number.parseInt(hexadecimal ?? decimal ?? '', hexadecimal === undefined ? 10 : 16);
  if (code <= 0x10ffff) return String.fromCodePoint(code);
  return Object.hasOwn(predefined, name) ? predefined[name]! : null;
}

/** The text of the first element of that name which holds nothing else; null where there is none. */
export function findElementText(xml: string, name: string): string | null {
  const end = `</${name}>`;
  for (let at = findStart(xml, name, 0); at !== -1; at = findStart(xml, name, at)) {
    const next = xml.indexOf('<', at);
    if (next === -1) return null;
    if (xml.startsWith(end, next))
      return xml
        .slice(at, next)
        .replaceAll(/&(#?\w{1,8});/g, (whole, reference: string) => decodeReference(reference) ?? whole);
    at = next;
  }
  return null;
}

/** What is within each element of that name, which does not hold another of the same name. */
export function findElements(xml: string, name: string): string[] {
  const end = `</${name}>`;
  const found: string[] = [];
  for (let at = findStart(xml, name, 0); at !== -1; at = findStart(xml, name, at)) {
    const next = xml.indexOf(end, at);
    if (next === -1) break;
    found.push(xml.slice(at, next));
    at = next + end.length;
  }
  return found;
}

/** Where the next start tag of that name ends, or -1. */
function findStart(xml: string, name: string, from: number): number {
  const start = `<${name}`;
  for (let at = xml.indexOf(start, from); at !== -1; at = xml.indexOf(start, at + 1)) {
    const tag = readTag(xml, at);
    if (tag?.kind === 'start' && tag.name === name) return tag.end;
  }
  return -1;
}

/** Whether the text begins and ends as a document of that root does. */
export function isWholeDocument(xml: string, root: string): boolean {
  const body = xml.replace(/^\s*(?:<\?xml[^<>]*>\s*)?/, '').trimEnd();
  const tag = readTag(body, 0);
  if (tag?.name !== root) return false;
  return tag.kind === 'start' ? body.endsWith(`</${root}>`) : tag.kind === 'empty' && tag.end === body.length;
}
