import { WorkcrateError } from '../../../platform/errors.ts';
import { rewriteAst, type PandocAst, type PandocInline } from './ast.ts';
import { sanitizeId } from './attributes.ts';
import { visitAst } from './visit.ts';

const allowedUrlSchemes = new Set(['http', 'https', 'mailto', 'tel', 'ftp', 'ftps']);
const maxUrlCharacters = 4000;
/** Programs that open a link ignore these, so they could hide a scheme. */
const invisibleInLinks = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]/gu;

/** URLs do not have these, but code does. */
const unsafeUrlCharacters = /["<>`{}|^]/g;

/** The safe form of a link target; null if it is not allowed. */
export function sanitizeUrl(given: string): string | null {
  if (given.length > maxUrlCharacters) return null;
  const url = given
    .toWellFormed()
    .replace(invisibleInLinks, '')
    .replace(unsafeUrlCharacters, encodeURIComponent);
  if (url.startsWith('#')) return `#${sanitizeId(decodeUrl(url.slice(1)))}`;
  if (url.includes('\\')) return null;
  const scheme = /^([^/?#:]*):/.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined || allowedUrlSchemes.has(scheme)) return url;
  const doi = /^doi:(?:\/\/)?(10\.\d{4,9}\/\S+)$/i.exec(url)?.[1];
  return doi === undefined ? null : `https://doi.org/${doi}`;
}

function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A URL, and the punctuation around it. */
const bareUrlPattern = /^(\(?)(https?:\/\/[^\s<>"]+?)([).,;:!?'"”’]*)$/i;

/** Makes links of URLs in the text. Pandoc can do this too, but then takes twice as long to read. */
export function linkBareUrls(ast: PandocAst): PandocAst {
  return rewriteAst(ast, { inlines: (list) => list.flatMap(linkBareUrl) });
}

function linkBareUrl(node: PandocInline): PandocInline[] {
  // The text of a link was walked before the link itself.
  if (node.t === 'Link') return [{ ...node, c: [node.c[0], node.c[1].flatMap(unwrapLink), node.c[2]] }];
  const [, opening, url, rest] = (node.t === 'Str' && bareUrlPattern.exec(node.c)) || [];
  if (url === undefined) return [node];
  const link: PandocInline = { t: 'Link', c: [['', [], []], [{ t: 'Str', c: url }], [url, '']] };
  return [...toTextInlines(opening!), link, ...toTextInlines(rest!)];
}

const unwrapLink = (node: PandocInline): PandocInline[] => (node.t === 'Link' ? node.c[1] : [node]);

const toTextInlines = (text: string): PandocInline[] => (text === '' ? [] : [{ t: 'Str', c: text }]);

/** What a picture refers to. */
export type PictureTarget = { readonly name: string } | { readonly bytes: Uint8Array };

const maxPictureNameBytes = 255;
const imageDataUriPattern = /^data:image\/[a-z0-9.+-]{1,40}((?:;[a-z0-9=_-]{1,40})*),/i;
const artifactsPrefix = /^(?:\.\/)?(?:\/?artifacts\/)?/;
const pictureUploadHint = 'Upload it with request_upload, or save it in /artifacts, and use its plain name.';

/** Either the name of one of the caller's pictures, or its bytes. Nothing is fetched, and no path is followed. */
export function sanitizePictureTarget(given: string, mostBytes: number): PictureTarget {
  if (/^\s*data:/i.test(given)) return { bytes: decodeDataUri(given.trim(), mostBytes) };
  const path = decodePictureTarget(given);
  if (/^\s*(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}/i.test(path) && !/^\s*file:/i.test(path))
    throw pictureTargetError(
      given,
      `Pictures are not fetched from the network: ${quoteTarget(given)}. ${pictureUploadHint}`,
    );
  const name = path.replace(artifactsPrefix, '');
  if (!isPlainPictureName(name))
    throw pictureTargetError(
      given,
      `Pictures are found by name, not by paths of the server: ${quoteTarget(given)} is refused. ${pictureUploadHint}`,
    );
  return { name };
}

function isPlainPictureName(name: string): boolean {
  const isName =
    name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= maxPictureNameBytes;
  return isName && name.isWellFormed() && !/[/\\\p{Cc}]/u.test(name) && !/^[a-z][a-z0-9+.-]*:/i.test(name);
}

function decodeDataUri(uri: string, mostBytes: number): Uint8Array {
  const head = imageDataUriPattern.exec(uri.slice(0, 300));
  if (head === null)
    throw pictureTargetError(
      uri,
      `This data URI is not a picture: ${quoteTarget(uri)}. Use PNG, JPEG, GIF, WebP or SVG as data:image/png;base64,…`,
    );
  const body = uri.slice(head[0].length);
  if (body.length > 3 * mostBytes) throw embeddedPictureTooLargeError(uri, mostBytes);
  const isBase64 = /;base64$/i.test(head[1]!);
  const bytes = isBase64
    ? decodeBase64Picture(uri, decodePictureTarget(body))
    : Buffer.from(decodePictureTarget(body), 'utf8');
  if (bytes.byteLength > mostBytes) throw embeddedPictureTooLargeError(uri, mostBytes);
  return bytes;
}

function decodeBase64Picture(uri: string, text: string): Uint8Array {
  const given = text.replace(/\s+/g, '');
  if (given === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(given))
    throw pictureTargetError(
      uri,
      `The base64 of this picture is damaged: ${quoteTarget(uri)}. ${pictureUploadHint}`,
    );
  return Buffer.from(given, 'base64');
}

/** Pandoc writes a space as %20. A name with a percent sign of its own stays as it is. */
function decodePictureTarget(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function embeddedPictureTooLargeError(uri: string, mostBytes: number): WorkcrateError {
  return pictureTargetError(
    uri,
    `A picture in the text has more than ${mostBytes} bytes: ${quoteTarget(uri)}. ${pictureUploadHint}`,
  );
}

function pictureTargetError(given: string, message: string): WorkcrateError {
  return new WorkcrateError('document_invalid', message, { details: { picture: cutTarget(given) } });
}

const cutTarget = (text: string): string =>
  (text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed();
const quoteTarget = (text: string): string => JSON.stringify(cutTarget(text));

export interface CitedKey {
  readonly key: string;
  readonly count: number;
}

/** Every key that the text cites, in the order of its first use, and `*` if `nocite` names them all. */
export function listCitedKeys(ast: PandocAst): CitedKey[] {
  const counts = new Map<string, number>();
  visitAst(ast, (node) => {
    if (node.t !== 'Cite') return;
    for (const { citationId } of node.c[0]) counts.set(citationId, (counts.get(citationId) ?? 0) + 1);
  });
  return [...counts].map(([key, count]) => ({ key, count }));
}

/** Replaces citations by the text that citeproc wrote: some writers would cite again. */
export function unwrapCitations(ast: PandocAst): PandocAst {
  const unwrap = (node: PandocInline): PandocInline[] => (node.t === 'Cite' ? node.c[1] : [node]);
  return rewriteAst(ast, { inlines: (list) => list.flatMap(unwrap) });
}

/** Gives pictures the names with extensions: `picture-1` → `picture-1.png`. */
export function renamePictures(ast: PandocAst, names: ReadonlyMap<string, string>): PandocAst {
  const rename = (node: PandocInline): PandocInline => {
    if (node.t !== 'Image') return node;
    const [attr, text, [url, title]] = node.c;
    return { t: 'Image', c: [attr, text, [names.get(url) ?? url, title]] };
  };
  return rewriteAst(ast, { inlines: (list) => list.map(rename) });
}
