import { WorkcrateError } from '../../errors.ts';
import { scanXml, type XmlElement } from './xml.ts';

/** Elements that run something, or show what is not a picture. */
const refusedElements = new Set(
  'script foreignobject iframe object embed audio video handler listener html body link meta base'.split(' '),
);
const embedded = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=\s]*$/i;
const address = /^(?:https?:|mailto:)/i;
/** Attributes that are read as CSS, or put in the place of one. */
const styling = new Set(
  'style fill stroke filter mask clip-path cursor marker marker-start marker-mid marker-end color-profile shape-inside to from by values'.split(
    ' ',
  ),
);
/** A place other than within the picture; escapes of CSS could hide one. */
const elsewhere = /@import|\\|url\s*\(\s*(?!["']?\s*#)|image-set|image\s*\(|javascript:|expression\s*\(/i;

/**
 * An SVG without what is not a picture: nothing in it runs, or points outside of it. A DOCTYPE is left out, as plotting
 * programs write one; one that declares anything is refused. What is wrong otherwise is left to whoever draws it.
 */
export function judgeSvg(bytes: Uint8Array, name: string): Uint8Array {
  const text = decoded(bytes, name);
  const doctype = scanXml(text, {
    element: (element) => judgeElement(element, name),
    style: (css) => {
      if (elsewhere.test(css)) throw refused(name, 'its style sheet names something outside of it');
    },
    wrong: (what) => {
      throw refused(name, what);
    },
  });
  return Buffer.from(doctype === null ? text : text.slice(0, doctype.start) + text.slice(doctype.end));
}

function decoded(bytes: Uint8Array, name: string): string {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refused(name, 'it is not UTF-8');
  }
  // Without a letter in it, UTF-16 would pass for UTF-8.
  if (text.includes('\0')) throw refused(name, 'it is not UTF-8');
  const declaration = text.startsWith('<?xml') ? text.slice(0, text.indexOf('?>')) : '';
  const encoding = /\sencoding\s*=\s*["']([^"']*)/.exec(declaration)?.[1];
  if (encoding !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(encoding))
    throw refused(name, `it is in ${JSON.stringify(encoding.slice(0, 40))}, not in UTF-8`);
  return text;
}

function judgeElement({ name: element, attributes }: XmlElement, name: string): void {
  if (refusedElements.has(element)) throw refused(name, `it has the element <${element}>`);
  for (const [key, value] of attributes) {
    // With another base, `#x` would be outside, too.
    if (key === 'base') throw refused(name, 'it has a base');
    if (key.startsWith('on')) throw refused(name, `it has code in ${JSON.stringify(key)}`);
    if (key === 'href' || key === 'src') judgeReference(element, value.trim(), name);
    else if (key === 'attributename' && /href|^on/i.test(value))
      throw refused(name, 'it animates what it points to');
    else if (styling.has(key) && elsewhere.test(value))
      throw refused(name, `its attribute ${JSON.stringify(key)} names something outside of it`);
  }
}

function judgeReference(element: string, value: string, name: string): void {
  if (value === '' || value.startsWith('#') || embedded.test(value)) return;
  if (element === 'a' && address.test(value)) return;
  throw refused(name, `it points to ${JSON.stringify(value.slice(0, 60).toWellFormed())}, outside of it`);
}

function refused(name: string, why: string): WorkcrateError {
  return new WorkcrateError(
    'document_invalid',
    `The SVG ${JSON.stringify(name)} is refused, since ${why}. Save the picture as PNG, or without that.`,
    { details: { picture: name } },
  );
}
