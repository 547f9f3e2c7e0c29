/** Refuses an SVG that runs something or points outside itself. It does not draw: `formats/drawing.ts` does. */
import { WorkcrateError } from '../../../platform/errors.ts';
import {
  decodeReference,
  parseAttributes,
  scanXml,
  XmlError,
  type XmlDoctype,
  type XmlTag,
} from '../../../platform/net/xml.ts';

/** Elements that run something, or show something other than a picture. */
const refusedSvgElements = new Set(
  'script foreignobject iframe object embed audio video handler listener html body link meta base'.split(' '),
);
const embeddedImagePattern = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=\s]*$/i;
const svgLinkPattern = /^(?:https?:|mailto:)/i;
/** Attributes that are read as CSS, or that animation puts in place of one. */
const svgStyleAttributes = new Set(
  'style fill stroke filter mask clip-path cursor marker marker-start marker-mid marker-end color-profile shape-inside to from by values'.split(
    ' ',
  ),
);
/** References outside the picture, and CSS escapes, which could hide one. */
const externalStylePattern =
  /@import|\\|url\s*\(\s*(?!["']?\s*#)|image-set|image\s*\(|javascript:|expression\s*\(/i;

const svgXmlLimits = { mostElements: 1_000_000, mostDepth: 256 };

/**
 * Returns the SVG if nothing in it runs or points outside. A DOCTYPE is removed, since plotting programs write one; one
 * that declares anything is refused. Other mistakes are left to the program that draws it.
 */
export function sanitizeSvg(bytes: Uint8Array, name: string): Uint8Array {
  const text = decodeSvg(bytes, name);
  try {
    const doctype = checkSafeMarkup(text, name);
    return Buffer.from(doctype === null ? text : text.slice(0, doctype.at) + text.slice(doctype.end));
  } catch (error) {
    throw error instanceof XmlError ? svgRefusedError(name, svgXmlProblems[error.problem]) : error;
  }
}

const svgXmlProblems: Readonly<Record<XmlError['problem'], string>> = {
  tag: 'a tag is damaged',
  attribute: 'a tag is damaged',
  declaration: 'its DOCTYPE declares something, or is not at its beginning',
  cut_off: 'it is cut off',
  too_many: 'it has too many elements',
  // Deeper nesting exhausts the stack of the program that draws it.
  too_deep: `its elements are nested more than ${svgXmlLimits.mostDepth} deep`,
};

/** Returns the DOCTYPE; null if there is none. */
function checkSafeMarkup(text: string, name: string): XmlDoctype | null {
  let [doctype, hasElements, style]: [XmlDoctype | null, boolean, number] = [null, false, -1];
  for (const found of scanXml(text, svgXmlLimits)) {
    if (found.kind === 'doctype') {
      if (doctype !== null || hasElements) throw new XmlError('declaration', found.at);
      doctype = found;
    } else if (found.kind === 'instruction') {
      // Any other instruction could name a style sheet.
      if (found.at > 0 || !/^<\?xml\s/.test(text)) throw new XmlError('tag', found.at);
    } else {
      // To some programs, comments within a style are part of it.
      if (style >= 0) checkSafeStyle(unescapeSvgText(text.slice(style, found.at), name), name);
      style = -1;
      if (found.kind === 'end') continue;
      const element = toLocalName(found.name);
      checkSafeElement({ name: element, attributes: readSvgAttributes(found, name) }, name);
      hasElements = true;
      if (element === 'style' && found.kind === 'start') style = found.end;
    }
  }
  return doctype;
}

function checkSafeStyle(css: string, name: string): void {
  if (externalStylePattern.test(css))
    throw svgRefusedError(name, 'its style sheet refers to something outside of it');
}

/** Names are in lower case and without prefixes, which a document may choose freely. */
interface SvgElement {
  readonly name: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

const toLocalName = (name: string): string => name.slice(name.lastIndexOf(':') + 1).toLowerCase();

const readSvgAttributes = (tag: XmlTag, name: string): SvgElement['attributes'] =>
  parseAttributes(tag).map(([key, value]) => [toLocalName(key), unescapeSvgText(value, name)]);

/** Some programs accept references without a semicolon. */
function unescapeSvgText(text: string, name: string): string {
  return text.replaceAll(/&([^;&]{0,12});?/g, (_, reference: string) => {
    const character = decodeReference(reference);
    if (character === null) throw svgRefusedError(name, 'it uses entities of its own');
    return character;
  });
}

function decodeSvg(bytes: Uint8Array, name: string): string {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw svgRefusedError(name, 'it is not UTF-8');
  }
  // UTF-16 of ASCII characters would pass as UTF-8.
  if (text.includes('\0')) throw svgRefusedError(name, 'it is not UTF-8');
  const declaration = text.startsWith('<?xml') ? text.slice(0, text.indexOf('?>')) : '';
  const encoding = /\sencoding\s*=\s*["']([^"']*)/.exec(declaration)?.[1];
  if (encoding !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(encoding))
    throw svgRefusedError(name, `it is in ${JSON.stringify(encoding.slice(0, 40))}, not in UTF-8`);
  return text;
}

function checkSafeElement({ name: element, attributes }: SvgElement, name: string): void {
  if (refusedSvgElements.has(element)) throw svgRefusedError(name, `it has the element <${element}>`);
  for (const [key, value] of attributes) {
    // With another base, `#x` would point outside as well.
    if (key === 'base') throw svgRefusedError(name, 'it has a base URL');
    if (key.startsWith('on')) throw svgRefusedError(name, `it has code in ${JSON.stringify(key)}`);
    if (key === 'href' || key === 'src') checkSafeReference(element, value.trim(), name);
    else if (key === 'attributename' && /href|^on/i.test(value))
      throw svgRefusedError(name, 'it animates the target of a link');
    else if (svgStyleAttributes.has(key) && externalStylePattern.test(value))
      throw svgRefusedError(name, `its attribute ${JSON.stringify(key)} refers to something outside of it`);
  }
}

function checkSafeReference(element: string, value: string, name: string): void {
  if (value === '' || value.startsWith('#') || embeddedImagePattern.test(value)) return;
  if (element === 'a' && svgLinkPattern.test(value)) return;
  throw svgRefusedError(
    name,
    `it points to ${JSON.stringify(value.slice(0, 60).toWellFormed())}, outside of it`,
  );
}

function svgRefusedError(name: string, why: string): WorkcrateError {
  return new WorkcrateError(
    'document_invalid',
    `The SVG ${JSON.stringify(name)} is refused, because ${why}. Remove that, or save the picture as PNG.`,
    { details: { picture: name } },
  );
}
